import { userInfo } from 'node:os';
import { InvalidArgumentError } from '../errors.js';
import { describe } from '../table/checks.js';
import { checkTelemetry, type TelemetryApi } from '../table/telemetry.js';
import type { HBaseEvent } from './observe/observer.js';
import type { ZooKeeperSettings } from './region/zookeeper.js';
import {
  type CellBlockCompression,
  COMPRESSIONS,
  type ResolveAddress,
  type ServerAddress,
  type TlsOptions,
} from './rpc/connection-settings.js';
import { checkAttributes } from './rpc/request-attributes.js';
import { type Authenticator, simpleAuthenticator } from './security/authenticator.js';
import type { ZooKeeperSasl } from './security/zookeeper-sasl.js';

/** The options of a connection: the address of the cluster, timeouts and limits. Times are in milliseconds. */
export interface HBaseOptions {
  /**
   * `host:port` of masters or region servers that answer the RPC registry, in an array or separated by commas
   * (`hbase.masters`); the port defaults to 16000.
   */
  readonly masters?: readonly string[] | string | undefined;
  /** Discovery by ZooKeeper instead of {@link masters}. */
  readonly zookeeper?: ZooKeeperOptions | undefined;
  /**
   * An `hbase-site.xml`, or the folder that it is in. Default: the folder `HBASE_CONF_DIR`, when neither
   * {@link masters} nor {@link zookeeper} is given. Options override the file.
   */
  readonly configuration?: string;
  /**
   * The user's name. Without authentication the cluster trusts it; default: the operating system's user. With an authenticator
   * it is the user that the authenticated one impersonates (Hadoop's proxy users); default: no impersonation.
   */
  readonly user?: string;
  /** Default: SIMPLE, in which the cluster trusts the user's name. */
  readonly authenticator?: Authenticator;
  /** TLS to every server; default: none. */
  readonly tls?: TlsOptions;
  readonly resolveAddress?: ResolveAddress;
  /** Limit of a whole operation with its retries and lookups (`hbase.client.operation.timeout`); default 60000. */
  readonly operationTimeout?: number;
  /** Limit of one request (`hbase.rpc.timeout`); default 20000. */
  readonly rpcTimeout?: number;
  /**
   * Limit of one request of a scan (`hbase.client.scanner.timeout.period`); default 20000. A server that is still searching sends a
   * heartbeat within half of it, and the scan continues; a silent one is asked again until `operationTimeout`.
   */
  readonly scannerTimeout?: number;
  /**
   * Limit of one read of `hbase:meta`, or one registry request for meta's location; default 2000. After it the registry is asked
   * again, so that a hung server with meta delays lookups no longer than this.
   */
  readonly metaTimeout?: number;
  /** How long a read of meta waits for the primary before it asks meta's replicas too; default 200. */
  readonly metaReplicaDelay?: number;
  /** After this time without a read, a scan's scanner is closed on the server; the next read reopens it. Default 300000. */
  readonly scannerIdleTimeout?: number;
  /** Limit of opening a connection; default 10000. */
  readonly connectTimeout?: number;
  /**
   * Idle time after which a connection is closed (`hbase.ipc.client.connection.minIdleTimeBeforeClose`); the next request
   * reopens it. Default 120000, 0: never.
   */
  readonly connectionIdleTimeout?: number;
  /** Limit of an admin call with its procedure (`hbase.client.sync.wait.timeout.msec`); default 600000. */
  readonly adminTimeout?: number;
  /** The first pause before a retry; later ones grow (`hbase.client.pause`); default 100. */
  readonly pause?: number;
  /** Retries after the first attempt (`hbase.client.retries.number`); default 20. 0: fail at the first error. */
  readonly retries?: number;
  /** Requests under way to one server; further operations wait and are grouped. Default 64. */
  readonly maxInFlight?: number;
  /** Operations grouped into one request, at most; default 1000. */
  readonly maxMultiActions?: number;
  /** Approximate bytes of one grouped request; default 2 MiB. A larger operation is sent alone. */
  readonly maxMultiBytes?: number;
  /** Rows that a scan asks for at once; default: as many as fit into {@link scannerMaxResultSize}. */
  readonly scannerCaching?: number;
  /** Bytes that a scan asks for at once (`hbase.client.scanner.max.result.size`); default 2 MiB. */
  readonly scannerMaxResultSize?: number;
  /** The largest answer that is accepted; a larger one fails its own call (`ERR_TOO_LARGE`). Default 128 MiB. */
  readonly maxFrameSize?: number;
  /**
   * Objects, such as cells, that one answer may be decoded into at once; default 300000. Rows of a scan are decoded as they are
   * read and do not count.
   */
  readonly maxAnswerCells?: number;
  /** How long no connection is tried to a server that could not be reached; default 2000. */
  readonly quarantine?: number;
  /** How long a TIMELINE read waits for the primary before it asks the replicas too; default 10. */
  readonly primaryCallTimeout?: number;
  /** Receives events of connections, slow requests and retries. Errors that it throws are ignored. */
  readonly onEvent?: (event: HBaseEvent) => void;
  /** Duration from which a request is reported to {@link onEvent} as slow; default 1000. */
  readonly slowCall?: number;
  /** The module `@opentelemetry/api`, for spans and metrics; default: none are made. */
  readonly telemetry?: TelemetryApi;
  /** Attributes sent with every connection, shown in HBase's slow log (2.6); default: none. */
  readonly connectionAttributes?: Readonly<Record<string, string>>;
  /**
   * Returns attributes for the requests of a table call, such as a trace id, shown in HBase's slow log (2.6); default: none. It is
   * called in the context of each table call. The call's own `attributes` take precedence. Calls with different attributes share no
   * request. An error that it throws fails the call.
   */
  readonly requestAttributes?: (() => Readonly<Record<string, string>> | undefined) | undefined;
  /**
   * Compression of cells on the network, in both directions (`hbase.client.rpc.compressor`); default: none. It costs CPU on both
   * sides and helps on slow networks. Hadoop's other codecs are not supported.
   */
  readonly cellBlockCompression?: CellBlockCompression;
}

