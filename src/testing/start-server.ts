import type { Database } from '../database.js';
import type { EmbeddedEngine } from '../store/engine.js';
import { type MemoryOptions, openMemory } from './open-memory.js';

/** Options of {@link startServer}: those of {@link openMemory}, and the address to listen on. */
export interface TestServerOptions extends MemoryOptions {
  /** `host:port` at the loopback; default a free port of 127.0.0.1. */
  readonly listen?: string;
}

/** The server of {@link startServer}. */
export interface TestServer extends AsyncDisposable {
  /** `host:port` for `connect({ masters })`, and for `hbase.client.bootstrap.servers` or `hbase.masters` of Java clients. */
  readonly endpoint: string;
  /** `host:port` for clients that ask ZooKeeper (`hbase.zookeeper.quorum`). */
  readonly zookeeperEndpoint: string;
  /** The served database, with the entities' tables. Tests store their data in it, and check the results. */
  readonly db: Database<EmbeddedEngine>;
  /** Ends the server and the database. Nothing is left behind. */
  close(): Promise<void>;
}

/**
 * Starts a server for tests: a database in memory behind HBase's protocol, at a free port, for clients in any
 * language. It starts in a few milliseconds, and each call starts a server of its own, so tests can run in parallel.
 * @throws SchemaError as `open`.
 *
 * @example
 * ```ts
 * const server = await startServer({ entities: [Customer] });
 * // hbase.client.bootstrap.servers = server.endpoint
 * await server.close();
 * ```
 */
export async function startServer(options: TestServerOptions): Promise<TestServer> {
  const { listen = '127.0.0.1:0', ...rest } = options;
  const { serve } = await import('../server/server.js');
  const db = await openMemory(rest);
  try {
    const server = await serve(db, { listen, zookeeper: '127.0.0.1:0' });
    const close = async (): Promise<void> => {
      await server.close();
      await db.close();
    };
    const { endpoint, zookeeperEndpoint = '' } = server;
    return { endpoint, zookeeperEndpoint, db, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await db.close();
    throw error;
  }
}
