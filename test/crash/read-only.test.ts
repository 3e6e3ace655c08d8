/**
 * A process writes, flushes, merges, splits and rolls its log until it is killed, and is started again, while others follow its
 * store. Each look shows every write that was acknowledged before it began, no batch in halves, no file missing, and nothing that
 * an earlier look has shown is gone.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { coreOf, openEmbedded } from '../../src/store/engine.js';
import { openReadOnly, type ReadOnlyStore } from '../../src/store/read-only/read-only-store.js';
import { Scan } from '../../src/table/index.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { runScript, type Script } from './run-script.js';
import { seededRandom } from './seeded-random.js';

const LIVES = scaled(2, 4, 800);
const WORKLOADS = scaled(['files'], ['files', 'batches'], ['files', 'batches']);

/** What was acknowledged so far, of all lives. */
class Acknowledged {
  readonly rows = new Set<string>();
  readonly counts = new Map<string, number>();
  private taken = 0;

  /** The lines of the present life that have come since. */
  take({ lines }: Script): void {
    for (; this.taken < lines.length; this.taken++) {
      const match = /^(row|count|batch) (\d+) (\d+)\.$/.exec(lines[this.taken]!);
      if (match === null) continue;
      const [, kind, id, n] = match;
      if (kind === 'row') this.rows.add(`row-${id}-${n}`);
      else if (kind === 'batch') for (const end of ['x', 'y']) this.rows.add(`batch-${id}-${n}-${end}`);
      else this.counts.set(`count-${id}`, (this.counts.get(`count-${id}`) ?? 0) + 1);
    }
  }

  begin(): void {
    this.taken = 0;
  }
}

/** What a follower has shown so far. */
class Shown {
  private readonly rows = new Map<string, string>();
  private readonly counts = new Map<string, bigint>();
  looks = 0;

  /** Looks, and holds what is seen against what was known before. */
  async look(store: ReadOnlyStore, known: Acknowledged): Promise<void> {
    const least = new Map(known.counts);
    const expected = [...known.rows];
    await store.refresh();
    if (!(await store.admin.tableExists('t'))) {
      expect(expected).toEqual([]);
      return;
    }
    this.looks++;
    const rows = new Map<string, string>();
    for await (const result of store.table('t').scan(new Scan())) {
      const row = toLatin1(result.row);
      const value = result.getValue('b', 'v');
      if (row.startsWith('count')) {
        const count = Buffer.from(result.getValue('b', 'c')!).readBigInt64BE();
        expect(count).toBeGreaterThanOrEqual(this.counts.get(row) ?? 0n);
        expect(count).toBeGreaterThanOrEqual(BigInt(least.get(row) ?? 0));
        this.counts.set(row, count);
      } else {
        if (value === undefined || result.getValue('a', 'v') === undefined)
          throw new Error(`${row} is half there`);
        rows.set(row, toLatin1(value));
      }
    }
    for (const row of expected)
      if (!rows.has(row)) throw new Error(`${row} was acknowledged and is not there`);
    for (const [row, value] of this.rows)
      if (rows.get(row) !== value) throw new Error(`${row} is not what it was`);
    for (const row of rows.keys()) {
      const other = row.endsWith('x') ? `${row.slice(0, -1)}y` : `${row.slice(0, -1)}x`;
      if (row.startsWith('batch') && !rows.has(other)) throw new Error(`${row} is there without ${other}`);
      this.rows.set(row, rows.get(row)!);
    }
  }
}

it.each(WORKLOADS)(
  'followers of a process that is killed again and again see what it acknowledged (%s)',
  async (workload) => {
    const folder = mkdtempSync(join(tmpdir(), 'rowan-follow-'));
    const random = seededRandom(4711);
    const known = new Acknowledged();
    const [steady, shown] = [new Shown(), new Shown()];
    let reader: ReadOnlyStore | undefined;
    let kills = 0;
    try {
      for (let life = 0; life < LIVES && (life < 2 || mayGoOn(workload === 'files' ? 0.5 : 1)); life++) {
        const durability = life % 2 === 0 ? 'SYNC_WAL' : 'ASYNC_WAL';
        const first = String(1 + life * 100_000);
        known.begin();
        // With pauses: every look reads all rows, so without them the rows would grow faster than they are read.
        const writer = runScript('test/crash/kill-writer.ts', [folder, first, durability, workload, '5']);
        await writer.line((line) => line === 'open.');
        reader ??= await openReadOnly(folder);
        const looks = scaled(2, 6, 6) + Math.floor(random() * 3);
        for (let i = 0; i < looks; i++) {
          await writer.count(writer.lines.length + Math.floor(random() ** 2 * 120));
          known.take(writer);
          await steady.look(reader, known);
          if (i % 3 > 0) continue;
          await using passing = await openReadOnly(folder);
          await passing.verify();
          await shown.look(passing, known);
        }
        // A look that is under way when the process dies goes on without it.
        const dying = random() < 0.5 ? reader.refresh() : undefined;
        writer.kill();
        expect(await writer.exit).toBe('SIGKILL');
        kills++;
        await dying;
        known.take(writer);
        await steady.look(reader, known);
      }
      record('looks beside a killed writer', { kills, looks: steady.looks + shown.looks });
    } finally {
      await reader?.close();
      rmSync(folder, { recursive: true });
    }
  },
);

it('a reader that is killed is forgotten, and its files go', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-reader-'));
  try {
    await using writer = await openEmbedded(folder, { background: 'inline', automatic: false });
    const { readers } = coreOf(writer);
    const reader = runScript('test/crash/follow-reader.ts', [folder]);
    await reader.line((line) => line === 'open');
    expect(readers.counts().readers).toBe(1);
    reader.kill();
    await reader.exit;
    while (readers.counts().readers > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(readers.counts().files).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