/** Discovery by ZooKeeper: read only, over a connection that is closed after each read. */
export interface ZooKeeperOptions {
  /** `host` or `host:port`, in an array or separated by commas as in `hbase.zookeeper.quorum`. */
  readonly quorum: readonly string[] | string;
  /** The port of servers given without one (`hbase.zookeeper.property.clientPort`); default 2181. */
  readonly clientPort?: number;
  /** `zookeeper.znode.parent`; default `/hbase`. */
  readonly parent?: string;
  /** TLS to the servers' `secureClientPort`: options of Node's `tls.connect`; default: none. */
  readonly tls?: TlsOptions;
  /** Authentication: `zooKeeperDigest` or `zooKeeperKerberos`; default: none. */
  readonly sasl?: ZooKeeperSasl;
}

/** The options with every default filled in. */
export interface HBaseSettings {
  readonly masters: readonly ServerAddress[];
  readonly zookeeper: ZooKeeperSettings | undefined;
  readonly user: string | undefined;
  readonly systemUser: string;
  readonly authenticator: Authenticator;
  readonly tls: TlsOptions | undefined;
  readonly resolveAddress: ResolveAddress | undefined;
  readonly operationTimeout: number;
  readonly rpcTimeout: number;
  readonly scannerTimeout: number;
  readonly metaTimeout: number;
  readonly metaReplicaDelay: number;
  readonly scannerIdleTimeout: number;
  readonly connectTimeout: number;
  readonly connectionIdleTimeout: number;
  readonly adminTimeout: number;
  readonly pause: number;
  readonly retries: number;
  readonly maxInFlight: number;
  readonly maxMultiActions: number;
  readonly maxMultiBytes: number;
  readonly scannerCaching: number;
  readonly scannerMaxResultSize: number;
  readonly maxFrameSize: number;
  readonly maxAnswerCells: number;
  readonly quarantine: number;
  readonly primaryCallTimeout: number;
  readonly onEvent: ((event: HBaseEvent) => void) | undefined;
  readonly slowCall: number;
  readonly telemetry: TelemetryApi | undefined;
  readonly connectionAttributes: Readonly<Record<string, string>>;
  readonly requestAttributes: HBaseOptions['requestAttributes'];
  readonly cellBlockCompression: CellBlockCompression | undefined;
}

const MEBIBYTE = 1 << 20;
const MASTER_PORT = 16000;
const ZOOKEEPER_PORT = 2181;
const MAX_INT32 = 0x7fffffff;

