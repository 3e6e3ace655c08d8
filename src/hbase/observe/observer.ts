import type { RowanError } from '../../errors.js';
import { Telemetry, type TelemetryApi } from '../../table/telemetry.js';
import {
  Latencies,
  type LatencySnapshot,
  TABLE_METRICS,
  type TableFigures,
  TableStatisticsOfEngine,
} from './table-figures.js';

/** The events of an HBase engine, passed to `onEvent`. */

export type HBaseEvent =
  | {
      readonly kind: 'connected';
      /** "host:port" as the cluster names it. */
      readonly server: string;
      readonly service: string;
      /** From the first byte to the end of the authentication. */
      readonly milliseconds: number;
    }
  /** A connection ended other than by `close`, or could not be opened. Its operations are retried where possible. */
  | {
      readonly kind: 'disconnected';
      readonly server: string;
      readonly service: string;
      readonly error: RowanError;
    }
  /** A request took at least `slowCall` milliseconds, or failed after as long. */
  | {
      readonly kind: 'slowCall';
      readonly server: string;
      /** The RPC method. */
      readonly method: string;
      readonly what: string;
      readonly milliseconds: number;
      readonly error: RowanError | undefined;
    }
  /** Operations are retried after a pause. */
  | {
      readonly kind: 'retry';
      readonly table: string;
      /** The number of operations that failed together. */
      readonly operations: number;
      /** Attempts so far. */
      readonly attempts: number;
      readonly pause: number;
      readonly error: RowanError;
    };

/** The options of observation. */
interface ObserverSettings {
  readonly onEvent: ((event: HBaseEvent) => void) | undefined;
  /** Milliseconds from which a request is reported as slow. */
  readonly slowCall: number;
  readonly telemetry: TelemetryApi | undefined;
}

/** Requests of one method to one server since the engine was connected. */
export interface MethodMetrics {
  readonly calls: number;
  /** Of them, those that ended with an error. */
  readonly failures: number;
  readonly latency: LatencySnapshot;
}

/** The requests of one method to one server. */
export class MethodStatistics {
  private failures = 0;
  private readonly latencies = new Latencies();

  record(milliseconds: number, failed: boolean): void {
    this.latencies.record(milliseconds);
    if (failed) this.failures++;
  }

  snapshot(): MethodMetrics {
    const latency = this.latencies.snapshot();
    return { calls: latency.count, failures: this.failures, latency };
  }
}

/** Collects metrics, events and telemetry of one engine. */
export class Observer {
  /** By server, by method. */
  readonly servers = new Map<string, Map<string, MethodStatistics>>();
  /** By table and region. */
  readonly tables = new TableStatisticsOfEngine();
  /** Retried operations. */
  retries = 0;
  readonly telemetry: CallTelemetry | undefined;

  constructor(private readonly settings: ObserverSettings) {
    this.telemetry =
      settings.telemetry === undefined ? undefined : new CallTelemetry(settings.telemetry, this.tables);
  }

  /** The statistics of a server, which outlive its connections. */
  server(server: string): Map<string, MethodStatistics> {
    let methods = this.servers.get(server);
    if (methods === undefined) {
      methods = new Map();
      this.servers.set(server, methods);
    }
    return methods;
  }

  callEnded(
    methods: Map<string, MethodStatistics>,
    server: string,
    call: { readonly method: string; readonly startedAt: number; describe(): string },
    error: RowanError | undefined,
  ): void {
    const { method } = call;
    let statistics = methods.get(method);
    if (statistics === undefined) {
      statistics = new MethodStatistics();
      methods.set(method, statistics);
    }
    const milliseconds = performance.now() - call.startedAt;
    statistics.record(milliseconds, error !== undefined);
    this.telemetry?.callEnded(server, method, milliseconds, error);
    if (milliseconds >= this.settings.slowCall && this.settings.onEvent !== undefined) {
      this.emit({ kind: 'slowCall', server, method, what: call.describe(), milliseconds, error });
    }
  }

  retried(table: string, operations: number, attempts: number, pause: number, error: RowanError): void {
    this.retries += operations;
    this.emit({ kind: 'retry', table, operations, attempts, pause, error });
  }

  emit(event: HBaseEvent): void {
    try {
      this.settings.onEvent?.(event);
    } catch {
      // An error of the listener must not affect the engine.
    }
  }
}

