/** OpenTelemetry, through the part of its API that is used here: programs that have the package pass it in. */

import { InvalidArgumentError, RowanError } from '../errors.js';
import { describe } from './checks.js';

/** A figure of a database or store. */
export interface Metric {
  /** In OpenTelemetry's form; Prometheus writes `_` for dots. */
  readonly name: string;
  /** A counter only grows while the database is open; a gauge goes up and down. */
  readonly kind: 'counter' | 'gauge';
  /** `By` (bytes), `ms`, or what is counted: `{file}`. */
  readonly unit: string;
  readonly description: string;
  readonly value: number;
  /** What the value is of, where there are several of the name: a table. Prometheus calls them labels. */
  readonly attributes?: Readonly<Record<string, string>>;
}

type Attributes = Record<string, string | number>;

/** The module `@opentelemetry/api` (1.x). */
export interface TelemetryApi {
  readonly trace: { getTracer(name: string): TelemetryTracer };
  readonly metrics: { getMeter(name: string): TelemetryMeter };
}

interface TelemetryTracer {
  startSpan(name: string, options: { readonly kind: number; readonly attributes: Attributes }): TelemetrySpan;
}

interface TelemetrySpan {
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { readonly code: number; readonly message: string }): unknown;
  recordException(error: Error): void;
  end(): void;
}

interface TelemetryMeter {
  createHistogram(
    name: string,
    options: { readonly unit: string; readonly description: string },
  ): { record(value: number, attributes: Attributes): void };
  createObservableGauge(name: string, options: FigureOptions): TelemetryFigure;
  createObservableCounter(name: string, options: FigureOptions): TelemetryFigure;
}

interface FigureOptions {
  readonly description: string;
  readonly unit?: string;
}

interface TelemetryFigure {
  addCallback(callback: FigureCallback): void;
  removeCallback(callback: FigureCallback): void;
}

type FigureCallback = (result: {
  observe(value: number, attributes?: Attributes): void;
}) => void | Promise<void>;

/** Ends a span, with its error if it failed, and with attributes for the span alone. */
export type EndOfSpan = (error?: unknown, figures?: Attributes) => void;

const NAME = 'rowan-orm';
const CLIENT_SPAN = 2;
const ERROR_STATUS = 2;

/**
 * Spans of operations, `get shop:orders`, as children of the active span; durations of operations; metrics. Names follow
 * OpenTelemetry's conventions for databases.
 */
export class Telemetry {
  private readonly tracer: TelemetryTracer;
  private readonly operations: ReturnType<TelemetryMeter['createHistogram']>;
  protected readonly meter: TelemetryMeter;
  private readonly figures: (() => void)[] = [];

  /** `system`: the value of `db.system.name`. */
  constructor(
    api: TelemetryApi,
    private readonly system: string,
  ) {
    this.tracer = api.trace.getTracer(NAME);
    this.meter = api.metrics.getMeter(NAME);
    this.operations = this.meter.createHistogram('db.client.operation.duration', {
      unit: 's',
      description: 'Duration of operations, their lookups and retries included.',
    });
  }

  /** Starts the span of an operation. Call the returned function once, with the error if it failed. */
  begin(operation: string, table: string, operations = 1, more?: Attributes): EndOfSpan {
    const attributes: Attributes = {
      'db.system.name': this.system,
      'db.operation.name': operation,
      'db.collection.name': table,
      ...more,
    };
    const began = performance.now();
    const span = this.tracer.startSpan(`${operation} ${table}`, { kind: CLIENT_SPAN, attributes });
    if (operations > 1) span.setAttribute('db.operation.batch.size', operations);
    return (error, figures = {}) => {
      for (const [name, value] of Object.entries(figures)) span.setAttribute(name, value);
      if (error !== undefined) {
        const thrown = error instanceof Error ? error : new Error(String(error));
        const type = error instanceof RowanError ? error.code : thrown.name;
        attributes['error.type'] = type;
        span.setAttribute('error.type', type);
        span.setStatus({ code: ERROR_STATUS, message: thrown.message });
        span.recordException(thrown);
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

  /** Registers a metric whose value is read on demand: a gauge goes up and down, a counter only grows. */
  observe(name: string, kind: 'gauge' | 'counter', options: FigureOptions, read: () => number): void {
    this.figure(name, kind, options, (result) => result.observe(read()));
  }

  /** As {@link observe}, with what `callback` says: several values with attributes, or none; it may read for a while. */
  figure(name: string, kind: 'gauge' | 'counter', options: FigureOptions, callback: FigureCallback): void {
    const figure =
      kind === 'gauge'
        ? this.meter.createObservableGauge(name, options)
        : this.meter.createObservableCounter(name, options);
    figure.addCallback(callback);
    this.figures.push(() => figure.removeCallback(callback));
  }

  close(): void {
    for (const remove of this.figures.splice(0)) remove();
  }
}

/** @throws InvalidArgumentError unless it is the API. */
export function checkTelemetry(api: TelemetryApi | undefined): TelemetryApi | undefined {
  if (api === undefined) return undefined;
  if (typeof api?.trace?.getTracer === 'function' && typeof api.metrics?.getMeter === 'function') return api;
  throw new InvalidArgumentError(
    `telemetry is the module @opentelemetry/api (import * as telemetry from '@opentelemetry/api'), not ${describe(api)}.`,
  );
}
