/** The options of a server. */

import type { Server } from 'node:net';
import { resolve } from 'node:path';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { checkOptions, describe } from '../table/checks.js';
import type { ConnectionLimits } from './rpc/load.js';
import { type ServedUsers, Users } from './security/users.js';
import type { ServiceSettings } from './services/parts.js';

/** Options of `serve`. Times are in milliseconds. */
export interface ServeOptions {
  /** Address to listen at, `host:port`; port 0 chooses a free one. Default `127.0.0.1:16020`. */
  readonly listen?: string;
  /** Address, `host:port`, at which clients' ZooKeeper requests are answered; false: nowhere. Default false. */
  readonly zookeeper?: string | false;
  /** `host` or `host:port` that clients are told to connect to, if it differs from the listening address. */
  readonly announce?: string;
  /** Whether to refuse every write. Default false. */
  readonly readOnly?: boolean;
  /**
   * A folder of this machine. Clients that may write a table may load the HFiles in it (`BulkLoadHFile`), which removes them as in HBase,
   * unless the client asks for a copy. Default: no files are loaded.
   */
  readonly bulkLoad?: string;
  /**
   * Enables TLS, as in HBase 2.6 (`hbase.client.netty.tls.enabled`); other connections are then refused. Default: no
   * TLS.
   */
  readonly tls?: ServeTls;
  /**
   * The users who may connect, and their permissions. They prove knowledge of their secret by SASL DIGEST-MD5, like
   * HBase's tokens. Default: everyone may do everything.
   */
  readonly users?: ServedUsers;
  /**
   * Allows to listen at an address reachable from other machines without `tls` and `users`, so that anyone there can
   * read and write everything without authentication. Default false.
   */
  readonly insecure?: boolean;
  /** A scanner without calls for this long is closed (`hbase.client.scanner.timeout.period`); default 60,000. */
  readonly scannerLease?: number;
  /** The largest number of open scanners; default 10,000. */
  readonly maxScanners?: number;
  /** The largest number of open transactions; default 1,000. */
  readonly maxTransactions?: number;
  /** The largest number of bytes that the writes of all open transactions may have; default 256 MiB. */
  readonly maxTransactionBytes?: number;
  /** A transaction without calls for this long is ended, and nothing of it was written; default 60,000. */
  readonly transactionLease?: number;
  /** Bytes after which a response is cut; default 2 MiB. */
  readonly maxAnswerSize?: number;
  /** The largest request in bytes; default 64 MiB. */
  readonly maxRequestSize?: number;
  /** The largest number of cells in a request; default 500,000. */
  readonly maxRequestCells?: number;
  /** The largest number of connections; default 10,000. */
  readonly maxConnections?: number;
  /** The largest number of calls in progress over all connections; clients must retry further ones. Default 10,000. */
  readonly maxCalls?: number;
  /** The largest number of calls in progress on one connection; further ones wait at the client. Default 1,000. */
  readonly maxCallsPerConnection?: number;
  /** The largest number of buffered bytes of requests and responses; default 128 MiB. */
  readonly maxQueuedBytes?: number;
  /** No call of a connection starts while it has more unread response bytes than this; default 4 MiB. */
  readonly maxUnreadBytes?: number;
  /** A connection that reads nothing for this long although responses wait is closed; default 60,000. */
  readonly slowReaderTimeout?: number;
  /** A connection that does not complete its handshake within this time is closed; default 10,000. */
  readonly helloTimeout?: number;
  /** A connection without calls for this long is closed; default 600,000. */
  readonly idleTimeout?: number;
}

/** The server's certificate; PEM. */
export interface ServeTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Requires a client certificate signed by one of these (`hbase.server.netty.tls.client.auth.mode` NEED). */
  readonly ca?: string | Buffer;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The options with defaults applied. */
export interface ServerSettings extends ConnectionLimits, ServiceSettings {
  readonly listen: Address;
  readonly tls: ServeTls | undefined;
  readonly users: Users | undefined;
  readonly zookeeper: Address | undefined;
  /** Undefined: the listening address. */
  readonly announce: { readonly host: string; readonly port: number | undefined } | undefined;
}

const KNOWN: Readonly<Record<keyof ServeOptions, true>> = {
  listen: true,
  zookeeper: true,
  announce: true,
  readOnly: true,
  bulkLoad: true,
  tls: true,
  users: true,
  insecure: true,
  scannerLease: true,
  maxScanners: true,
  maxTransactions: true,
  maxTransactionBytes: true,
  transactionLease: true,
  maxAnswerSize: true,
  maxRequestSize: true,
  maxRequestCells: true,
  maxConnections: true,
  maxCalls: true,
  maxCallsPerConnection: true,
  maxQueuedBytes: true,
  maxUnreadBytes: true,
  slowReaderTimeout: true,
  helloTimeout: true,
  idleTimeout: true,
};