/** @throws InvalidArgumentError naming the invalid option. */
export function resolveSettings(options: HBaseOptions): HBaseSettings {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError(`connect takes an object of options, not ${describe(options)}.`);
  }
  const masters = options.masters === undefined ? [] : addressesOf('masters', options.masters, MASTER_PORT);
  if (masters.length === 0 && options.zookeeper === undefined) {
    throw new InvalidArgumentError(
      'connect needs a cluster: give masters: ["host:16000"], or zookeeper: { quorum: ["host:2181"] }, or a ' +
        'configuration (HBASE_CONF_DIR).',
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
    user: options.user,
    systemUser: process.env['USER'] ?? process.env['USERNAME'] ?? processUser(),
    authenticator: options.authenticator ?? simpleAuthenticator,
    tls: options.tls,
    resolveAddress: options.resolveAddress,
    operationTimeout: number('operationTimeout', 60_000),
    rpcTimeout: number('rpcTimeout', 20_000),
    scannerTimeout: number('scannerTimeout', 20_000),
    metaTimeout: number('metaTimeout', 2000),
    metaReplicaDelay: number('metaReplicaDelay', 200, 0),
    scannerIdleTimeout: number('scannerIdleTimeout', 300_000),
    connectTimeout: number('connectTimeout', 10_000),
    connectionIdleTimeout: number('connectionIdleTimeout', 120_000, 0),
    adminTimeout: number('adminTimeout', 600_000),
    pause: number('pause', 100),
    retries: number('retries', 20, 0),
    maxInFlight: number('maxInFlight', 64),
    maxMultiActions: number('maxMultiActions', 1000),
    maxMultiBytes: number('maxMultiBytes', 2 * MEBIBYTE),
    scannerCaching: number('scannerCaching', MAX_INT32),
    scannerMaxResultSize: number('scannerMaxResultSize', 2 * MEBIBYTE),
    maxFrameSize: number('maxFrameSize', 128 * MEBIBYTE, 1024),
    maxAnswerCells: number('maxAnswerCells', 300_000),
    quarantine: number('quarantine', 2000, 0),
    primaryCallTimeout: number('primaryCallTimeout', 10, 0),
    onEvent: functionOf('onEvent', options.onEvent),
    slowCall: number('slowCall', 1000, 0),
    telemetry: checkTelemetry(options.telemetry),
    connectionAttributes: attributesOf(options.connectionAttributes),
    requestAttributes: functionOf('requestAttributes', options.requestAttributes),
    cellBlockCompression: compressionOf(options.cellBlockCompression),
  };
}

/** The user of the process, who in a container may have no name. */
function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'rowan';
  }
}

function functionOf<T>(name: string, given: T): T {
  if (given === undefined || typeof given === 'function') return given;
  throw new InvalidArgumentError(`${name} is a function, not ${describe(given)}.`);
}

function attributesOf(attributes: HBaseOptions['connectionAttributes']): Readonly<Record<string, string>> {
  if (attributes === undefined) return {};
  checkAttributes('connectionAttributes', attributes);
  return { ...attributes };
}

function compressionOf(value: HBaseOptions['cellBlockCompression']): CellBlockCompression | undefined {
  if (value === undefined || Object.hasOwn(COMPRESSIONS, value)) return value;
  const known = Object.keys(COMPRESSIONS).join("' or '");
  throw new InvalidArgumentError(`cellBlockCompression is '${known}', not ${describe(value)}.`);
}

function zooKeeperOf(options: ZooKeeperOptions): NonNullable<HBaseSettings['zookeeper']> {
  const { quorum, clientPort = ZOOKEEPER_PORT, parent = '/hbase', tls, sasl } = options;
  if (typeof parent !== 'string' || !/^\/[^/].*[^/]$|^\/[^/]$/.test(parent)) {
    throw new InvalidArgumentError('zookeeper takes a parent that begins with "/" and does not end with it.');
  }
  if (!Number.isInteger(clientPort) || clientPort < 1 || clientPort > 65535) {
    throw new InvalidArgumentError(
      `zookeeper takes a clientPort from 1 to 65535, not ${describe(clientPort)}.`,
    );
  }
  const servers = addressesOf('zookeeper.quorum', quorum, clientPort);
  if (sasl !== undefined && typeof (sasl as Partial<ZooKeeperSasl> | null)?.session !== 'function') {
    throw new InvalidArgumentError('zookeeper.sasl is made by zooKeeperDigest or zooKeeperKerberos.');
  }
  if (servers.length > 0) return { quorum: servers, parent, tls, sasl };
  throw new InvalidArgumentError('zookeeper takes a quorum: ["host:2181", …].');
}

/** The addresses of an option: an array of them, or one text with commas between. */
function addressesOf(name: string, value: unknown, defaultPort: number): ServerAddress[] {
  const items: unknown = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(items) || items.some((item) => typeof item !== 'string')) {
    throw new InvalidArgumentError(
      `${name} takes addresses, ["host:${defaultPort}", …] or "host:${defaultPort},…", not ${describe(value)}.`,
    );
  }
  return items.map((item: string) => parseAddress(item.trim(), defaultPort));
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
