/** OpenTelemetry of an embedded database: spans of operations, metrics of the store. */

import type { OperationEvent, Operations } from '../query/index.js';
import type { EmbeddedEngine } from '../store/engine.js';
import type { ReadOnlyStore } from '../store/follow/read-only-store.js';
import { type EndOfSpan, Telemetry, type TelemetryApi } from '../table/telemetry.js';

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
