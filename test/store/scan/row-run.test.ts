/** Rows read cell by cell from their bytes (`RowRun`) against the reader of rows for every case, `PlainRow`. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashRow, lane1 } from '../../../src/bytes/bytes.js';
import { type CellCursor, SeekKey } from '../../../src/store/cursor.js';
import { PlainRow } from '../../../src/store/scan/newest-put.js';
import { CellMaker, copyRow, copyRowAhead, StoredRowBuilder } from '../../../src/store/scan/row-builder.js';
import { KnownColumns, RowRun } from '../../../src/store/scan/row-run.js';
import { type Cell, CellType, RawRow } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { cell, memstoreOf, rowAt, shown, sorted, type TestCell } from '../file/cells.js';
import { reader } from '../file/fixture.js';

const READ_POINT = 50;
const OLDEST = 3;

/** Mostly puts of a few columns. */
const someCell: fc.Arbitrary<TestCell> = fc
  .record({
    row: fc.nat(30),
    qualifier: fc.constantFrom('', 'a', 'a', 'ab', 'b', 'b', 'c', 'd'),
    timestamp: fc.integer({ min: 1, max: 9 }),
    type: fc.oneof(
      { weight: 40, arbitrary: fc.constant(CellType.Put) },
      { weight: 1, arbitrary: fc.constantFrom(...Object.values(CellType)) },
    ),
    seq: fc.integer({ min: 1, max: 60 }),
    ttl: fc.oneof({ weight: 40, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(7) }),
    length: fc.oneof(
      { weight: 20, arbitrary: fc.nat(12) },
      { weight: 1, arbitrary: fc.constantFrom(100, 3000) },
    ),
  })
  .map(({ row, qualifier, timestamp, length, ...more }) =>
    cell(
      `row-${String(row).padStart(row % 5, '0')}`,
      more.type === CellType.DeleteFamily || more.type === CellType.DeleteFamilyVersion ? '' : qualifier,
      timestamp,
      `${timestamp}${'v'.repeat(length)}`,
      more,
    ),
  );
const someCells = fc.array(someCell, { minLength: 1, maxLength: 600, size: 'max' }).map(sorted);

type Source = (cells: readonly TestCell[], blockSize?: number) => () => CellCursor;

const sources: Readonly<Record<string, Source>> = {
  memstore: (cells) => {
    const memstore = memstoreOf(cells);
    return () => memstore.cursor();
  },
  'a file': (cells, blockSize = 1024) => {
    const file = reader(cells, { blockSize });
    return () => file.cursor({});
  },
  'a file whose cells have one number': (cells, blockSize = 1024) => {
    const file = reader(cells, { blockSize }, { seq: 40 });
    return () => file.cursor({});
  },
  'a file of rows': (cells, blockSize = 1024) => {
    const file = reader(cells, { blockSize, dataBlockEncoding: 'ROW_INDEX_V1' });
    return () => file.cursor({});
  },
};

interface Readers {
  readonly run: RowRun;
  readonly plain: PlainRow;
  readonly maker: CellMaker;
  readonly known: KnownColumns;
  readonly columns: readonly Uint8Array[] | null;
}

function readers(columns: readonly Uint8Array[] | null): Readers {
  const run = new RowRun();
  const plain = new PlainRow();
  run.rule.readPoint = READ_POINT;
  plain.rule.readPoint = READ_POINT;
  return { run, plain, maker: new CellMaker('f', undefined), known: new KnownColumns(), columns };
}

function placeOf(cursor: CellCursor): string {
  return cursor.valid ? shown(cursor) : 'the end';
}

function told(cells: readonly Cell[]): unknown[] {
  return cells.map(({ row, family, qualifier, timestamp, type, value }) => [
    Buffer.from(row).toString('latin1'),
    family,
    Buffer.from(qualifier).toString(),
    timestamp,
    type,
    Buffer.from(value).toString(),
  ]);
}

function sourcesOf(cursors: readonly CellCursor[]): PlainRow {
  const row = new PlainRow();
  for (const cursor of cursors) row.add(cursor);
  return row;
}

/** Reads the row of some cursors by a run, into a raw row and into a result, and holds both against the other reader's; whether it could. */
function readBoth(by: Readers, ours: readonly CellCursor[], theirs: readonly CellCursor[]): boolean {
  const { run, plain, maker, known, columns } = by;
  const row = rowAt(theirs[0]!);
  const family = { name: 'f', known, columns, oldestUnexpired: OLDEST };
  const raw = new RawRow();
  raw.begin(row);
  raw.add('e', Buffer.from('before'), 1, row, 0, 1);
  const out = new StoredRowBuilder();
  const before = ours.map(placeOf);
  run.raw = raw;
  const taken = run.read(sourcesOf(ours), row, family, null);
  run.raw = null;
  run.out = out;
  const head = ours.at(-1)!;
  const copied = columns === null ? copyRowAhead(head, true) : copyRow(head);
  expect(run.read(sourcesOf(ours), copied, family, columns === null ? head : null)).toBe(taken);
  expect(ours.map(placeOf)).toEqual(before);
  const expected = new RawRow();
  expected.begin(row);
  plain.raw = expected;
  plain.begin();
  for (const cursor of theirs) plain.add(cursor);
  const read = plain.read(maker, row, columns, OLDEST, null);
  if (!taken) {
    expect([raw.count, out.count]).toEqual([1, 0]);
    if (read && columns === null) known.learn(expected, 0);
    return false;
  }
  expect(read).toBe(true);
  const cells = told(expected.toResult().cells);
  expect(told(raw.toResult().cells).slice(1)).toEqual(cells);
  expect(told(out.take(copied, false).cells)).toEqual(cells);
  for (const cursor of ours) cursor.leaveRow();
  return true;
}

