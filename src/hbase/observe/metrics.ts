import type { MethodMetrics, Observer } from './observer.js';

/** What an engine has done since it was connected, and what it is about. Plain numbers, made when they are asked for. */
export interface HBaseMetrics {
  /** By "host:port". */
  readonly servers: Readonly<Record<string, ServerMetrics>>;
  /** Operations that were made again after a failure. */
  readonly retries: number;
  /** Connections that are open or being opened. */
  readonly connections: number;
  /** Scanners that servers hold for this engine. */
  readonly openScanners: number;
  readonly regionCache: {
    readonly tables: number;
    readonly regions: number;
    /** Looks into `hbase:meta`. */
    readonly lookups: number;
  };
}

export interface ServerMetrics {
  /** Operations that wait for room among the requests under way. */
  readonly queued: number;
  /** Requests under way. */
  readonly inFlight: number;
  /** How many there may be: `maxInFlight`, fewer while the server says that its queue is full. */
  readonly limit: number;
  /** By the method of HBase's rpc. */
  readonly methods: Readonly<Record<string, MethodMetrics>>;
}

/** Where the numbers are taken from. */
export interface MetricSources {
  readonly observer: Observer;
  readonly connections: number;
  readonly openScanners: number;
  readonly regionCache: HBaseMetrics['regionCache'];
  queueOf(server: string): { readonly queued: number; readonly inFlight: number; readonly limit: number };
}

export function metricsOf(sources: MetricSources): HBaseMetrics {
  const { observer, connections, openScanners, regionCache } = sources;
  const servers: Record<string, ServerMetrics> = {};
  for (const [server, methods] of observer.servers) {
    const snapshots = [...methods].map(([method, statistics]) => [method, statistics.snapshot()]);
    servers[server] = { ...sources.queueOf(server), methods: Object.fromEntries(snapshots) };
  }
  return { servers, retries: observer.retries, connections, openScanners, regionCache };
}
