/** OpenTelemetry of a database: spans of operations and metrics of an embedded store; the backlog of every engine. */

import type { OperationEvent, Operations } from '../query/index.js';
import type { EmbeddedEngine } from '../store/engine.js';
import type { ReadOnlyStore } from '../store/read-only/read-only-store.js';
import { type EndOfSpan, type Metric, Telemetry, type TelemetryApi } from '../table/telemetry.js';

/** Starts reporting. @returns a function that ends it. */
export function reportStoreTelemetry(
  api: TelemetryApi,
  operations: Operations,
  engine: EmbeddedEngine | ReadOnlyStore,
): () => void {
  const telemetry = new Telemetry(api, 'rowan');
  const running = new WeakMap<OperationEvent, EndOfSpan>();
  const unwatch = operations.watch({
    begun: (event) => {
      const { operation, table, entities, ranges } = event;
      const entity = { 'rowan.entity': entities.join('+') };
      running.set(event, telemetry.begin(operation, table, operation === 'batch' ? ranges : 1, entity));
    },
    ended: (event) => {
      const { plan, index, rows, bytes, attempts, error } = event;
      running.get(event)?.(error, {
        'db.response.returned_rows': rows,
        'rowan.plan': plan,
        'rowan.bytes': bytes,
        'rowan.attempts': attempts,
        ...(index !== undefined && { 'rowan.index': index }),
      });
    },
  });
  // A store opened read-only has no metrics.
  const figures = 'metrics' in engine ? () => engine.metrics() : () => [];
  for (const { name, kind, unit, description } of figures()) {
    const read = (): number => figures().find((metric) => metric.name === name)!.value;
    telemetry.observe(name, kind, { unit, description }, read);
  }
  return () => {
    unwatch();
    telemetry.close();
  };
}

/** The most rows of a queue that are read for one collection of metrics. */
const BACKLOG_ROWS = 1000;

/**
 * Reports what waits in the background. The queues are read when metrics are collected, once for all of them.
 * @param system the value of `db.system.name`.
 * @returns a function that ends it.
 */
export async function reportBacklog(
  api: TelemetryApi,
  system: string,
  backlog: (limit: number) => Promise<readonly Metric[]>,
): Promise<() => void> {
  const telemetry = new Telemetry(api, system);
  const known = new Set<string>();
  let reading: Promise<readonly Metric[]> | undefined;
  const register = (metrics: readonly Metric[]): readonly Metric[] => {
    for (const { name, kind, unit, description } of metrics) {
      if (known.has(name)) continue;
      known.add(name);
      telemetry.figure(name, kind, { unit, description }, async (result) => {
        const found = (await read()).find((metric) => metric.name === name);
        if (found !== undefined) result.observe(found.value);
      });
    }
    return metrics;
  };
  /** Nothing where the queues cannot be read now: the metrics have a gap then. */
  const read = (limit = BACKLOG_ROWS): Promise<readonly Metric[]> => {
    reading ??= backlog(limit)
      .then(register, () => [])
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  // The names depend on the entities. Those of entities that are added later are registered at the next collection.
  await read(1);
  return () => telemetry.close();
}
