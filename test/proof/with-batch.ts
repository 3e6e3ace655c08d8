import type { BatchAction, Engine, Table } from '../../src/table/index.js';

function bound<T extends object>(of: T, name: string | symbol): unknown {
  const value: unknown = Reflect.get(of, name);
  return typeof value === 'function' ? value.bind(of) : value;
}

/**
 * Returns the engine with another `batch` of one of its tables, so that a test can act between two steps of a job or
 * a write.
 */
export function withBatch(
  engine: Engine,
  name: string,
  batch: (table: Table, actions: readonly BatchAction[]) => ReturnType<Table['batch']>,
): Engine {
  const watched = (of: Table): Table =>
    new Proxy(of, {
      get: (table, call) =>
        call === 'batch' ? (actions: readonly BatchAction[]) => batch(table, actions) : bound(table, call),
    });
  return new Proxy(engine, {
    get: (of, method) =>
      method !== 'table'
        ? bound(of, method)
        : (asked: string) => (asked === name ? watched(of.table(asked)) : of.table(asked)),
  });
}
