/** Results whose cells are made when somebody looks, against those of the general scanner, which makes them at once. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import {
  Cell,
  Delete,
  type Engine,
  filters,
  Get,
  Put,
  Result,
  Scan,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

const NOW = 1_000_000;
const KIB = 1024;

let folder: string;
let engine: Engine;
let number = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-packed-'));
  engine = await openEmbedded(folder, {
    clock: () => NOW,
    background: 'inline',
    durability: 'SKIP_WAL',
    automatic: false,
  });
});

afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

async function newTable(): Promise<SyncTable> {
  const name = `t${number++}`;
  await engine.admin.createTable(
    tableDescriptor(name, {
      d: {},
      e: { versions: 3, keepDeletedCells: 'TRUE' },
      p: { dataBlockEncoding: 'FAST_DIFF', compression: 'GZ' },
      r: { dataBlockEncoding: 'ROW_INDEX_V1', blockSize: KIB },
      t: { ttl: 500 },
    }),
  );
  return engine.table(name) as SyncTable;
}

interface Step {
  readonly kind: 'put' | 'deleteRow' | 'deleteFamily' | 'deleteColumn' | 'deleteVersion' | 'flush';
  readonly row: string;
  readonly columns: readonly (readonly [family: string, qualifier: string, length: number])[];
  readonly time: number;
  readonly ttl: boolean;
}

const column = fc.tuple(
  fc.constantFrom('d', 'd', 'd', 'e', 'p', 'r', 't'),
  fc.constantFrom('', 'a', 'b', 'bb', 'c', 'd'),
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(0, 1, 30, 100, 300) },
    { weight: 1, arbitrary: fc.constantFrom(3000, 5000, 70_000) },
  ),
);

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant('put' as const) },
    { weight: 1, arbitrary: fc.constantFrom('deleteRow', 'deleteFamily', 'deleteColumn', 'deleteVersion') },
    { weight: 2, arbitrary: fc.constant('flush' as const) },
  ),
  row: fc.constantFrom('a', 'a', 'ab', 'b', 'c'),
  columns: fc.array(column, { minLength: 1, maxLength: 8 }),
  time: fc.integer({ min: 1, max: 9 }),
  ttl: fc.boolean(),
});

async function apply(table: SyncTable, { kind, row, columns, time, ttl }: Step, at: number): Promise<void> {
  // Around the time at which the family `t` has expired; some cells have the same time, some come out of order.
  const timestamp = NOW - 1000 + time * 100;
  const [family, qualifier] = columns[0]!;
  if (kind === 'flush') await engine.admin.flush(table.name);
  else if (kind === 'deleteRow') await table.delete(new Delete(row, timestamp));
  else if (kind === 'deleteFamily') await table.delete(new Delete(row).addFamily(family, timestamp));
  else if (kind === 'deleteColumn')
    await table.delete(new Delete(row).addColumns(family, qualifier, timestamp));
  else if (kind === 'deleteVersion')
    await table.delete(new Delete(row).addColumn(family, qualifier, timestamp));
  else {
    const put = new Put(row);
    for (const [name, column, length] of columns)
      put.addColumn(name, column, Buffer.alloc(length, `${at}-${column}.`), timestamp);
    await table.put(ttl && at % 7 === 0 ? put.setTtl(700) : put);
  }
}

const text = (bytes: Uint8Array, start = 0, end = bytes.length): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');

const shown = (cell: Cell): unknown => [
  text(cell.row),
  cell.family,
  text(cell.qualifier),
  cell.timestamp,
  cell.type,
  text(cell.value),
];

/** What a result tells without its cells. */
function valuesOf(result: Result): unknown[] {
  const values: unknown[] = [];
  result.forEachValue((bytes, start, end, family, qualifier) =>
    values.push([family, text(qualifier), text(bytes, start, end)]),
  );
  return values;
}

/** Holds a result against one whose cells were made at once. */
function compare(result: Result, eager: Result): void {
  expect(result.isEmpty).toBe(eager.isEmpty);
  expect(valuesOf(result)).toEqual(valuesOf(eager));
  const newest = (from: Result): unknown =>
    eager.cells.map(({ family, qualifier }) => text(from.getValue(family, qualifier)!)).toReversed();
  expect(newest(result)).toEqual(newest(eager));
  expect(result.getValue('d', 'none')).toBeUndefined();
  expect(result.cells.map(shown)).toEqual(eager.cells.map(shown));
  expect(result.cells.every((cell) => cell.row === result.row)).toBe(true);
}

/** Reads that a filter which passes everything leaves to the general scanner. */
const ALL = filters.qualifier('NOT_EQUAL', 'no column has this name');

test('cells made later are those made at once, whatever was put, deleted, expired and flushed', async () => {
  let packed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
      const table = await newTable();
      for (const [at, one] of steps.entries()) await apply(table, one, at);
      const gets = (row: string): Get[] => [
        new Get(row),
        new Get(row).addFamily('d').addFamily('r'),
        new Get(row).addColumn('d', 'a').addColumn('d', 'bb').addColumn('p', 'a'),
        new Get(row).addColumn('d', 'a'),
      ];
      for (const row of ['a', 'ab', 'b', 'c'])
        for (const [at, get] of gets(row).entries()) {
          const result = table.getSync(get);
          if (!Object.hasOwn(result, 'cells')) packed++;
          compare(result, table.getSync(gets(row)[at]!.setFilter(ALL)));
        }
      const scans = (): Scan[] => [
        new Scan(),
        new Scan().addFamily('d'),
        new Scan().addColumn('d', 'a').addColumn('r', 'b'),
        new Scan().withStartRow('ab').setLimit(2),
      ];
      for (const [at, scan] of scans().entries()) {
        // All before any is compared: none changes when the next one is read.
        const results = [...table.scanSync(scan)];
        const eager = [...table.scanSync(scans()[at]!.setFilter(ALL))];
        expect(results.length).toBe(eager.length);
        for (const [i, result] of results.entries()) compare(result, eager[i]!);
      }
    }),
    { numRuns: scaled(8, 100, 1000) },
  );
  expect(packed).toBeGreaterThan(10);
}, 600_000);

