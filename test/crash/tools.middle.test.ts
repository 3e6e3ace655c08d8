import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { verifyTables } from '../../src/tools/verify.js';
import { cellsOf, changes, fill } from '../job/tools/random-table.js';
import { fromMiddle, mayGoOn } from '../proof/scale.js';
import { runScript } from './run-script.js';

/** Kills of each tool in a round, and rounds. */
const KILLS = fromMiddle(2, 5);
const ROUNDS = fromMiddle(1, 5);
/** Turns of the event loop within which a process is killed; most have more. */
const TURNS = 150;

it('an export and an import that are killed at any moment go on, and leave every cell as it was', async () => {
  for (let round = 0; round < ROUNDS && mayGoOn(); round++) {
    const folder = await mkdtemp(join(tmpdir(), 'rowan-tools-'));
    const [from, into, files] = ['from', 'into', 'files'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const seed = 100 + round;
    const [all] = fc.sample(
      fc.array(fc.record({ change: changes, block: fc.nat(40) }), { minLength: 900, maxLength: 1200 }),
      { seed, numRuns: 1 },
    );
    const turns = fc.sample(fc.integer({ min: 1, max: TURNS }), { seed, numRuns: 2 * KILLS });
    const source = await openEmbedded(from, { background: 'inline', durability: 'ASYNC_WAL' });
    await fill(
      source,
      all!.map(({ change, block }) => ({ ...change, row: change.row + 31 * block })),
      [300, 700],
    );
    await source.close();
    let killed = 0;
    for (const [tool, store] of [
      ['export', from],
      ['import', into],
    ] as const) {
      for (let life = 0; life < KILLS; life++) {
        const turn = turns.pop()!;
        if (
          (await runScript('test/crash/tool-worker.ts', [tool, store, files, String(turn)]).exit) ===
          'SIGKILL'
        )
          killed++;
      }
      expect(await runScript('test/crash/tool-worker.ts', [tool, store, files, '0']).exit).toBe(0);
    }
    expect(killed).toBeGreaterThan(0);
    const [one, other] = [
      await openEmbedded(from, { background: 'inline' }),
      await openEmbedded(into, { background: 'inline' }),
    ];
    const { counters, rows } = await verifyTables(
      { engine: one, table: 't' },
      { engine: other, table: 't' },
      { raw: true },
    );
    expect(rows).toBeGreaterThan(500);
    expect(counters['equal']).toBe(rows);
    expect(await cellsOf(other)).toEqual(await cellsOf(one));
    await one.close();
    await other.close();
    await rm(folder, { recursive: true });
  }
});
