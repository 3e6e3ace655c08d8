import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { addressKey, type ConnectionSettings, type ServerAddress } from './address.js';
import { ConnectionError } from './errors.js';

/** TLS to every server (HBase 2.6 `hbase.server.netty.tls.enabled`). Everything else is Node's `tls.connect`. */
export type TlsOptions = Pick<
  ConnectionOptions,
  | 'ca'
  | 'cert'
  | 'key'
  | 'pfx'
  | 'passphrase'
  | 'servername'
  | 'rejectUnauthorized'
  | 'minVersion'
  | 'ciphers'
>;

/** How long an idle connection waits before the operating system probes it. */
const KEEP_ALIVE_DELAY = 15_000;

/**
 * A connected socket to `address`.
 * @throws ConnectionError when it cannot be reached in time, with the address that was tried.
 */
export async function openSocket(address: ServerAddress, settings: ConnectionSettings): Promise<Socket> {
  const target = settings.resolveAddress
    ? await settings.resolveAddress(address.host, address.port)
    : address;
  const name = addressKey(address);
  const tried = addressKey(target) === name ? name : `${name} (resolved to ${addressKey(target)})`;
  return new Promise<Socket>((resolve, reject) => {
    const socket =
      settings.tls === undefined
        ? connectTcp({ host: target.host, port: target.port })
        : connectTls({ host: target.host, port: target.port, ...settings.tls });
    const timer = setTimeout(() => {
      fail(new Error(`no answer within ${settings.connectTimeout} ms`));
    }, settings.connectTimeout);
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => undefined); // a late error of a socket given up must not end the process
      socket.destroy();
      reject(
        new ConnectionError(
          `Cannot connect to HBase server ${tried}: ${cause.message}. ${adviceFor(cause)}`,
          {
            cause,
            details: { server: name },
          },
        ),
      );
    };
    socket.once('error', fail);
    socket.once(settings.tls === undefined ? 'connect' : 'secureConnect', () => {
      clearTimeout(timer);
      socket.removeListener('error', fail);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_DELAY);
      resolve(socket);
    });
  });
}

function adviceFor(cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'The host name does not resolve here: map it with the option resolveAddress.';
    case 'ECONNREFUSED':
      return 'Nothing listens there: check that the server runs and the port is right.';
    default:
      return 'Check the address, the network and the TLS options.';
  }
}
