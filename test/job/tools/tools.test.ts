import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../../decorators/index.js';
import { bytes, text } from '../../../src/codec/index.js';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import {
  type Engine,
  Put,
  type Result,
  type ResultScanner,
  Scan,
  type Table,
} from '../../../src/table/index.js';
import { copyTable, writeRows } from '../../../src/tools/copy.js';
import { countCells, countRows } from '../../../src/tools/count.js';
import { exportTable } from '../../../src/tools/export.js';
import { hashTable } from '../../../src/tools/hash.js';
import { importTable } from '../../../src/tools/import.js';
import { verifyTables } from '../../../src/tools/verify.js';
import { scaled } from '../../proof/scale.js';
import { overriding, stepless } from '../../proof/stepless.js';
import { workerOn } from '../support.js';
import { cellsOf, changes, fill, rowName } from './random-table.js';
import { onStage, SMALL, stageOfEachTest } from './support.js';

const stage = stageOfEachTest();

test('a table that is exported and imported has every version and marker, whoever died on the way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      async (all, exportDeaths, importDeaths) => {
        await onStage(async ({ engine: from, other: into, folder: own }) => {
          await fill(from, all);
          for (const lives of exportDeaths) {
            await exportTable(workerOn(from, { lives }).engine, 't', own, { run: SMALL }).catch(() => 0);
          }
          const exported = await exportTable(from, 't', own, { run: SMALL });
          for (const lives of importDeaths) {
            await importTable(workerOn(into, { lives }).engine, own, {
              create: true,
              run: SMALL,
            }).catch(() => 0);
          }
          const imported = await importTable(into, own, { create: true, run: SMALL });
          expect(await cellsOf(into)).toEqual(await cellsOf(from));
          expect(imported.counters).toEqual(exported.counters);
          expect(await into.admin.getDescriptor('t')).toEqual(await from.admin.getDescriptor('t'));
          const { counters } = await verifyTables(
            { engine: from, table: 't' },
            { engine: into, table: 't' },
            { raw: true, run: SMALL },
          );
          expect(counters['equal'] ?? 0).toBe(counters['rows'] ?? 0);
        });
      },
    ),
    { numRuns: scaled(1, 8, 400) },
  );
});

test('a wrong option of a copy is refused before its job is recorded and its target created', async () => {
  const { engine } = stage;
  await fill(engine, []);
  const [source, target] = [
    { engine, table: 't' },
    { engine, table: 'copied' },
  ];
  for (const wrong of [
    { versions: 0 },
    { timeRange: { from: 9, to: 3 } },
    { families: ['none'] },
    { familyNames: { none: 'a' } },
  ])
    await expect(copyTable(source, target, { ...wrong, create: true })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  expect(await engine.admin.tableExists('copied')).toBe(false);
  await copyTable(source, target, { create: true, name: 'first', run: SMALL });
  const { families } = await engine.admin.getDescriptor('t');
  const renamed = { familyNames: { [families[0]!.name]: 'none' } };
  await expect(copyTable(source, target, renamed)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  expect(await copyTable(source, target, { run: SMALL })).toMatchObject({ resumed: false });
});

test('what is not a whole export, or is damaged, is refused with its place', async () => {
  await fill(
    stage.engine,
    Array.from({ length: 31 }, (_, row) => ({
      row,
      family: 'a',
      column: 'x',
      timestamp: 5,
      kind: 'put',
      value: new Uint8Array([row]),
    })),
    [],
  );
  await expect(importTable(stage.other, stage.folder, { create: true })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await exportTable(stage.engine, 't', stage.folder);
  const name = (await readdir(stage.folder)).find((file) => file.endsWith('.cells'))!;
  const whole = await readFile(join(stage.folder, name));
  for (let at = 0; at < whole.length; at += scaled(19, 1, 1)) {
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 0x10;
    await writeFile(join(stage.folder, name), damaged);
    await expect(
      importTable(stage.other, stage.folder, { create: true, name: `n${at}` }),
    ).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringContaining(name) as string,
    });
  }
  await writeFile(join(stage.folder, name), whole.subarray(0, whole.length - 1));
  await expect(importTable(stage.other, stage.folder, { create: true })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await writeFile(join(stage.folder, name), whole);
  await importTable(stage.other, stage.folder, { create: true });
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));
});

