/** `rowan copy`, `verify`, `export`, `import` and `job run` between a store and Bigtable, as processes that may be killed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import type { BigtableOptions } from '../../src/bigtable/options.js';
import { connectBigtable } from '../../src/database/bigtable.js';
import { openEmbedded } from '../../src/store/engine.js';
import { type Engine, Increment, Put, tableDescriptor } from '../../src/table/index.js';
import { backupTables } from '../../src/tools/backup.js';
import { copyTable } from '../../src/tools/copy.js';
import { restoreTables } from '../../src/tools/restore.js';
import { verifyTables } from '../../src/tools/verify.js';
import { Page, Visit } from '../cli/fixtures/job.js';
import { run } from '../cli/run.js';
import { runScript } from '../crash/run-script.js';
import { seededRandom } from '../crash/seeded-random.js';
import { type CellChange, cellsOf, changes, fill } from '../job/tools/random-table.js';
import { scaled } from '../proof/scale.js';
import { carryOver } from './carried.js';
import { freshInstance } from './connect.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/job.js', import.meta.url));

let folder: string;
const before = process.env['BIGTABLE_EMULATOR_HOST'];
beforeAll(() => {
  process.env['BIGTABLE_EMULATOR_HOST'] = inject('bigtable');
});
afterAll(() => {
  if (before === undefined) delete process.env['BIGTABLE_EMULATOR_HOST'];
  else process.env['BIGTABLE_EMULATOR_HOST'] = before;
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-bigtable-'));
  return () => rm(folder, { recursive: true, force: true });
});

const placeOf = ({ projectId, instanceId }: BigtableOptions): string => `bigtable:${projectId}/${instanceId}`;

/** Runs a command of `rowan` in this process. */
async function rowan(...args: string[]): Promise<{ readonly code: number; readonly out: string }> {
  const { code, out, err } = await run(...args);
  if (code > 1 || out === '') throw new Error(err);
  return { code, out };
}

