import { InvalidArgumentError } from '../errors.js';
import { describe } from '../table/checks.js';
import type { ResolveAddress, ServerAddress } from './rpc/address.js';
import type { TlsOptions } from './rpc/transport.js';
import { type Authenticator, simpleAuthenticator } from './security/authenticator.js';

/** How a client finds its cluster and how patient it is. Times are in milliseconds. */
export interface HBaseOptions {
  /** `host:port` of masters or region servers that answer the RPC registry; the port defaults to 16000. */
  readonly masters?: readonly string[];
  /** Discovery by ZooKeeper instead of {@link masters}. */
  readonly zookeeper?: ZooKeeperOptions;
  /** The user's name for SIMPLE authentication; default: the operating system's user. */
  readonly user?: string;
  /** Default: SIMPLE, the user's name is believed. */
  readonly authenticator?: Authenticator;
  /** TLS to every server; default: none. */
  readonly tls?: TlsOptions;
  readonly resolveAddress?: ResolveAddress;
  /** A whole operation, its retries and lookups included (`hbase.client.operation.timeout`); default 60000. */
  readonly operationTimeout?: number;
  /** One request and its answer (`hbase.rpc.timeout`); default 20000. */
  readonly rpcTimeout?: number;
  /** One request of a scan (`hbase.client.scanner.timeout.period`); default 60000. */
  readonly scannerTimeout?: number;
  /** The connection's opening; default 10000. */
  readonly connectTimeout?: number;
  /** A call of the admin, its procedure included (`hbase.client.sync.wait.timeout.msec`); default 600000. */
  readonly adminTimeout?: number;
  /** The first pause before a retry; later ones grow (`hbase.client.pause`); default 100. */
  readonly pause?: number;
  /** Retries after the first attempt (`hbase.client.retries.number`); default 20. 0: fail at the first error. */
  readonly retries?: number;
  /** Requests without an answer a server may have; further operations wait and are grouped; default 64. */
  readonly maxInFlight?: number;
  /** Operations grouped into one request, at most; default 1000. */
  readonly maxMultiActions?: number;
  /** Bytes of one request of grouped operations, about; default 2 MiB. One larger operation goes alone. */
  readonly maxMultiBytes?: number;
  /** Rows that a scan asks for at once; default: as many as fit into {@link scannerMaxResultSize}. */
  readonly scannerCaching?: number;
  /** Bytes that a scan asks for at once (`hbase.client.scanner.max.result.size`); default 2 MiB. */
  readonly scannerMaxResultSize?: number;
  /** The largest answer that is believed; default 128 MiB. */
  readonly maxFrameSize?: number;
  /** How long a server that could not be reached is left alone; default 2000. */
  readonly quarantine?: number;
  /** How long a TIMELINE read waits for the primary before it asks the replicas too; default 10. */
  readonly primaryCallTimeout?: number;
}

/** Discovery as ZooKeeper knows it: read only, a connection that is closed after each look. */
export interface ZooKeeperOptions {
  /** `host:port`, the port defaulting to 2181. */
  readonly quorum: readonly string[];
  /** `zookeeper.znode.parent`; default `/hbase`. */
  readonly parent?: string;
}

/** The options with every default filled in. */
export interface HBaseSettings {
  readonly masters: readonly ServerAddress[];
  readonly zookeeper: { readonly quorum: readonly ServerAddress[]; readonly parent: string } | undefined;
  readonly user: string;
  readonly authenticator: Authenticator;
  readonly tls: TlsOptions | undefined;
  readonly resolveAddress: ResolveAddress | undefined;
  readonly operationTimeout: number;
  readonly rpcTimeout: number;
  readonly scannerTimeout: number;
  readonly connectTimeout: number;
  readonly adminTimeout: number;
  readonly pause: number;
  readonly retries: number;
  readonly maxInFlight: number;
  readonly maxMultiActions: number;
  readonly maxMultiBytes: number;
  readonly scannerCaching: number;
  readonly scannerMaxResultSize: number;
  readonly maxFrameSize: number;
  readonly quarantine: number;
  readonly primaryCallTimeout: number;
}

const MEBIBYTE = 1 << 20;
const MASTER_PORT = 16000;
const ZOOKEEPER_PORT = 2181;
const MAX_INT32 = 0x7fffffff;

/** @throws InvalidArgumentError naming the option that cannot be. */
export function resolveSettings(options: HBaseOptions): HBaseSettings {
  const masters = (options.masters ?? []).map((text) => parseAddress(text, MASTER_PORT));
  if (masters.length === 0 && options.zookeeper === undefined) {
    throw new InvalidArgumentError(
      'connect needs a cluster: give masters: ["host:16000"], or zookeeper: { quorum: ["host:2181"] }.',
    );
  }
  const number = (name: keyof HBaseOptions, fallback: number, min = 1, max = MAX_INT32): number => {
    const value = options[name] ?? fallback;
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
      throw new InvalidArgumentError(
        `The option ${name} is an integer from ${min} to ${max}, not ${describe(value)}.`,
      );
    }
    return value as number;
  };
  return {
    masters,
    zookeeper: options.zookeeper === undefined ? undefined : zooKeeperOf(options.zookeeper),
    user: options.user ?? process.env['USER'] ?? process.env['USERNAME'] ?? 'rowan',
    authenticator: options.authenticator ?? simpleAuthenticator,
    tls: options.tls,
    resolveAddress: options.resolveAddress,
    operationTimeout: number('operationTimeout', 60_000),
    rpcTimeout: number('rpcTimeout', 20_000),
    scannerTimeout: number('scannerTimeout', 60_000),
    connectTimeout: number('connectTimeout', 10_000),
    adminTimeout: number('adminTimeout', 600_000),
    pause: number('pause', 100),
    retries: number('retries', 20, 0),
    maxInFlight: number('maxInFlight', 64),
    maxMultiActions: number('maxMultiActions', 1000),
    maxMultiBytes: number('maxMultiBytes', 2 * MEBIBYTE),
    scannerCaching: number('scannerCaching', MAX_INT32),
    scannerMaxResultSize: number('scannerMaxResultSize', 2 * MEBIBYTE),
    maxFrameSize: number('maxFrameSize', 128 * MEBIBYTE, 1024),
    quarantine: number('quarantine', 2000, 0),
    primaryCallTimeout: number('primaryCallTimeout', 10, 0),
  };
}

function zooKeeperOf(options: ZooKeeperOptions): NonNullable<HBaseSettings['zookeeper']> {
  const parent = options.parent ?? '/hbase';
  if (options.quorum.length === 0 || !/^\/[^/].*[^/]$|^\/[^/]$/.test(parent)) {
    throw new InvalidArgumentError(
      'zookeeper takes quorum: ["host:2181", …] and a parent that begins with "/" and does not end with it.',
    );
  }
  return { quorum: options.quorum.map((text) => parseAddress(text, ZOOKEEPER_PORT)), parent };
}

/** "host", "host:port" or "[v6]:port". @throws InvalidArgumentError */
export function parseAddress(text: string, defaultPort: number): ServerAddress {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port < 1 || port > 65535) {
    throw new InvalidArgumentError(`"${text}" is no address. Write "host:port" or "[IPv6 address]:port".`);
  }
  return { host, port };
}