test('copies are equal, renamed families too; verify tells every difference and mends it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { maxLength: 40 }),
      fc.array(changes, { maxLength: 10 }),
      async (all, drift) => {
        await onStage(async ({ engine: from, other: into }) => {
          await fill(from, all);
          const source = { engine: from, table: 't' };
          const target = { engine: into, table: 'copied' };
          await copyTable(source, target, { create: true, run: SMALL });
          expect(await cellsOf(into, 'copied')).toEqual(await cellsOf(from));

          const table = into.table('copied');
          for (const { row, family, column, timestamp, value } of drift) {
            await table.put(new Put(rowName(row)).addColumn(family, column, value, timestamp));
          }
          const naive = differences(await cellsOf(from, 't', false), await cellsOf(into, 'copied', false));
          const told: string[] = [];
          const { counters } = await verifyTables(source, target, {
            run: SMALL,
            onDifference: ({ row, kind }) => told.push(`${Buffer.from(row).toString('hex')} ${kind}`),
          });
          expect(told.sort()).toEqual(naive);
          expect((counters['missing'] ?? 0) + (counters['extra'] ?? 0) + (counters['different'] ?? 0)).toBe(
            naive.length,
          );
        });
      },
    ),
    { numRuns: scaled(1, 8, 400) },
  );
});

test('a comparison that dies anywhere and is gone on with counts each row once', async () => {
  const rows = (numbers: readonly number[]): Put[] =>
    numbers.map((row) => new Put(rowName(row)).addColumn('a', 'x', 'v', 5));
  const all = Array.from({ length: 24 }, (_, row) => row);
  for (const { engine, without } of [
    { engine: stage.engine, without: 20 },
    { engine: stage.other, without: 12 },
  ]) {
    await fill(engine, [], []);
    await engine.table('t').putAll(rows(all.filter((row) => row !== without)));
  }
  await stage.other.table('t').put(new Put(rowName(3)).addColumn('a', 'x', 'w', 6));
  const second = { engine: stage.other, table: 't' };
  for (let lives = 1, died = true; died; lives++) {
    const options = { name: `after-${lives}`, run: SMALL };
    const { engine } = workerOn(stage.engine, { lives });
    died = await verifyTables({ engine, table: 't' }, second, options).then(
      () => false,
      () => true,
    );
    const { counters } = await verifyTables({ engine: stage.engine, table: 't' }, second, options);
    expect([lives, counters]).toEqual([lives, { rows: 23, equal: 21, missing: 1, different: 1, extra: 1 }]);
  }
});

test.each([
  ['value', { value: 'w' }],
  ['time', { timestamp: 6 }],
  ['column', { column: 'y' }],
  ['family', { family: 'b' }],
])('a row whose %s alone is another one is told', async (_, other) => {
  const put = (row: number, { family = 'a', column = 'x', timestamp = 5, value = 'v' }): Put =>
    new Put(rowName(row)).addColumn(family, column, value, timestamp);
  for (const [engine, second] of [
    [stage.engine, {}],
    [stage.other, other],
  ] as const) {
    await fill(engine, []);
    await engine.table('t').putAll([put(1, {}), put(2, second), put(3, {})]);
  }
  const { counters } = await verifyTables(
    { engine: stage.engine, table: 't' },
    { engine: stage.other, table: 't' },
  );
  expect(counters).toEqual({ rows: 3, equal: 2, different: 1 });
});

function differences(first: readonly string[], second: readonly string[]): string[] {
  const byRow = (cells: readonly string[]): Map<string, string> => {
    const rows = new Map<string, string>();
    for (const cell of cells) {
      const row = cell.slice(0, cell.indexOf(' '));
      rows.set(row, `${rows.get(row) ?? ''}\n${cell}`);
    }
    return rows;
  };
  const a = byRow(first);
  const b = byRow(second);
  const out: string[] = [];
  for (const [row, cells] of a) {
    if (!b.has(row)) out.push(`${row} missing`);
    else if (b.get(row) !== cells) out.push(`${row} different`);
  }
  for (const row of b.keys()) if (!a.has(row)) out.push(`${row} extra`);
  return out.sort();
}

test('rows for another process are written as puts, and then their markers, and become the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { maxLength: 40 }), async (all) => {
      await onStage(async ({ engine: from, other: into }) => {
        await fill(from, all);
        await fill(into, []);
        const rows: Result[] = [];
        for await (const row of from.table('t').scan(new Scan().setRaw(true).readAllVersions()))
          rows.push(row);
        const written: string[] = [];
        await writeRows(far(into.table('t'), written), rows);
        expect(await cellsOf(into)).toEqual(await cellsOf(from));
        // Never a change of several kinds, which a server makes by itself, and no put behind a marker.
        expect(written.join(' ')).toMatch(/^(put ?)*(delete ?)*$/);
      });
    }),
    { numRuns: scaled(2, 20, 400) },
  );
});

/** The table as one that does not answer in this thread; tells the kinds of what is written. */
function far(table: Table, written: string[]): Table {
  return new Proxy(table, {
    has: (target, name) => !String(name).endsWith('Sync') && Reflect.has(target, name),
    get: (target, name) => (actions: readonly { readonly kind: string }[]) => {
      written.push(...actions.map(({ kind }) => kind));
      return (Reflect.get(target, name) as (all: unknown) => unknown).call(target, actions);
    },
  });
}