async function withStore<T>(path: string, use: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEmbedded(path, { durability: 'ASYNC_WAL', background: 'inline' });
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

/** Cells of single lives are refused by Bigtable; all other changes there are. */
const lasting = fc.array(
  changes.map((change): CellChange => (change.kind === 'ending' ? { ...change, kind: 'put' } : change)),
  { minLength: 30, maxLength: 120 },
);

describe('tools between a store and Bigtable', () => {
  it('carry what readers see, whatever was put and deleted, there and back', async () => {
    for (const all of fc.sample(lasting, scaled(6, 40, 400))) {
      const there = await connectBigtableEngine(freshInstance());
      const [from, back] = [join(folder, 'from'), join(folder, 'back')];
      try {
        await withStore(from, async (engine) => {
          await fill(engine, all);
          await copyTable({ engine, table: 't' }, { engine: there, table: 't' }, { create: true });
          const { rows, counters } = await verifyTables(
            { engine, table: 't' },
            { engine: there, table: 't' },
          );
          expect(counters, JSON.stringify(all)).toEqual(rows === 0 ? {} : { rows, equal: rows });
          expect(await cellsOf(there, 't', false)).toEqual(await cellsOf(engine, 't', false));
        });
        await withStore(back, async (engine) => {
          await copyTable({ engine: there, table: 't' }, { engine, table: 't' }, { create: true });
          // Nothing of Bigtable is a marker: raw reads of both are the same.
          expect(await cellsOf(engine)).toEqual(await cellsOf(there));
        });
      } finally {
        await there.close();
        await rm(from, { recursive: true, force: true });
        await rm(back, { recursive: true, force: true });
      }
    }
  });

  it('carry every kind of column: entities and counters are the same', async () => {
    const there = await connectBigtableEngine(freshInstance());
    await withStore(join(folder, 'from'), (engine) => carryOver(engine, there));
    await there.close();
  });

  it('restore a backup of a store to Bigtable, and one of Bigtable to a store', async () => {
    const there = await connectBigtableEngine(freshInstance());
    await withStore(join(folder, 'from'), async (engine) => {
      await fill(engine, fc.sample(lasting, 1)[0]!);
      await backupTables(engine, join(folder, 'backup'));
      await restoreTables(there, join(folder, 'backup'));
      expect(await cellsOf(there, 't', false)).toEqual(await cellsOf(engine, 't', false));
    });
    await backupTables(there, join(folder, 'back'));
    await withStore(join(folder, 'to'), async (engine) => {
      await restoreTables(engine, join(folder, 'back'));
      expect(await cellsOf(engine, 't')).toEqual(await cellsOf(there));
    });
    await there.close();
  });

  it('are commands: copy, verify, count, export and import take bigtable:project/instance', async () => {
    const store = join(folder, 'store');
    await withStore(store, async (engine) => {
      await engine.admin.createTable(tableDescriptor('t', { f: { versions: 3 } }));
      const table = engine.table('t');
      for (let row = 0; row < 50; row++) {
        await table.put(new Put(`r${row}`).addColumn('f', 'q', Buffer.of(row, 0, 255)));
        await table.increment(new Increment(`r${row}`).addColumn('f', 'n', 2n ** 40n + BigInt(row)));
      }
    });
    const instance = freshInstance();
    const place = placeOf(instance);
    expect(await rowan('copy', store, 't', place, 'u', '--create')).toMatchObject({ code: 0 });
    expect(await rowan('verify', store, 't', place, 'u')).toMatchObject({ code: 0 });
    expect((await rowan('count', place, 'u', '--json')).out).toContain('50');
    const files = join(folder, 'files');
    await rowan('export', place, 'u', files);
    const other = join(folder, 'other');
    await rowan('import', other, files, 't', '--create');
    expect(await rowan('verify', place, 'u', other, 't', '--raw')).toMatchObject({ code: 0 });
    // A counter of the store counts on in Bigtable, and the difference is found and mended.
    const engine = await connectBigtableEngine(instance);
    const counted = await engine.table('u').increment(new Increment('r7').addColumn('f', 'n', 1n));
    expect(Buffer.from(counted.getValue('f', 'n')!).readBigInt64BE()).toBe(2n ** 40n + 8n);
    await engine.close();
    expect(await rowan('verify', store, 't', place, 'u')).toMatchObject({ code: 1 });
    expect(await rowan('copy', place, 'u', store, 't')).toMatchObject({ code: 0 });
    expect(await rowan('verify', place, 'u', store, 't')).toMatchObject({ code: 0 });
  });

  it.each(['bigtable:', 'bigtable:p', 'bigtable:p/i/', 'bigtable:p/i/a/b'])('refuse "%s"', async (place) => {
    expect(await run('count', place, 't')).toMatchObject({
      code: 1,
      err: expect.stringContaining('bigtable:project/instance'),
    });
  });
});

describe('an export and an import by processes that are killed', () => {
  it('carry every cell', async () => {
    const instance = freshInstance();
    const place = placeOf(instance);
    const engine = await connectBigtableEngine(instance);
    const splits = [1, 2, 3].map((n) => Buffer.from(`r${n}`));
    for (const name of ['t', 'u'])
      await engine.admin.createTable(tableDescriptor(name, { f: { versions: 3 } }), splits);
    const rows = scaled(2000, 8000, 40_000);
    const puts = Array.from({ length: rows }, (_, i) =>
      new Put(`r${i % 4}/${i}`).addColumn('f', 'a', `${i}`, 5).addColumn('f', 'a', Buffer.alloc(i % 50), 3),
    );
    for (let at = 0; at < rows; at += 500) await engine.table('t').putAll(puts.slice(at, at + 500));
    const random = seededRandom(33);
    const files = join(folder, 'files');
    for (const [tool, table] of [
      ['export', 't'],
      ['import', 'u'],
    ] as const) {
      // The turn is halved until it comes before the end.
      let within = 400;
      for (let kills = 0; kills < 2; ) {
        const turn = 1 + Math.floor(random() * within);
        const ended = await runScript('test/hbase/tool-process.ts', [tool, place, table, files, String(turn)])
          .exit;
        expect(['SIGKILL', 0]).toContain(ended);
        if (ended === 'SIGKILL') kills++;
        else within = Math.max(1, within >> 1);
      }
      const script = runScript('test/hbase/tool-process.ts', [tool, place, table, files, '0']);
      expect(await script.exit, script.errors()).toBe(0);
    }
    const { counters } = await verifyTables({ engine, table: 't' }, { engine, table: 'u' });
    expect(counters).toEqual({ rows, equal: rows });
    await engine.close();
  });
});

describe('a job of several processes', () => {
  const living = new Set<ChildProcess>();
  afterAll(() => {
    for (const child of living) child.kill('SIGKILL');
  });

  it('counts each visit once', async () => {
    const instance = freshInstance();
    const db = await connectBigtable({ ...instance, entities: [Page, Visit], tables: 'create' });
    const naive = new Map<string, number>();
    const visits = Array.from({ length: scaled(2000, 10_000, 40_000) }, (_, i) => {
      const page = `/${(i * 7919) % 101}`;
      naive.set(page, (naive.get(page) ?? 0) + 1);
      return { id: `v${i % 10}${i}`, page };
    });
    await db.repository(Visit).putMany(visits);
    const shard = async (index: number): Promise<readonly [number | null, string]> => {
      const args = [
        'job',
        'run',
        placeOf(instance),
        MODULE,
        '--shard',
        `${index}/3`,
        '--lease',
        '15',
        '--json',
      ];
      const child = spawn(process.execPath, ['build/src/cli/main.js', ...args], { cwd: ROOT });
      living.add(child);
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data: Buffer) => (output += data.toString()));
      const [code] = (await once(child, 'close')) as [number | null];
      living.delete(child);
      return [code, output];
    };
    for (const [code, output] of await Promise.all([0, 1, 2].map(shard))) {
      expect(code, output).toBe(0);
      expect(JSON.parse(output)).toMatchObject({ job: 'page-visits', counters: { visits: visits.length } });
    }
    const pages = await db.repository(Page).find({}, { fullScan: true }).all();
    expect(new Map(pages.map(({ page, visits: count }) => [page, count]))).toEqual(naive);
    await db.close();
  });
});
