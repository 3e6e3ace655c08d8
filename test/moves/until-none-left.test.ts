import { expect, test } from 'vitest';
import { runUntilNoneLeft } from '../../src/features/evolution/jobs.js';
import type { JobPhase } from '../../src/job/types.js';
import { Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { memoryStore } from '../store/engine/support.js';

test('a migration that leaves rows is run anew once, and says how many it leaves then', async () => {
  const { engine } = await memoryStore();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.table('t').put(new Put('a').addColumn('f', 'q', 'v'));
  for (const { found, runs, left } of [
    { found: [0], runs: 1, left: 0 },
    { found: [1, 0], runs: 2, left: 0 },
    { found: [2, 3], runs: 2, left: 3 },
  ]) {
    const name = `of ${found}`;
    let run = 0;
    const phase: JobPhase = {
      table: 't',
      ranges: [],
      scan: () => new Scan(),
      open: (context) => ({ rows: () => context.count('left', found[run++]!) }),
    };
    const done = await runUntilNoneLeft(engine, { name, signature: '', phases: [phase] }, {});
    expect({ runs: run, left: done.left }).toEqual({ runs, left });
  }
  await engine.close();
});
