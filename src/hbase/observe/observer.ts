import type { RowanError } from '../../errors.js';
import type { HBaseEvent } from './events.js';
import { Latencies, type LatencySnapshot } from './latencies.js';
import { Telemetry, type TelemetryApi } from './telemetry.js';

/** What is observed, of the options. */
export interface ObserverSettings {
  readonly onEvent: ((event: HBaseEvent) => void) | undefined;
  /** Milliseconds from which a request is told of as slow. */
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

/** Where everything that is to be seen of an engine comes together. */
export class Observer {
  /** By server, by method. */
  readonly servers = new Map<string, Map<string, MethodStatistics>>();
  /** Operations that were made again. */
  retries = 0;
  readonly telemetry: Telemetry | undefined;

  constructor(private readonly settings: ObserverSettings) {
    this.telemetry = settings.telemetry === undefined ? undefined : new Telemetry(settings.telemetry);
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
      // A listener's failure is its own: the engine's work goes on.
    }
  }
}
