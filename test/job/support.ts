/**
 * Engines for tests of jobs: in memory, views of one that fail like a killed process, and views that look like a
 * cluster.
 */

import { RowanError } from '../../src/errors.js';
import type { Engine, Table } from '../../src/table/index.js';

/** What happens to a worker's calls. */
interface Worker {
  readonly engine: Engine;
  /** Every later call fails, as in a killed process. Earlier calls have taken effect. */
  kill(): void;
  readonly calls: number;
}

/**
 * The engine as one process of several sees it. After `lives` calls (undefined: never) all calls fail; the last one
 * fails after it took effect. `cluster`: the engine reports that other processes may use the store too.
 */
export function workerOn(engine: Engine, options: { lives?: number; cluster?: boolean } = {}): Worker {
  let calls = 0;
  let dead = false;
  const called = async <T>(call: () => Promise<T>): Promise<T> => {
    if (dead) throw deadWorker();
    calls++;
    const answer = await call();
    if (calls === options.lives) dead = true;
    if (dead) throw deadWorker();
    return answer;
  };
  const guarded = (table: Table): Table =>
    new Proxy(table, {
      get(target, name) {
        const member = Reflect.get(target, name, target) as unknown;
        if (typeof member !== 'function') return member;
        if (name === 'scan' || name === 'scanSync')
          return (...args: unknown[]) => member.apply(target, args) as unknown;
        return (...args: unknown[]) => called(async () => (await member.apply(target, args)) as unknown);
      },
    });
  return {
    engine: {
      name: engine.name,
      capabilities: { ...engine.capabilities, sync: engine.capabilities.sync && options.cluster !== true },
      admin: engine.admin,
      table: (name) => guarded(engine.table(name)),
      now: Date.now,
      observe: (table, observer) => engine.observe(table, observer),
      bulkLoad: (table, cells, how) => called(() => engine.bulkLoad!(table, cells, how)),
      close: () => engine.close(),
    },
    kill: () => {
      dead = true;
    },
    get calls() {
      return calls;
    },
  };
}

function deadWorker(): RowanError {
  return new RowanError('ERR_CONNECTION', 'This worker is dead.');
}
