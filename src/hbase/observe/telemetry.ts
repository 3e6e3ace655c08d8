/** OpenTelemetry, by the part of its API that is used: the program that has the package gives it. */

import type { RowanError } from '../../errors.js';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';

type Attributes = Record<string, string | number>;

/** The module `@opentelemetry/api` (1.x). */
export interface TelemetryApi {
  readonly trace: { getTracer(name: string): TelemetryTracer };
  readonly metrics: { getMeter(name: string): TelemetryMeter };
}

export interface TelemetryTracer {
  startSpan(name: string, options: { readonly kind: number; readonly attributes: Attributes }): TelemetrySpan;
}

export interface TelemetrySpan {
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { readonly code: number; readonly message: string }): unknown;
  recordException(error: Error): void;
  end(): void;
}

export interface TelemetryMeter {
  createHistogram(
    name: string,
    options: { readonly unit: string; readonly description: string },
  ): { record(value: number, attributes: Attributes): void };
  createObservableGauge(name: string, options: { readonly description: string }): TelemetryGauge;
}

export interface TelemetryGauge {
  addCallback(callback: GaugeCallback): void;
  removeCallback(callback: GaugeCallback): void;
}

type GaugeCallback = (result: { observe(value: number): void }) => void;

const NAME = 'rowan-orm';
const CLIENT_SPAN = 2;
const ERROR_STATUS = 2;

/**
 * Spans of operations, `get shop:orders`, children of whatever span is active where they are called; durations of
 * operations and of requests; gauges. Names are those of OpenTelemetry's conventions for databases.
 */
export class Telemetry {
  private readonly tracer: TelemetryTracer;
  private readonly operations: ReturnType<TelemetryMeter['createHistogram']>;
  private readonly calls: ReturnType<TelemetryMeter['createHistogram']>;
  private readonly meter: TelemetryMeter;
  private readonly gauges: (() => void)[] = [];

  constructor(api: TelemetryApi) {
    this.tracer = api.trace.getTracer(NAME);
    this.meter = api.metrics.getMeter(NAME);
    this.operations = this.meter.createHistogram('db.client.operation.duration', {
      unit: 's',
      description: 'Duration of operations, their lookups and retries included.',
    });
    this.calls = this.meter.createHistogram('rowan.hbase.call.duration', {
      unit: 's',
      description: 'Duration of single requests to servers.',
    });
  }

  /** Begins the span of an operation; to be called once with its error, or with none. */
  begin(operation: string, table: string, operations = 1): (error?: RowanError) => void {
    const attributes: Attributes = {
      'db.system.name': 'hbase',
      'db.operation.name': operation,
      'db.collection.name': table,
    };
    const began = performance.now();
    const span = this.tracer.startSpan(`${operation} ${table}`, { kind: CLIENT_SPAN, attributes });
    if (operations > 1) span.setAttribute('db.operation.batch.size', operations);
    return (error) => {
      if (error !== undefined) {
        attributes['error.type'] = error.code;
        span.setAttribute('error.type', error.code);
        span.setStatus({ code: ERROR_STATUS, message: error.message });
        span.recordException(error);
      }
      this.operations.record((performance.now() - began) / 1000, attributes);
      span.end();
    };
  }

  /** The span of an operation that ends with `promise`. */
  follow(operation: string, table: string, operations: number, promise: Promise<unknown>): void {
    const end = this.begin(operation, table, operations);
    promise.then(
      () => end(),
      (error: RowanError) => end(error),
    );
  }

  callEnded(server: string, method: string, milliseconds: number, error: RowanError | undefined): void {
    const attributes: Attributes = { 'rpc.method': method, 'server.address': server };
    if (error !== undefined) attributes['error.type'] = error.code;
    this.calls.record(milliseconds / 1000, attributes);
  }

  gauge(name: string, description: string, read: () => number): void {
    const gauge = this.meter.createObservableGauge(name, { description });
    const callback: GaugeCallback = (result) => result.observe(read());
    gauge.addCallback(callback);
    this.gauges.push(() => gauge.removeCallback(callback));
  }

  close(): void {
    for (const remove of this.gauges.splice(0)) remove();
  }
}

/** @throws InvalidArgumentError for what is not the API. */
export function checkTelemetry(api: TelemetryApi | undefined): TelemetryApi | undefined {
  if (api === undefined) return undefined;
  if (typeof api?.trace?.getTracer === 'function' && typeof api.metrics?.getMeter === 'function') return api;
  throw new InvalidArgumentError(
    `telemetry is the module @opentelemetry/api (import * as telemetry from '@opentelemetry/api'), not ${describe(api)}.`,
  );
}