/** A snapshot of an engine's counters since it was connected, as plain numbers. */
export interface HBaseMetrics {
  /** By "host:port". */
  readonly servers: Readonly<Record<string, ServerMetrics>>;
  /** By table, of those that this client has used, `hbase:meta` included. */
  readonly tables: Readonly<Record<string, TableFigures>>;
  /** Operations retried after a failure. */
  readonly retries: number;
  /** Connections that are open or being opened. */
  readonly connections: number;
  /** Scanners that servers hold for this engine. */
  readonly openScanners: number;
  readonly regionCache: {
    readonly tables: number;
    readonly regions: number;
    /** Reads of `hbase:meta`. */
    readonly lookups: number;
  };
}

/** The state of a client at one moment, for a bug report. It has keys of regions, and no rows or values. */
export interface HBaseDebugState {
  /** Location cache: every region that the client would send requests to, with keys as text with `\x00` for other bytes. */
  readonly regions: readonly {
    readonly table: string;
    readonly startKey: string;
    readonly endKey: string;
    readonly name: string;
    readonly server: string;
    /** The servers of its read replicas. */
    readonly replicas: readonly string[];
  }[];
  /** What the client has done with each table, and with each of up to 1,000 regions. */
  readonly tables: Readonly<Record<string, TableFigures>>;
  /** By "host:port": operations that wait, requests under way, and their limit. */
  readonly queues: Readonly<Record<string, Omit<ServerMetrics, 'methods'>>>;
  readonly connections: readonly {
    readonly server: string;
    readonly service: string;
    readonly state: 'open' | 'opening';
    /** Requests without an answer. */
    readonly pending: number;
    /** Milliseconds since the last use. */
    readonly idle: number;
  }[];
  /** Servers that could not be reached and are left alone for so many milliseconds. */
  readonly quarantined: readonly { readonly server: string; readonly for: number; readonly error: string }[];
  readonly openScanners: number;
  /** Reads of `hbase:meta` since the start. */
  readonly lookups: number;
}

export interface ServerMetrics {
  /** Operations that wait for room among the requests under way. */
  readonly queued: number;
  /** Requests under way. */
  readonly inFlight: number;
  /** The limit: `maxInFlight`, lower while the server reports a full queue. */
  readonly limit: number;
  /** By RPC method. */
  readonly methods: Readonly<Record<string, MethodMetrics>>;
}

/** The sources of the metrics. */
interface MetricSources {
  readonly observer: Observer;
  readonly connections: number;
  readonly openScanners: number;
  readonly regionCache: HBaseMetrics['regionCache'];
  queueOf(server: string): { readonly queued: number; readonly inFlight: number; readonly limit: number };
}

export function metricsOf(sources: MetricSources, withRegions: boolean): HBaseMetrics {
  const { observer, connections, openScanners, regionCache } = sources;
  const servers: Record<string, ServerMetrics> = {};
  for (const [server, methods] of observer.servers) {
    const snapshots = [...methods].map(([method, statistics]) => [method, statistics.snapshot()]);
    servers[server] = { ...sources.queueOf(server), methods: Object.fromEntries(snapshots) };
  }
  const tables = observer.tables.snapshot(withRegions);
  return { servers, tables, retries: observer.retries, connections, openScanners, regionCache };
}

/** OpenTelemetry: spans and durations of operations, and durations of single requests. */
class CallTelemetry extends Telemetry {
  private readonly calls = this.meter.createHistogram('rowan.hbase.call.duration', {
    unit: 's',
    description: 'Duration of single requests to servers.',
  });

  constructor(api: TelemetryApi, tables: TableStatisticsOfEngine) {
    super(api, 'hbase');
    for (const { name, unit, description, read } of TABLE_METRICS)
      this.figure(name, 'counter', { unit, description }, (result) => {
        for (const [table, figures] of Object.entries(tables.snapshot(false)))
          result.observe(read(figures), { 'db.collection.name': table });
      });
  }

  callEnded(server: string, method: string, milliseconds: number, error: RowanError | undefined): void {
    this.calls.record(milliseconds / 1000, {
      'rpc.method': method,
      'server.address': server,
      ...(error !== undefined && { 'error.type': error.code }),
    });
  }

  gauge(name: string, description: string, read: () => number): void {
    this.observe(name, 'gauge', { description }, read);
  }
}
