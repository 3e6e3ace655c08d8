import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { JobStore } from '../../src/job/job-store.js';
import { runJob } from '../../src/job/runner.js';
import { Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { memoryStore, type TestStore } from '../store/engine/support.js';
import { workerOn } from './support.js';

const ROWS = 100;
/** No test waits for the end of it. */
const leaseMs = 2 ** 31 - 1;

let store: TestStore;
beforeEach(async () => {
  store = await memoryStore();
  await store.engine.admin.createTable(tableDescriptor('t', { f: {} }));
  const rows = Array.from({ length: ROWS }, (_, i) => `r${i}`);
  await store.engine.table('t').putAll(rows.map((row) => new Put(row).addColumn('f', 'q', row)));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.engine.close();
});

/** Changes of the states of a job's splits fail, from the `first` on: `executed`, their answers are lost. */
interface Fault {
  readonly first: number;
  readonly count: number;
  readonly executed: boolean;
}

const FAULTS: readonly Fault[] = [0, 1, 2, 3, 4, 5].flatMap((first) =>
  [1, 2].flatMap((count) => [true, false].map((executed) => ({ first, count, executed }))),
);

describe('a worker whose changes of a split had no answer', () => {
  it('goes on with it at once, and counts each row once', async () => {
    const { setSplit } = JobStore.prototype;
    const faults = new Map(FAULTS.map((fault) => [JSON.stringify(fault), { ...fault, at: 0 }]));
    vi.spyOn(JobStore.prototype, 'setSplit').mockImplementation(async function (this: JobStore, ...change) {
      const fault = faults.get(this.job)!;
      const at = fault.at++;
      if (at < fault.first || at >= fault.first + fault.count) return setSplit.apply(this, change);
      if (fault.executed) await setSplit.apply(this, change);
      throw new RowanError('ERR_CONNECTION', 'The answer was lost.', { retryable: true });
    });
    const { engine } = workerOn(store.engine, { cluster: true });
    const outcomes = await Promise.all(
      [...faults.keys()].map((name) => {
        const phase = {
          table: 't',
          ranges: [],
          scan: () => new Scan(),
          open: ({ count }: { count: (name: string, by?: number) => void }) => ({
            rows: (batch: readonly unknown[]) => count('rows', batch.length),
          }),
        };
        const definition = { name, signature: 'counts rows', phases: [phase] };
        return runJob(engine, definition, { batchRows: 10, checkpointRows: 25, leaseMs });
      }),
    );
    for (const { counters } of outcomes) expect(counters).toEqual({ rows: ROWS });
  });
});