/** Goes on to the row behind. */
function leave(cursor: CellCursor, row: Uint8Array): void {
  while (cursor.valid && Buffer.compare(rowAt(cursor), row) === 0) cursor.next();
}

/** Reads every row of the cells; how many rows were read by a run. */
function readAll(open: () => CellCursor, columns: readonly Uint8Array[] | null): number {
  const by = readers(columns);
  const ours = open();
  const theirs = open();
  ours.seekToFirst();
  theirs.seekToFirst();
  let taken = 0;
  while (theirs.valid) {
    const row = rowAt(theirs);
    if (readBoth(by, [ours], [theirs])) taken++;
    else leave(ours, row);
    leave(theirs, row);
    expect(placeOf(ours)).toBe(placeOf(theirs));
  }
  expect(ours.valid).toBe(false);
  return taken;
}

const rowsOf = (cells: readonly TestCell[]): Set<string> =>
  new Set(cells.map(({ row }) => Buffer.from(row).toString('latin1')));

describe.each(Object.entries(sources))('a run in %s', (_, source) => {
  test('tells of a row what the reader for every case tells, or leaves it to that', () => {
    fc.assert(
      fc.property(someCells, (cells) => {
        const open = source(cells);
        readAll(open, null);
        readAll(open, [Buffer.from('a'), Buffer.from('b'), Buffer.from('e')]);
      }),
      { numRuns: scaled(2, 100, 3000) },
    );
  });

  test('reads rows of columns that were known before, also where some are missing', () => {
    const cells: TestCell[] = [];
    for (let row = 100; row < 300; row++)
      for (const qualifier of '_abcdef')
        if (qualifier !== 'd' || row % 3 > 0) cells.push(cell(`row-${row}`, qualifier, 5, `${row}`));
    // What one row has of older versions is no matter to the next.
    for (let row = 100; row < 300; row++) cells.push(cell(`row-${row}`, 'f', 4, 'older'));
    const open = source(sorted(cells), 4096);
    // Not the first, nor those that end a block.
    expect(readAll(open, null)).toBeGreaterThan(170);
    expect(readAll(open, [Buffer.from('c')])).toBeGreaterThan(170);
  });
});

/** Without puts that are hidden by a newer put of their column, which cursors of single rows may leave out. */
function withoutHidden(cells: readonly TestCell[]): TestCell[] {
  const shown = new Set<string>();
  return cells.filter(({ row, qualifier, type, seq, ttl }) => {
    if (type !== CellType.Put) return true;
    const column = `${Buffer.from(row).toString('hex')} ${Buffer.from(qualifier).toString('hex')}`;
    if (shown.has(column)) return false;
    if (seq <= READ_POINT && ttl === 0) shown.add(column);
    return true;
  });
}

test('a run in a single row of a memstore', () => {
  fc.assert(
    fc.property(someCells, (cells) => {
      const memstore = memstoreOf(cells);
      const plain = memstoreOf(withoutHidden(cells));
      const by = readers(null);
      for (const name of [...rowsOf(cells), ...rowsOf(cells)]) {
        const row = Buffer.from(name, 'latin1');
        hashRow(row, 0, row.length);
        const theirs = plain.cursor();
        theirs.seek(new SeekKey().setRow(row));
        expect(memstore.pointCursor.seekInRow(new SeekKey().setRow(row), lane1, READ_POINT)).toBe(true);
        readBoth(by, [memstore.pointCursor], [theirs]);
      }
    }),
    { numRuns: scaled(4, 100, 3000) },
  );
});

