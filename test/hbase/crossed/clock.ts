import type { Engine } from '../../../src/table/index.js';

/** The engine of a program whose clock is so many milliseconds ahead. Its end leaves the engine open. */
export function withClock(of: Engine, ahead: number): Engine {
  return new Proxy(of, {
    get: (target, name) => {
      if (name === 'now') return () => target.now() + ahead;
      if (name === 'close') return async () => undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