const MiB = 1 << 20;
const NUMBERS = {
  scannerLease: 60_000,
  maxScanners: 10_000,
  maxTransactions: 1000,
  maxTransactionBytes: 256 * MiB,
  transactionLease: 60_000,
  maxAnswerSize: 2 * MiB,
  maxRequestSize: 64 * MiB,
  maxRequestCells: 500_000,
  maxConnections: 10_000,
  maxCalls: 10_000,
  maxCallsPerConnection: 1000,
  maxQueuedBytes: 128 * MiB,
  maxUnreadBytes: 4 * MiB,
  slowReaderTimeout: 60_000,
  idleTimeout: 600_000,
  helloTimeout: 10_000,
} as const;

/** The port of HBase's region servers. */
const DEFAULT_PORT = 16020;
const ZOOKEEPER_PORT = 2181;

/**
 * Checks the options and applies defaults.
 * @throws InvalidArgumentError naming the option, the given value and the allowed ones.
 */
export function serverSettings(options: ServeOptions = {}): ServerSettings {
  checkOptions('serve', options, KNOWN);
  const { listen = `127.0.0.1:${DEFAULT_PORT}`, zookeeper = false } = options;
  const numbers: Record<keyof typeof NUMBERS, number> = { ...NUMBERS };
  for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
    const value = options[name];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1)
      throw new InvalidArgumentError(`${name} must be a positive integer, not ${describe(value)}.`);
    numbers[name] = value;
  }
  const settings: ServerSettings = {
    ...numbers,
    readOnly: options.readOnly ?? false,
    bulkLoad: options.bulkLoad === undefined ? undefined : folderOf(options.bulkLoad),
    tls: options.tls,
    users: options.users === undefined ? undefined : new Users(options.users),
    listen: addressOf('listen', listen, DEFAULT_PORT),
    zookeeper: zookeeper === false ? undefined : addressOf('zookeeper', zookeeper, ZOOKEEPER_PORT),
    announce: options.announce === undefined ? undefined : announced(options.announce),
  };
  if (options.insecure === true) return settings;
  // ZooKeeper requests have neither TLS nor authentication.
  const isSecured = settings.tls !== undefined && settings.users !== undefined;
  checkLoopback([isSecured ? undefined : settings.listen, settings.zookeeper]);
  return settings;
}

function folderOf(folder: unknown): string {
  if (typeof folder === 'string' && folder.length > 0) return resolve(folder);
  throw new InvalidArgumentError(`bulkLoad is the path of a folder, not ${describe(folder)}.`);
}

function announced(text: string): { readonly host: string; readonly port: number | undefined } {
  const { host, port } = addressOf('announce', text, 0);
  return { host, port: port === 0 ? undefined : port };
}

/** Parses `host`, `host:port` or `[address]:port`. */
function addressOf(option: string, text: string, defaultPort: number): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (match === null || port > 65535)
    throw new InvalidArgumentError(
      `${option} must be "host:port", for example "127.0.0.1:16020", not ${describe(text)}.`,
    );
  return { host: match[1] ?? match[2]!, port };
}

function checkLoopback(addresses: readonly (Address | undefined)[]): void {
  for (const address of addresses) {
    if (address === undefined || isLoopback(address.host)) continue;
    throw new InvalidArgumentError(
      `${address.host} can be reached from other machines, and the server does not authenticate clients: anyone there could read ` +
        'and write everything. Set tls and users (--tls-cert, --tls-key, --users; not available for ZooKeeper), listen at 127.0.0.1 and connect ' +
        'through a tunnel, or set insecure (--insecure) if the network itself is protected.',
    );
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** The length of the accept queue: after a restart many clients reconnect at once. */
const BACKLOG = 4096;

/** Starts to listen; returns the address with the actual port. */
export function listening(server: Server, { host, port }: Address): Promise<Address> {
  return new Promise((resolve, reject) => {
    const refused = (cause: NodeJS.ErrnoException): void => {
      reject(
        new RowanError(
          'ERR_IO',
          `The server cannot listen at ${host}:${port}: ${cause.message}. Stop the program that uses the port, or choose another one (0: a free port).`,
          { cause },
        ),
      );
    };
    server.once('error', refused);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', refused);
      server.on('error', () => undefined);
      resolve({ host, port: (server.address() as { port: number }).port });
    });
  });
}
