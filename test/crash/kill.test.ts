import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Scan } from '../../src/table/index.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { runScript } from './run-script.js';
import { seededRandom } from './seeded-random.js';

/** Of each workload. */
const KILLS = scaled(1, 15, 1250);

/** What was acknowledged in all lives of the writer. */
interface Acknowledged {
  readonly rows: Set<string>;
  readonly counts: Map<string, number>;
  next: number;
}

function take(acknowledged: Acknowledged, lines: readonly string[]): void {
  for (const line of lines) {
    const match = /^(row|count|batch) (\d+) (\d+)\.$/.exec(line);
    if (match === null) continue;
    const [, kind, id, n] = match;
    if (kind === 'row') acknowledged.rows.add(`row-${id}-${n}`);
    if (kind === 'batch') {
      acknowledged.rows.add(`batch-${id}-${n}-x`);
      acknowledged.rows.add(`batch-${id}-${n}-y`);
    }
    if (kind === 'count')
      acknowledged.counts.set(`count-${id}`, (acknowledged.counts.get(`count-${id}`) ?? 0) + 1);
    acknowledged.next = Math.max(acknowledged.next, Number(n) + 1);
  }
}

/** Opens the store and holds it against what was acknowledged. Returns how many rows there are. */
async function check(folder: string, acknowledged: Acknowledged): Promise<number> {
  const engine = await openEmbedded(folder, { background: 'inline', automatic: false });
  // A process that was killed early had no table yet.
  if (!(await engine.admin.tableExists('t'))) {
    expect(acknowledged.rows.size).toBe(0);
    await engine.close();
    return 0;
  }
  const missing = new Set(acknowledged.rows);
  const batches = new Map<string, number>();
  let rows = 0;
  for await (const result of engine.table('t').scan(new Scan())) {
    const row = toLatin1(result.row);
    if (row.startsWith('count')) {
      const value = Number(Buffer.from(result.getValue('b', 'c')!).readBigInt64BE());
      const least = acknowledged.counts.get(row) ?? 0;
      // Beyond the acknowledged ones, each life may have had one more on its way.
      expect(value).toBeGreaterThanOrEqual(least);
      acknowledged.counts.set(row, value);
      continue;
    }
    rows++;
    missing.delete(row);
    const a = result.getValue('a', 'v');
    const b = result.getValue('b', 'v');
    if (a === undefined || b === undefined || toLatin1(a) !== toLatin1(b))
      throw new Error(`${row} is half there`);
    if (!toLatin1(a).startsWith(`${row.split('-')[2]} `)) throw new Error(`${row} has the value of another`);
    const [kind, id, n] = row.split('-');
    if (kind === 'batch') batches.set(`${id}-${n}`, (batches.get(`${id}-${n}`) ?? 0) + 1);
  }
  expect([...missing]).toEqual([]);
  for (const [batch, count] of batches) if (count !== 2) throw new Error(`batch ${batch} is half there`);
  await engine.close();
  return rows;
}

const WORKLOADS = ['puts', 'counters', 'batches', 'files'];

it.each(WORKLOADS)(
  'a process that is killed loses nothing it acknowledged, and leaves nothing half-written (%s)',
  async (workload) => {
    const folder = mkdtempSync(join(tmpdir(), 'rowan-kill-'));
    const random = seededRandom(99);
    const acknowledged: Acknowledged = { rows: new Set(), counts: new Map(), next: 1 };
    let answers = 0;
    let kills = 0;
    const part = (WORKLOADS.indexOf(workload) + 1) / WORKLOADS.length;
    try {
      for (let life = 0; life < KILLS && (life < 5 || mayGoOn(part)); life++) {
        const durability = life % 2 === 0 ? 'SYNC_WAL' : 'ASYNC_WAL';
        const writer = runScript('test/crash/kill-writer.ts', [
          folder,
          String(acknowledged.next),
          durability,
          workload,
        ]);
        await writer.line((line) => line === 'begin.');
        // Every fifth is killed while it opens what the one before has left, at any moment of that.
        if (life % 5 === 4) await new Promise((resolve) => setTimeout(resolve, random() * 60));
        else await writer.count(2 + Math.floor(random() ** 2 * (workload === 'files' ? 300 : 1500)));
        writer.kill();
        expect(await writer.exit).toBe('SIGKILL');
        kills++;
        take(acknowledged, writer.lines);
        answers += writer.lines.length;
        await check(folder, acknowledged);
        // A row of the next life must not be one that this life had on its way.
        acknowledged.next += 10;
      }
      expect(answers).toBeGreaterThan(kills * 20);
      record('kills', { kills, 'acknowledged writes': answers });
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
