import { bytesField, MasterConnection } from './master-connection.js';

/**
 * Readiness without the client under test: a hello to the master's RPC port, and a namespace created and deleted. That
 * a namespace can be created is the last thing to come true when an HBase starts (its procedures run, `hbase:namespace`
 * is open).
 */

const NAMESPACE = 'rowan_readiness_probe';

/** @throws Error with the server's words, or the socket's, when it is not ready yet. */
export async function probeMaster(host: string, port: number, timeout = 10_000): Promise<void> {
  const connection = await MasterConnection.open(host, port, timeout);
  const name = Buffer.from(NAMESPACE);
  try {
    // An earlier probe that was cut off may have left it behind.
    await connection.procedure('CreateNamespace', bytesField(1, bytesField(1, name))).catch((error) => {
      if (!String(error).includes('NamespaceExistException')) throw error;
    });
    await connection.procedure('DeleteNamespace', bytesField(1, name));
  } finally {
    connection.close();
  }
}
