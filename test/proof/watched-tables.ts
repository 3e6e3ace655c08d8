import type { Engine } from '../../src/table/index.js';

type Call = (...given: readonly unknown[]) => unknown;

/**
 * The engine, whose tables' methods are those that `around` gives in place of `call`, the method of the table. Undefined: the method stays as
 * it is.
 */
export function watchedTables(
  engine: Engine,
  around: (table: string, method: string, call: Call) => Call | undefined,
): Engine {
  const bound = (target: object, name: PropertyKey): unknown => {
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === 'function' ? value.bind(target) : value;
  };
  return new Proxy(engine, {
    get: (target, name) => {
      if (name !== 'table') return bound(target, name);
      return (table: string) =>
        new Proxy(target.table(table), {
          get: (of, method) => {
            const value = bound(of, method);
            return typeof value === 'function'
              ? (around(table, String(method), value as Call) ?? value)
              : value;
          },
        });
    },
  });
}
