/** What a server can be told. */

import { InvalidArgumentError } from '../errors.js';
import { checkOptions, describe } from '../table/checks.js';
import type { ConnectionLimits } from './rpc/load.js';
import { type ServedUsers, Users } from './security/users.js';
import type { ServiceSettings } from './services/parts.js';

/** How a store is served. Times are in milliseconds. */
export interface ServeOptions {
  /** `host:port` to listen at; port 0 takes a free one. Default `127.0.0.1:16020`. */
  readonly listen?: string;
  /** `host:port` at which ZooKeeper's questions are answered; false: nowhere. Default false. */
  readonly zookeeper?: string | false;
  /** `host` or `host:port` by which clients are told to come, when it is another than they can be listened for at. */
  readonly announce?: string;
  /** Refuse every write. Default false. */
  readonly readOnly?: boolean;
  /** Speak TLS, as HBase 2.6 does (`hbase.client.netty.tls.enabled`), and nothing else. Default: no TLS. */
  readonly tls?: ServeTls;
  /**
   * Who may come, and what they may do. They show that they know their secrets by SASL DIGEST-MD5, as HBase's tokens are shown.
   * Default: anybody, everything.
   */
  readonly users?: ServedUsers;
  /**
   * Listen at an address that other machines reach without `tls` and `users`, though anybody there may then read and write everything: there is no
   * authentication. Default false.
   */
  readonly insecure?: boolean;
  /** A scanner that is not asked for this long is closed (`hbase.client.scanner.timeout.period`); default 60,000. */
  readonly scannerLease?: number;
  /** Scanners open at once; default 10,000. */
  readonly maxScanners?: number;
  /** Bytes after which an answer is cut; default 2 MiB. */
  readonly maxAnswerSize?: number;
  /** Bytes of the largest request; default 64 MiB. */
  readonly maxRequestSize?: number;
  /** Cells of the largest request; default 500,000. */
  readonly maxRequestCells?: number;
  /** Connections at once; default 10,000. */
  readonly maxConnections?: number;
  /** Calls under way at once, of all connections; further ones are told to come again. Default 10,000. */
  readonly maxCalls?: number;
  /** Calls under way of one connection; further ones wait at the client. Default 1,000. */
  readonly maxCallsPerConnection?: number;
  /** Bytes of requests and answers that are held at once; default 128 MiB. */
  readonly maxQueuedBytes?: number;
  /** Bytes of answers that a connection has not read above which none of its calls is begun; default 4 MiB. */
  readonly maxUnreadBytes?: number;
  /** A connection that reads nothing for this long, though answers wait for it, is closed; default 60,000. */
  readonly slowReaderTimeout?: number;
  /** A connection says who it is within this time, or is closed; default 10,000. */
  readonly helloTimeout?: number;
  /** A connection without calls for this long is closed; default 600,000. */
  readonly idleTimeout?: number;
}

/** The server's certificate; PEM. */
export interface ServeTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Clients show a certificate that one of these has signed (`hbase.server.netty.tls.client.auth.mode` NEED). */
  readonly ca?: string | Buffer;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The options with every default filled in. */
export interface ServerSettings extends ConnectionLimits, ServiceSettings {
  readonly listen: Address;
  readonly tls: ServeTls | undefined;
  readonly users: Users | undefined;
  readonly zookeeper: Address | undefined;
  /** Undefined: where it listens. */
  readonly announce: { readonly host: string; readonly port: number | undefined } | undefined;
}

const KNOWN: Readonly<Record<keyof ServeOptions, true>> = {
  listen: true,
  zookeeper: true,
  announce: true,
  readOnly: true,
  tls: true,
  users: true,
  insecure: true,
  scannerLease: true,
  maxScanners: true,
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

/** As HBase's region servers. */
const DEFAULT_PORT = 16020;
const ZOOKEEPER_PORT = 2181;

/** @throws InvalidArgumentError naming the option, what it was given and what it takes. */
export function serverSettings(options: ServeOptions = {}): ServerSettings {
  checkOptions('serve', options, KNOWN);
  const { listen = `127.0.0.1:${DEFAULT_PORT}`, zookeeper = false } = options;
  const numbers: Record<keyof typeof NUMBERS, number> = { ...NUMBERS };
  for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
    const value = options[name];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1)
      throw new InvalidArgumentError(`${name} is a positive integer, not ${describe(value)}.`);
    numbers[name] = value;
  }
  const settings: ServerSettings = {
    ...numbers,
    readOnly: options.readOnly ?? false,
    tls: options.tls,
    users: options.users === undefined ? undefined : new Users(options.users),
    listen: addressOf('listen', listen, DEFAULT_PORT),
    zookeeper: zookeeper === false ? undefined : addressOf('zookeeper', zookeeper, ZOOKEEPER_PORT),
    announce: options.announce === undefined ? undefined : announced(options.announce),
  };
  if (options.insecure === true) return settings;
  // What ZooKeeper is asked has neither TLS nor secrets.
  const isSecured = settings.tls !== undefined && settings.users !== undefined;
  checkLoopback([isSecured ? undefined : settings.listen, settings.zookeeper]);
  return settings;
}

function announced(text: string): { readonly host: string; readonly port: number | undefined } {
  const { host, port } = addressOf('announce', text, 0);
  return { host, port: port === 0 ? undefined : port };
}

/** Takes `host`, `host:port` or `[address]:port` apart. */
function addressOf(option: string, text: string, defaultPort: number): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (match === null || port > 65535)
    throw new InvalidArgumentError(
      `${option} is "host:port", "127.0.0.1:16020" for example, not ${describe(text)}.`,
    );
  return { host: match[1] ?? match[2]!, port };
}

function checkLoopback(addresses: readonly (Address | undefined)[]): void {
  for (const address of addresses) {
    if (address === undefined || isLoopback(address.host)) continue;
    throw new InvalidArgumentError(
      `${address.host} can be reached by other machines, and the server asks nobody who they are: whoever reaches it reads ` +
        'and writes everything. Give tls and users (--tls-cert, --tls-key, --users; ZooKeeper has neither), listen at 127.0.0.1 and let a tunnel lead ' +
        'there, or give insecure (--insecure) if the network itself keeps others out.',
    );
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
