import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect as connectTls } from 'node:tls';
import { addressKey, type ConnectionSettings, type ServerAddress } from './address.js';
import { ConnectionError } from './errors.js';
import type { SocketReader } from './socket-reader.js';
import { withTimeout } from './with-timeout.js';

/** What opening a socket takes of the settings of a connection. */
export type TransportSettings = Pick<ConnectionSettings, 'connectTimeout' | 'resolveAddress' | 'tls'>;

/** How long an idle connection waits before the operating system probes it. */
const KEEP_ALIVE_DELAY = 15_000;

/**
 * A connected socket to `address`. When `signal` aborts, whatever has been opened is closed at once. Without TLS `reader` gets
 * what comes, in place of events.
 * @throws ConnectionError when it cannot be reached in time, with the address that was tried.
 */
export async function openSocket(
  address: ServerAddress,
  settings: TransportSettings,
  signal: AbortSignal,
  reader?: Pick<SocketReader, 'onread'>,
): Promise<Socket> {
  const { connectTimeout, resolveAddress, tls } = settings;
  const end = performance.now() + connectTimeout;
  const name = addressKey(address);
  const target =
    resolveAddress === undefined
      ? address
      : await withTimeout(
          Promise.resolve(resolveAddress(address.host, address.port)),
          connectTimeout,
          `resolveAddress for ${name}`,
          signal,
        );
  const tried = addressKey(target) === name ? name : `${name} (resolved to ${addressKey(target)})`;
  return new Promise<Socket>((resolve, reject) => {
    const socket =
      tls === undefined
        ? connectTcp({ host: target.host, port: target.port, ...(reader && { onread: reader.onread }) })
        : connectTls({ host: target.host, port: target.port, ...identityOf(address), ...tls });
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (cause: Error): void => {
      settle();
      socket.removeAllListeners();
      socket.on('error', () => undefined); // a late error of a socket given up must not end the process
      socket.destroy();
      reject(
        new ConnectionError(`Cannot connect to ${tried}: ${cause.message}. ${adviceFor(cause)}`, {
          cause,
          details: { server: name },
        }),
      );
    };
    const onAbort = (): void => fail(new Error('the connection was closed meanwhile'));
    const timer = setTimeout(
      () => fail(new Error(`no answer within ${connectTimeout} ms`)),
      Math.max(1, end - performance.now()),
    );
    signal.addEventListener('abort', onAbort);
    socket.once('error', fail);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      settle();
      socket.removeListener('error', fail);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_DELAY);
      resolve(socket);
    });
    if (signal.aborted) onAbort();
  });
}

/** A certificate is held against the name that the cluster gave, wherever `resolveAddress` found the server. */
function identityOf({ host }: ServerAddress): ConnectionOptions {
  // A name may be sent ahead of the handshake, an address may not (RFC 6066).
  if (isIP(host) === 0) return { servername: host };
  return { checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) };
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
