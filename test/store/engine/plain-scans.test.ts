/**
 * Scans of whole families take a short way of their own (`PlainScanner`). Whatever the store looks like they give what
 * a scan gives that goes the long way, as one with a batch does.
 */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import {
  Delete,
  Put,
  RawRow,
  type Result,
  Scan,
  type SyncResultScanner,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';

const ROWS = 40;
const rowName = (index: number): string => `row-${String(index).padStart(2, '0')}`;

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ kind: fc.constant('put' as const), row: fc.nat(ROWS - 1), at: fc.nat(3) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), row: fc.nat(ROWS - 1), at: fc.nat(3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('many' as const), row: fc.nat(ROWS - 9), at: fc.nat(3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('flush' as const), row: fc.constant(0), at: fc.constant(0) }),
  },
);

const bounds = fc.record({
  start: fc.option(fc.nat(ROWS - 1), { nil: undefined }),
  stop: fc.option(fc.nat(ROWS - 1), { nil: undefined }),
  inclusive: fc.boolean(),
  limit: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  family: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
});

function makeScan(of: typeof bounds extends fc.Arbitrary<infer T> ? T : never): Scan {
  const scan = new Scan().setLimit(of.limit);
  if (of.start !== undefined) scan.withStartRow(rowName(of.start), of.inclusive);
  if (of.stop !== undefined) scan.withStopRow(rowName(of.stop), of.inclusive);
  if (of.family !== undefined) scan.addFamily(of.family);
  return scan;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

function told(result: Result): string[] {
  return result.cells.map((cell) =>
    [text(cell.row), cell.family, text(cell.qualifier), cell.timestamp, text(cell.value)].join('/'),
  );
}

function readAll(scanner: SyncResultScanner): string[][] {
  return [...scanner].map(told);
}

function readRaw(table: SyncTable, scan: Scan): string[][] {
  const raw = new RawRow();
  const scanner = table.scanSync(scan);
  const rows: string[][] = [];
  while (scanner.nextRaw!(raw)) rows.push(told(raw.toResult()));
  return rows;
}

it('gives what a scan on the long way gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 120 }),
      fc.array(bounds, { minLength: 3, maxLength: 3 }),
      run,
    ),
    { numRuns: scaled(30, 300, 3000) },
  );
});

it('scans what it was asked for, though the scan is changed for another meanwhile', async () => {
  const engine = await openEmbedded('/db', { fileSystem: new MemoryFileSystem() });
  await engine.admin.createTable(tableDescriptor('t', { a: {} }));
  const table = engine.table('t');
  for (let row = 0; row < ROWS; row++) await table.put(new Put(rowName(row)).addColumn('a', 'c', `${row}`));
  const scan = new Scan().withStartRow(rowName(5)).withStopRow(rowName(9));
  const scanner = table.scanSync(scan);
  scan.withStartRow(rowName(20)).setLimit(2);
  const first = scanner.next();
  scan.withStopRow(rowName(30)).addFamily('a').readVersions(3);
  expect([first!, ...scanner].map(({ row }) => text(row))).toEqual([5, 6, 7, 8].map(rowName));
  await engine.close();
});

it('goes on where it is when many rows have markers', async () => {
  const steps = Array.from({ length: ROWS }, (_, row) => [
    { kind: 'put' as const, row, at: 1 },
    { kind: row % 3 === 0 ? ('flush' as const) : ('put' as const), row, at: 0 },
    { kind: row % 2 === 0 ? ('delete' as const) : ('put' as const), row, at: row % 4 },
  ]).flat();
  const open = { start: undefined, stop: undefined, inclusive: true, limit: undefined, family: undefined };
  await run(steps, [open, { ...open, limit: 20 }, { ...open, start: 3, stop: 33 }]);
});

async function run(
  steps: readonly { kind: 'put' | 'delete' | 'many' | 'flush'; row: number; at: number }[],
  scans: readonly Parameters<typeof makeScan>[0][],
): Promise<void> {
  const engine = await openEmbedded('/db', { fileSystem: new MemoryFileSystem() });
  try {
    await engine.admin.createTable(tableDescriptor('t', { a: {}, b: { versions: 2 } }), [
      Buffer.from(rowName(ROWS / 2)),
    ]);
    const table = engine.table('t');
    for (const { kind, row, at } of steps) {
      if (kind === 'flush') await engine.admin.flush('t');
      else if (kind === 'delete') await table.delete(deleteOf(row, at));
      else if (kind === 'put') await table.put(putOf(row, at));
      else for (let next = row; next < row + 9; next++) await table.put(putOf(next, at));
    }
    for (const each of scans) {
      const expected = readAll(table.scanSync(makeScan(each).setBatch(1000)));
      expect(readAll(table.scanSync(makeScan(each)))).toEqual(expected);
      expect(readRaw(table, makeScan(each))).toEqual(expected);
    }
  } finally {
    await engine.close();
  }
}

function putOf(row: number, at: number): Put {
  const put = new Put(rowName(row));
  for (let column = 0; column <= at; column++) put.addColumn('a', `c${column}`, `${row}.${column}`);
  return at % 2 === 0 ? put : put.addColumn('b', 'x', `${row}`);
}

function deleteOf(row: number, at: number): Delete {
  const del = new Delete(rowName(row));
  if (at === 0) return del;
  return at === 1 ? del.addFamily('b') : del.addColumns('a', `c${at}`);
}
