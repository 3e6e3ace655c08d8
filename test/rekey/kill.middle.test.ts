/** Processes that are killed while they change keys, in every state: what was acknowledged is there, and the change goes on. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import type { RekeyState } from '../../src/features/rekey/strategy.js';
import { runScript } from '../crash/run-script.js';
import { seededRandom } from '../crash/seeded-random.js';
import { fromMiddle, mayGoOn } from '../proof/scale.js';
import { checkTotals } from './figures.js';
import { FILLED, KEYS, keyOf, New, Old, openOrders, WRITERS } from './orders.js';
import { Reader } from './reader.js';

const ROUNDS = fromMiddle(1, 40);

/** What the process does, the line at which it is killed, and where the change may stand then. */
const KILLS: readonly (readonly [goal: string, line: string, states: readonly (RekeyState | undefined)[]])[] =
  [
    ['run', 'open.', [undefined, 'planned', 'dual-write', 'backfill']],
    ['run', 'run.', [undefined, 'planned', 'dual-write', 'backfill']],
    ['run', 'copy.', ['backfill', 'verify']],
    ['abort', 'open.', ['backfill', 'verify', 'aborting', 'aborted']],
    ['abort', 'aborting.', ['aborting', 'aborted']],
    ['run', 'copy.', ['backfill', 'verify']],
    ['run', 'verify.', ['verify', 'ready']],
    ['run', 'ready.', ['ready']],
    ['cutover', 'open.', ['ready', 'cut-over']],
    ['cutover', 'cut-over.', ['cut-over']],
    ['cleanup', 'cleanup.', ['cleanup', 'done']],
    ['cleanup', 'done.', ['done']],
  ];

/** The last line of each goal. */
const ENDS: Readonly<Record<string, string>> = {
  run: 'ready.',
  abort: 'aborted.',
  cutover: 'cut-over.',
  cleanup: 'done.',
};

/** What each writer was told of last. */
class Acknowledged {
  private readonly last = new Map<string, number>();
  private readonly under = new Map<string, number>();
  next = 1;

  /** What a process wrote; of each writer one more may have been on its way. */
  take(lines: readonly string[]): void {
    this.under.clear();
    const reached = new Map<number, number>();
    for (const line of lines) {
      const match = /^write (\d+) (\d+)\.$/.exec(line);
      if (match === null) continue;
      const [id, n] = [Number(match[1]), Number(match[2])];
      this.last.set(keyOf(id, n), n);
      reached.set(id, n);
    }
    let end = this.next;
    for (let id = 0; id < WRITERS; id++) {
      const n = (reached.get(id) ?? this.next - 1) + 1;
      this.under.set(keyOf(id, n), n);
      end = Math.max(end, n);
    }
    this.next = end + 1;
  }

  get size(): number {
    return this.last.size;
  }

  async check(db: Database, target: typeof Old | typeof New, where: string): Promise<void> {
    const rows = await db
      .repository(target as typeof Old)
      .find({}, { fullScan: true })
      .all();
    const found = new Map(rows.map(({ id, value }) => [id, value]));
    expect(found.size, where).toBe(rows.length);
    for (let i = 0; i < FILLED; i++) expect(found.get(`filled-${i}`), where).toBe(i);
    for (let id = 0; id < WRITERS; id++) {
      for (let k = 0; k < KEYS; k++) {
        const key = keyOf(id, k);
        const value = found.get(key);
        if (value === this.under.get(key)) this.last.set(key, value!);
        expect(value, `${where}: ${key}`).toBe(this.last.get(key));
      }
    }
    this.under.clear();
  }
}

async function cells(db: Database, target: typeof Old | typeof New): Promise<string[]> {
  const versions = await db
    .repository(target as typeof Old)
    .find({}, { fullScan: true })
    .all();
  return versions.map(({ id, value }) => `${id}=${value}`).sort();
}

test('a process that is killed in any state of a change of keys loses nothing, and the change goes on', async () => {
  const random = seededRandom(17);
  for (let round = 0; round < ROUNDS && (round === 0 || mayGoOn()); round++) {
    const folder = mkdtempSync(join(tmpdir(), 'rowan-rekey-kill-'));
    try {
      const known = new Acknowledged();
      const reader = new Reader(Old, [Old, New]);
      const filled = await openOrders(folder, 'inline');
      await filled
        .repository(Old)
        .putMany(Array.from({ length: FILLED }, (_, i) => ({ id: `filled-${i}`, value: i })));
      await filled.close();
      for (const [goal, line, states] of KILLS) {
        const written = goal === 'cleanup' ? New : Old;
        const child = runScript('test/rekey/rekeying-process.ts', [
          folder,
          String(known.next),
          written === New ? 'New' : 'Old',
          goal,
        ]);
        // A process before may have come further than to where it was killed.
        await child.line((each) => each === line || each === ENDS[goal]);
        await child.count(child.lines.length + Math.floor(random() * 40));
        child.kill();
        expect(await child.exit).toBe('SIGKILL');
        known.take(child.lines);
        const db = await openOrders(folder, 'inline');
        const where = `round ${round}, ${goal} killed at ${line}`;
        const state = (await db.rekey(Old, New).status())?.state;
        await known.check(db, written, where);
        await reader.check(db, written, where);
        // The figures of the layout that fills are those of the rows that it has.
        for (const each of [Old, New]) await checkTotals(db, each, where);
        if (['ready', 'cut-over'].includes(state!))
          expect(await cells(db, New)).toEqual(await cells(db, Old));
        expect(states, where).toContain(state);
        await db.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
});