/** Rows of three columns in a memstore and in a file, and rows that both have. */
async function rowsEverywhere(): Promise<{ table: SyncTable; rows: readonly string[] }> {
  const table = await newTable();
  const put = (row: string, ...qualifiers: string[]): Promise<void> => {
    const made = new Put(row);
    for (const qualifier of qualifiers) made.addColumn('d', qualifier, `${row} ${qualifier}`.padEnd(100));
    return table.put(made);
  };
  for (const row of ['file-1', 'file-2', 'file-3', 'both-1', 'both-2']) await put(row, 'a', 'b', 'c');
  await engine.admin.flush(table.name);
  for (const row of ['both-1', 'both-2', 'memory-1', 'memory-2']) await put(row, 'b');
  for (const row of ['memory-1', 'memory-2']) await put(row, 'a', 'c');
  return { table, rows: ['both-1', 'both-2', 'file-1', 'file-2', 'file-3', 'memory-1', 'memory-2'] };
}

test('a result gives the same cells at every call, and is a result as any other', async () => {
  const { table, rows } = await rowsEverywhere();
  for (const row of rows) {
    const result = table.getSync(new Get(row));
    expect(result).toBeInstanceOf(Result);
    const { cells } = result;
    expect(result.cells).toBe(cells);
    expect(result.getLatest('d', 'b')).toBe(cells[1]);
    expect(result.getColumnCells('d', 'c')).toEqual([cells[2]]);
    expect(result.getValue('d', 'a')).toBe(cells[0]!.value);
    expect(cells[0]).toBeInstanceOf(Cell);
    const made = new Result(result.row, cells);
    expect(JSON.stringify(table.getSync(new Get(row)))).toBe(JSON.stringify(made));
    expect(inspect(table.getSync(new Get(row)))).toBe(inspect(made));
    expect([result.partial, result.isStale, result.isEmpty]).toEqual([false, false, false]);
  }
});

test('what callers do to the bytes of a result changes neither the store nor other results', async () => {
  const { table, rows } = await rowsEverywhere();
  const all = (): Result[] => [
    ...rows.map((row) => table.getSync(new Get(row))),
    ...table.scanSync(new Scan()),
    ...table.scanSync(new Scan().addColumn('d', 'b')),
  ];
  const expected = all().map(({ cells }) => cells.map(shown));
  const untouched = all();
  const spoiled = all();
  const getting = new Get(Buffer.from('file-1'));
  const gotten = table.getSync(getting);
  getting.row.fill(0xff);
  for (const result of spoiled) {
    result.getValue('d', 'b')!.fill(0xff);
    for (const { value, qualifier } of result.cells) {
      value.fill(0xff);
      qualifier.fill(0xff);
    }
    result.row.fill(0xff);
  }
  expect(all().map(({ cells }) => cells.map(shown))).toEqual(expected);
  expect(untouched.map(({ cells }) => cells.map(shown))).toEqual(expected);
  expect(Buffer.from(gotten.row).toString()).toBe('file-1');
});

test('results that are kept hold no block, no memstore, and no value that is much larger', async () => {
  const table = await newTable();
  const rows = Array.from({ length: 2000 }, (_, i) => `row-${10_000 + i}`);
  const putOf = (row: string): Put =>
    new Put(row).addColumn('d', 'a', row.padEnd(50)).addColumn('d', 'b', row.padEnd(50));
  await table.putAll(rows.map(putOf));
  const buffersOf = (results: readonly Result[]): Set<ArrayBufferLike> => {
    const buffers = new Set<ArrayBufferLike>();
    for (const result of results) {
      buffers.add(result.row.buffer);
      result.forEachValue((bytes) => void buffers.add(bytes.buffer));
      for (const { value, qualifier } of result.cells) buffers.add(value.buffer).add(qualifier.buffer);
    }
    return buffers;
  };
  for (const place of ['memstore', 'file']) {
    // One row of each block of the file.
    const some = rows.filter((_, i) => i % 200 === 0);
    const kept = some.flatMap((row) => [
      table.getSync(new Get(row)),
      table.scanSync(new Scan().withStartRow(row)).next()!,
    ]);
    const buffers = [...buffersOf(kept)];
    const bytes = buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(
      buffers.every((buffer) => buffer instanceof ArrayBuffer),
      place,
    ).toBe(true);
    expect(bytes, place).toBeLessThan(300 * KIB);
    await engine.admin.flush(table.name);
  }
  for (const [large, others] of [
    [KIB * KIB, 1],
    [4000, 100],
  ] as const) {
    const row = `large-${large}`;
    const put = new Put(row).addColumn('d', 'small', 'x');
    for (let i = 0; i < others; i++) put.addColumn('d', `z${i}`, Buffer.alloc(large, 1));
    await table.put(put);
    for (const place of ['memstore', 'file']) {
      const small = table.getSync(new Get(row)).getValue('d', 'small')!;
      expect(small.buffer.byteLength, place).toBeLessThanOrEqual(64 * KIB);
      await engine.admin.flush(table.name);
    }
  }
});