describe('a run in several sources', () => {
  /** Reads all rows from cursors that have some of the cells each; how many rows were read by a run. */
  function readMerged(opens: readonly (() => CellCursor)[], columns: readonly Uint8Array[] | null): number {
    const by = readers(columns);
    const [ours, theirs] = [0, 1].map(() =>
      opens.map((open, order) => {
        const cursor = open();
        cursor.order = order;
        cursor.seekToFirst();
        return cursor;
      }),
    ) as [CellCursor[], CellCursor[]];
    let taken = 0;
    for (;;) {
      const places = theirs.flatMap((cursor, at) => (cursor.valid ? [{ at, row: rowAt(cursor) }] : []));
      if (places.length === 0) return taken;
      const row = places.map((place) => place.row).sort(Buffer.compare)[0]!;
      const inRow = places.filter((place) => Buffer.compare(place.row, row) === 0).map(({ at }) => at);
      if (
        readBoth(
          by,
          inRow.map((at) => ours[at]!),
          inRow.map((at) => theirs[at]!),
        )
      )
        taken++;
      else for (const at of inRow) leave(ours[at]!, row);
      for (const at of inRow) leave(theirs[at]!, row);
      expect(ours.map(placeOf)).toEqual(theirs.map(placeOf));
    }
  }

  test('tells the newest put of each column, as the reader for every case does, or leaves the row to that', () => {
    const placed = fc.array(fc.tuple(someCell, fc.nat(2)), { minLength: 1, maxLength: 600, size: 'max' });
    fc.assert(
      fc.property(placed, (cells) => {
        const kinds = ['memstore', 'a file', 'a file of rows'];
        const opens = kinds.flatMap((kind, place) => {
          const own = cells.filter(([, at]) => at === place).map(([each]) => each);
          return own.length === 0 ? [] : [sources[kind]!(sorted(own))];
        });
        readMerged(opens, null);
        readMerged(opens, [Buffer.from('a'), Buffer.from('b'), Buffer.from('e')]);
      }),
      { numRuns: scaled(6, 100, 3000) },
    );
  });

  test('reads rows of which some columns were written again, and leaves equal timestamps to the other reader', () => {
    const rows = Array.from({ length: 200 }, (_, row) => `row-${row + 100}`);
    const of = (timestamp: number, seq: number, columns: string): TestCell[] =>
      rows.flatMap((row) => [...columns].map((name) => cell(row, name, timestamp, `${row}${seq}`, { seq })));
    const file = sources['a file']!(of(5, 1, 'abcdef'), 1 << 16);
    // The first row tells the columns, and the last may go on in another block.
    expect(readMerged([file, sources['memstore']!(of(6, 2, 'bd'))], null)).toBe(198);
    expect(readMerged([file, sources['memstore']!(of(4, 2, 'bd'))], null)).toBe(198);
    expect(readMerged([file, sources['memstore']!(of(5, 2, 'bd'))], null)).toBe(0);
  });
});

test('a row of many versions is left to the reader for every case, which passes them by a search', () => {
  const versions = (count: number): TestCell[] =>
    Array.from({ length: count }, (_, i) => cell('m', 'x', 1000 - i, `${i}`));
  const others = (count: number): TestCell[] =>
    Array.from({ length: count }, (_, i) => cell('m', `b${i + 10}`, 5, 'other'));
  // Columns are learned of a row before, and the last row of a block is not read by a run.
  const isTaken = (cells: readonly TestCell[], columns: readonly Uint8Array[] | null): boolean => {
    const all = [cell('a', 'x', 5, 'first'), ...cells, cell('z', 'x', 5, 'last')];
    const taken = readAll(sources['a file']!(all, 1 << 16), columns);
    return taken === (columns === null ? 1 : 2);
  };
  const x = [Buffer.from('x')];
  expect([isTaken(versions(33), null), isTaken(versions(34), null)]).toEqual([true, false]);
  expect([isTaken(versions(33), x), isTaken(versions(34), x)]).toEqual([true, false]);
  expect([
    isTaken([...others(64), ...versions(33)], x),
    isTaken([...others(65), ...versions(33)], x),
  ]).toEqual([true, false]);
});

test('a cursor of a memstore that was written to finds its place first', () => {
  const memstore = memstoreOf([cell('a', 'x', 1), cell('b', 'x', 1), cell('d', 'x', 1)]);
  const by = readers([Buffer.from('x')]);
  const cursor = memstore.cursor();
  cursor.seekToFirst();
  memstore.add(Buffer.from('c'), Buffer.from('x'), 1, CellType.Put, 1, 0, Buffer.from('v'));
  by.run.raw = new RawRow();
  const reads = (): boolean =>
    by.run.read(sourcesOf([cursor]), rowAt(cursor), { ...by, name: 'f', oldestUnexpired: 0 }, null);
  expect(reads()).toBe(false);
  expect(cursor.next()).toBe(true);
  const rows: string[] = [];
  while (cursor.valid) {
    rows.push(Buffer.from(rowAt(cursor)).toString());
    expect(reads()).toBe(true);
    cursor.leaveRow();
  }
  expect(rows).toEqual(['b', 'c', 'd']);
});

test('columns are known up to a number of them, in order', () => {
  const known = new KnownColumns();
  const raw = new RawRow();
  const learn = (...qualifiers: string[]): void => {
    raw.clear();
    for (const qualifier of qualifiers) raw.add('f', Buffer.from(qualifier), 1, raw.row, 0, 0);
    known.learn(raw, 1);
  };
  expect(known.any).toBe(false);
  learn('left out', 'b', 'd');
  learn('left out', 'a', 'c', 'd', 'e');
  const names = ['a', 'b', 'c', 'd', 'e'];
  const texts = (columns: readonly Uint8Array[]): string[] =>
    columns.map((one) => Buffer.from(one).toString());
  expect([texts(known.columns), texts(known.given)]).toEqual([names, names]);
  for (let i = 10; i < 69; i++) learn('left out', `k${i}`);
  expect([known.columns.length, known.any]).toEqual([64, true]);
  learn('left out', 'one more');
  expect(known.any).toBe(false);
});