test('counts rows and what they consist of', async () => {
  await fill(stage.engine, []);
  const table = stage.engine.table('t');
  for (let i = 0; i < 25; i++) {
    await table.put(new Put(rowName(i)).addColumn('a', 'x', 'v', 1).addColumn('a', 'x', 'w', 2));
    if (i % 5 === 0) await table.put(new Put(rowName(i)).addColumn('b', 'y', 'abc', 1));
  }
  expect((await countRows(stage.engine, 't')).counters).toEqual({ rows: 25 });
  expect((await countRows(stage.engine, 't', { families: ['b'] })).counters).toEqual({ rows: 5 });
  expect((await countCells(stage.engine, 't')).counters).toEqual({
    rows: 25,
    cells: 55,
    bytes: 65,
    'family:a rows': 25,
    'family:a cells': 50,
    'family:b rows': 5,
    'family:b cells': 5,
    'column:a:x rows': 25,
    'column:a:x cells': 50,
    'column:b:y rows': 5,
    'column:b:y cells': 5,
  });
  await expect(countRows(stage.engine, 'nope')).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  await expect(countRows(stage.engine, 't', { families: ['zz'] })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
});

const KIB = 1 << 10;

function sizeOf(rows: readonly Result[]): number {
  return rows.reduce(
    (sum, { cells }) => sum + cells.reduce((bytes, { value }) => bytes + value.length, 0),
    0,
  );
}

/** The engine as one whose scans end batches by size, as those of HBase do. Tells the bytes of the largest batch, of gets too, and of all of gets. */
function bySize(engine: Engine): {
  readonly engine: Engine;
  largest: number;
  readonly gets: number[];
} {
  const measured = { engine, largest: 0, gets: [] as number[] };
  const base = stepless(engine);
  const scan = (scanner: ResultScanner): ResultScanner =>
    overriding(scanner, 'nextBatch', async (count: number, most = Number.POSITIVE_INFINITY) => {
      const rows: Result[] = [];
      let size = 0;
      while (rows.length < count && size < most) {
        const row = await scanner.next();
        if (row === undefined) break;
        rows.push(row);
        size += sizeOf([row]);
      }
      measured.largest = Math.max(measured.largest, size);
      return rows;
    });
  measured.engine = overriding(base, 'table', (name: string) => {
    const table = overriding(base.table(name), 'getRaw' as keyof Table, undefined);
    const getAll = async (...args: Parameters<Table['getAll']>): Promise<Result[]> => {
      const rows = await table.getAll(...args);
      measured.gets.push(sizeOf(rows));
      measured.largest = Math.max(measured.largest, sizeOf(rows));
      return rows;
    };
    const scanned = overriding(table, 'scan', (...args: Parameters<Table['scan']>) =>
      scan(table.scan(...args)),
    );
    return overriding(scanned, 'getAll', getAll);
  });
  return measured;
}

test('large rows are read a few at a time, by tools and by queries, and all of them', async () => {
  const Big = defineEntity({
    name: 'Big',
    table: defineTable({ name: 't', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ color: c.column('d:c', text), value: c.column('d:v', bytes) }),
    indexes: { byColor: { on: [part('color')] } },
  });
  const { engine, other, folder } = stage;
  const measured = bySize(engine);
  const db = new Database(compileSchema([Big]), measured.engine, 'create');
  await db.ready();
  const rows = 120;
  for (let i = 0; i < rows; i++) {
    await db.repository(Big).put({ id: `r${i}`, color: 'red', value: new Uint8Array(100 * KIB) });
  }
  const [source, target] = [
    { engine: measured.engine, table: 't' },
    { engine: other, table: 't' },
  ];
  const counted = [
    await exportTable(measured.engine, 't', join(folder, 'export')),
    await copyTable(source, target, { create: true }),
    await verifyTables(target, source),
    await hashTable(measured.engine, 't', join(folder, 'hashes')),
    await verifyTables(source, target, { hashes: join(folder, 'hashes') }),
  ];
  expect(counted.map(({ counters }) => counters['rows'])).toEqual([rows, rows, rows, rows, rows]);
  const ids = Array.from({ length: rows }, (_, i) => `r${i}`);
  const bigs = db.repository(Big);
  for (const query of [bigs.find({}, { fullScan: true }), bigs.by('byColor').find({ color: 'red' })]) {
    const found: string[] = [];
    for await (const { id, value } of query) if (value.length === 100 * KIB) found.push(id);
    expect(found.sort()).toEqual(ids.toSorted());
  }
  expect(measured.largest).toBeLessThan(5 * KIB * KIB);
  // Of keys in a list the first request tells how large their rows are.
  measured.gets.length = 0;
  expect(await bigs.find({ id: { in: ids } }).all()).toHaveLength(rows);

  expect(measured.gets.length).toBeGreaterThan(1);
  expect(Math.max(...measured.gets.slice(1))).toBeLessThan(5 * KIB * KIB);
  await db.close();
});
