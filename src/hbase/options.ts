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

/** How a client finds its cluster and how patient it is. Times are in milliseconds. */
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
   * {@link masters} nor {@link zookeeper} is given. Options win over what stands there.
   */
  readonly configuration?: string;
  /**
   * The user's name. Without authentication it is believed; default: the operating system's user. With an authenticator
   * it is somebody whom the authenticated user acts for (Hadoop's proxy users); default: nobody else.
   */
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
  /**
   * One request of a scan (`hbase.client.scanner.timeout.period`); default 20000. A server that is still looking says so within half of
   * it, and the scan goes on; one that says nothing is asked again until `operationTimeout`.
   */
  readonly scannerTimeout?: number;
  /**
   * One look into `hbase:meta`, or one question where meta is; default 2000. A server that hangs with meta is left after
   * it, and the registry asked again.
   */
  readonly metaTimeout?: number;
  /** How long a look into meta waits for its primary before it asks meta's replicas too; default 200. */
  readonly metaReplicaDelay?: number;
  /** A scan that nobody reads on is closed at its server after this time, and opened again when it is; default 300000. */
  readonly scannerIdleTimeout?: number;
  /** The connection's opening; default 10000. */
  readonly connectTimeout?: number;
  /**
   * A connection that nobody has used for this long is closed (`hbase.ipc.client.connection.minIdleTimeBeforeClose`), and
   * opened again when it is asked for; default 120000, 0: never.
   */
  readonly connectionIdleTimeout?: number;
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
  /** The largest answer that is taken; a larger one fails its own call (`ERR_TOO_LARGE`). Default 128 MiB. */
  readonly maxFrameSize?: number;
  /**
   * Cells that one answer may be made into at once, and other parts of it; default 300000. Rows of a scan are made as
   * they are read, and do not count.
   */
  readonly maxAnswerCells?: number;
  /** How long a server that could not be reached is left alone; default 2000. */
  readonly quarantine?: number;
  /** How long a TIMELINE read waits for the primary before it asks the replicas too; default 10. */
  readonly primaryCallTimeout?: number;
  /** Told of connections that are made and lost, of slow requests and of retries. What it throws is passed over. */
  readonly onEvent?: (event: HBaseEvent) => void;
  /** Requests that take this long are told to {@link onEvent}; default 1000. */
  readonly slowCall?: number;
  /** The module `@opentelemetry/api`, for spans and metrics; default: none are made. */
  readonly telemetry?: TelemetryApi;
  /** Names and values that go with every connection, and stand in HBase's slow log (2.6); default: none. */
  readonly connectionAttributes?: Readonly<Record<string, string>>;
  /**
   * Asked at each call of a table, in the turn and context of the call, for names and values that go with its requests and
   * stand in HBase's slow log (2.6), the id of a trace for example; default: none. Those of the call itself (`attributes`)
   * go before. Calls with different ones share no request. What it throws fails the call.
   */
  readonly requestAttributes?: (() => Readonly<Record<string, string>> | undefined) | undefined;
  /**
   * Have cells compressed on their way, both ways; default: not. It costs both sides time, and is for slow networks. Others
   * of Hadoop's codecs are not spoken (`hbase.client.rpc.compressor`).
   */
  readonly cellBlockCompression?: CellBlockCompression;
}

/** Discovery as ZooKeeper knows it: read only, a connection that is closed after each look. */
export interface ZooKeeperOptions {
  /** `host` or `host:port`, in an array or separated by commas as in `hbase.zookeeper.quorum`. */
  readonly quorum: readonly string[] | string;
  /** The port of servers that are named without one (`hbase.zookeeper.property.clientPort`); default 2181. */
  readonly clientPort?: number;
  /** `zookeeper.znode.parent`; default `/hbase`. */
  readonly parent?: string;
  /** TLS, to the servers' `secureClientPort`; default: none. What Node's `tls.connect` takes. */
  readonly tls?: TlsOptions;
  /** Who one is: `zooKeeperDigest` or `zooKeeperKerberos`; default: nobody. */
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

/** @throws InvalidArgumentError naming the option that cannot be. */
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
    systemUser: process.env['USER'] ?? process.env['USERNAME'] ?? 'rowan',
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
