import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashRow, lane1 } from '../../../src/bytes/bytes.js';
import { toBytes } from '../../../src/bytes/index.js';
import { type CellCursor, isInRow, SeekKey } from '../../../src/store/cursor.js';
import { CellArena, type CellBytes, ChunkPool, RowCells } from '../../../src/store/memstore/arena.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import { isRun, NO_ROW, placeOf, RowIndex } from '../../../src/store/memstore/row-index.js';
import { CellType } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

const NOTHING = new Uint8Array(0);
/** Readers at this read point see no cell, so none is left out for them. */
const NOTHING_SEEN = -1;
const ALL_SEEN = Number.MAX_SAFE_INTEGER;

function hashOf(row: Uint8Array): number {
  hashRow(row, 0, row.length);
  return lane1;
}

describe('an index of rows', () => {
  function filled(rows: readonly Uint8Array[], hash: (row: Uint8Array) => number): [RowIndex, number[]] {
    const arena = new CellArena(new ChunkPool(0));
    const index = new RowIndex(arena);
    const refs = rows.map((row) => {
      const ref = arena.write(row, NOTHING, 1, CellType.Put, 1, 0, NOTHING, false);
      if (index.search(hash(row), row, 0, row.length) !== NO_ROW)
        throw new Error('It is there before it is added.');
      index.add(hash(row), ref);
      return ref;
    });
    return [index, refs];
  }

  test.each([1, 48, 49, 96, 97, 5000])('of %i rows knows each, and no other', (count) => {
    const rows = Array.from({ length: count }, (_, i) => toBytes(`row${i}`));
    const [index, refs] = filled(rows, hashOf);
    rows.forEach((row, i) => {
      const entry = index.find(hashOf(row), row, 0, row.length);
      if (!isRun(entry) || placeOf(entry) !== refs[i]) throw new Error(`row${i} is said to be at ${entry}`);
    });
    for (let i = 0; i < 1000; i++) {
      const other = toBytes(`other${i}`);
      if (index.find(hashOf(other), other, 0, other.length) !== NO_ROW) throw new Error(`other${i} is there`);
    }
    expect(index.bytes).toBeLessThanOrEqual(Math.max(512, count * 22));
  });

  test.each([0, -1, 0x7fffffff])(
    'of rows of one hash (%i) knows a few and leaves the order of the cells to find the others',
    (hash) => {
      const rows = Array.from({ length: 200 }, (_, i) => toBytes(`row${i}`));
      const arena = new CellArena(new ChunkPool(0));
      const index = new RowIndex(arena);
      const add = (row: Uint8Array, of: number): void => {
        const ref = arena.write(row, NOTHING, 1, CellType.Put, 1, 0, NOTHING, false);
        if (index.search(of, row, 0, row.length) === NO_ROW) index.add(of, ref);
        else index.scatter();
      };
      rows.forEach((row, i) => {
        add(row, hash);
        if (i % 3 === 0) {
          index.search(hash, row, 0, row.length);
          index.scatter();
        }
      });
      rows.forEach((row, i) => {
        expect(isRun(index.find(hash, row, 0, row.length))).toBe(i % 3 !== 0 && i < 8);
      });
      // What is left out may be anything, and stays unknown when the table has grown; a row of another hash is no run.
      const longer = toBytes('row1\0');
      expect(index.find(hash, longer, 0, longer.length)).not.toBe(NO_ROW);
      for (let i = 0; i < 1000; i++) add(toBytes(`other${i}`), Math.imul(i, 0x9e3779b1));
      for (const row of rows) expect(index.find(hash, row, 0, row.length)).not.toBe(NO_ROW);
      const other = toBytes('other7');
      expect(isRun(index.find(Math.imul(7, 0x9e3779b1), other, 0, other.length))).toBe(false);
    },
  );
});

interface Written {
  readonly row: Uint8Array;
  readonly cells: readonly {
    qualifier: Uint8Array;
    timestamp: number;
    type: CellType;
    ttl: number;
    value: Uint8Array;
  }[];
  readonly sorted: boolean;
  /** Whether the memstore is told which cells are of one row. */
  readonly told: boolean;
  /** Whether they are made puts in order, and added as a whole row. */
  readonly whole: boolean;
}

/** MurmurHash3_x86_32 of 8 bytes can be turned back: the second word that leads to a hash follows from the first. */
function rowsOfOneHash(count: number): Uint8Array[] {
  const inverse = (odd: number): number => {
    let found = odd;
    for (let i = 0; i < 5; i++) found = Math.imul(found, 2 - Math.imul(odd, found));
    return found;
  };
  const left = (n: number, by: number): number => (n << by) | (n >>> (32 - by));
  return Array.from({ length: count }, (_, i) => {
    const row = new DataView(new ArrayBuffer(8));
    row.setInt32(0, i, true);
    const first = Math.imul(left(Math.imul(i, 0xcc9e2d51), 15), 0x1b873593);
    const between = Math.imul(left(0x9747b28c ^ first, 13), 5) + 0xe6546b64;
    const wanted = left(Math.imul(1 - 0xe6546b64, inverse(5)), 19) ^ between;
    row.setInt32(4, Math.imul(left(Math.imul(wanted, inverse(0x1b873593)), 17), inverse(0xcc9e2d51)), true);
    return new Uint8Array(row.buffer);
  });
}

/** More rows of one hash than an index of rows takes. */
const ROWS = [...Array.from({ length: 8 }, (_, n) => toBytes(`row-${n}`)), ...rowsOfOneHash(14)];
const qualifierOf = fc.constantFrom('', 'a', 'b', 'b\0', 'c').map(toBytes);
/** They mostly have cells of which lists are made. */
const LISTED_ROWS = ROWS.slice(0, 2);

const anyWritten: fc.Arbitrary<Written> = fc.record({
  row: fc.oneof(fc.constantFrom(...ROWS), fc.constantFrom(...LISTED_ROWS)),
  cells: fc.array(
    fc.record({
      qualifier: qualifierOf,
      timestamp: fc.nat(3),
      type: fc.constantFrom(...Object.values(CellType)),
      ttl: fc.constantFrom(0, 0, 9),
      // Some that do not fit into what is left of a chunk.
      value: fc.oneof(
        { weight: 9, arbitrary: fc.uint8Array({ maxLength: 9 }) },
        fc.constant(new Uint8Array(9000)),
      ),
    }),
    // More than are looked at one by one.
    { minLength: 1, maxLength: 25 },
  ),
  sorted: fc.boolean(),
  told: fc.boolean(),
  whole: fc.boolean(),
});

const written = anyWritten.map((any): Written => {
  if (!LISTED_ROWS.includes(any.row) || any.cells.length < 3) return any;
  const cells = any.cells.map((cell) => ({
    ...cell,
    type: CellType.Put,
    ttl: 0,
    qualifier: Buffer.concat([toBytes('q'), cell.qualifier]),
  }));
  return { ...any, cells };
});

/** Adds the first cell of each qualifier as a put, all as one row. */
function addWhole(memstore: Memstore, { row, cells }: Written, seq: number): number[] {
  const each = [
    ...new Map(cells.map(({ qualifier, value }) => [String(qualifier), { qualifier, value }])).values(),
  ];
  each.sort((a, b) => Buffer.compare(a.qualifier, b.qualifier));
  const ends: number[] = [];
  for (const { value } of each) ends.push((ends.at(-1) ?? 0) + value.length);
  const qualifiers = each.map(({ qualifier }) => qualifier);
  const bytes = new Uint8Array(Buffer.concat(each.map(({ value }) => value)));
  const added = new RowCells(qualifiers, [...each.keys()], ends, bytes);
  Object.assign(added, { row, timestamp: cells[0]!.timestamp, seq, end: each.length });
  memstore.addRow(added, false);
  return [...added.refs.subarray(0, each.length)];
}

/** A cell in bytes of its own. */
function inBytes(row: Uint8Array, { qualifier, value, ...rest }: Written['cells'][0]): CellBytes {
  const bytes = new Uint8Array(Buffer.concat([row, qualifier, value]));
  return {
    ...rest,
    bytes,
    view: new DataView(bytes.buffer),
    rowOffset: 0,
    rowLength: row.length,
    qualifierOffset: row.length,
    qualifierLength: qualifier.length,
    valueOffset: row.length + qualifier.length,
    valueLength: value.length,
  };
}

function write(memstore: Memstore, written: Written, seq: number, load: boolean): number[] {
  const { row, cells, sorted, told, whole } = written;
  if (whole && !load) return addWhole(memstore, written, seq);
  const order = sorted
    ? cells.toSorted(
        (a, b) => Buffer.compare(a.qualifier, b.qualifier) || b.timestamp - a.timestamp || b.type - a.type,
      )
    : cells;
  return order.flatMap((cell, i) => {
    const { qualifier, timestamp, type, ttl, value } = cell;
    if (!load) return memstore.add(row, qualifier, timestamp, type, seq, ttl, value, told && i > 0);
    memstore.load(inBytes(row, cell), seq, i > 0);
    return [];
  });
}

function at({
  timestamp,
  type,
  seq,
  ttl,
  key,
  qualifierOffset,
  qualifierLength,
  valueLength,
}: CellCursor): string {
  const qualifier = Buffer.from(key.subarray(qualifierOffset, qualifierOffset + qualifierLength)).toString(
    'hex',
  );
  return `${qualifier} ${timestamp} ${type} ${seq} ${ttl} ${valueLength}`;
}

/** The cells of the target's row from the target on, in the order of all. */
function inOrder(memstore: Memstore, target: SeekKey): string[] {
  const cursor = memstore.cursor();
  const found: string[] = [];
  for (let more = cursor.seek(target); more && isInRow(cursor, target.row); more = cursor.next())
    found.push(at(cursor));
  return found;
}

/** The same by the index of rows: each step by the one way or the other, and on to `column` after the first. */
function byRow(
  memstore: Memstore,
  target: SeekKey,
  inRow: boolean,
  column: SeekKey | undefined,
  readPoint = NOTHING_SEEN,
): string[] {
  const cursor = memstore.pointCursor;
  const { row } = target;
  const found: string[] = [];
  let more = cursor.seekInRow(target, hashOf(row), readPoint);
  if (column !== undefined && more) more = cursor.reseek(column) && isInRow(cursor, row);
  while (more) {
    found.push(at(cursor));
    more = inRow ? cursor.nextInRow() : cursor.next() && isInRow(cursor, row);
  }
  return found;
}

/** The cells that readers at `readPoint` see, without those behind a put of their column. Cells of the family itself are not left out. */
function newestOf(cells: readonly string[], readPoint: number): string[] {
  const decided = new Set<string>();
  return cells.filter((cell) => {
    const [column, , type, seq, ttl] = cell.split(' ');
    if (Number(seq) > readPoint || decided.has(column!)) return false;
    if (column !== '' && Number(type) === CellType.Put && ttl === '0') decided.add(column!);
    return true;
  });
}

/** A memstore that had these cells, was read, and was emptied, if it had not grown. */
function usedBefore(cells: readonly Written[]): Memstore {
  const memstore = new Memstore(new ChunkPool(0));
  cells.forEach((each, i) => {
    write(memstore, each, i, false);
    byRow(memstore, new SeekKey().setRow(each.row), true, undefined, ALL_SEEN);
  });
  return cells.length === 0 || memstore.reset() ? memstore : new Memstore(new ChunkPool(0));
}

test('rows are chosen that have one hash', () => {
  expect(new Set(ROWS.map(hashOf)).size).toBe(9);
});

describe('reads of one row of a memstore', () => {
  test('see what the order of all cells has, whatever was written, loaded, dropped and taken back', () => {
    fc.assert(
      fc.property(
        fc.array(written, { maxLength: 20 }),
        fc.array(written, { maxLength: 20 }),
        fc.array(written, { maxLength: 20 }),
        fc.func(fc.nat(5)),
        qualifierOf,
        (before, loads, writes, dice, qualifier) => {
          const memstore = usedBefore(before);
          loads.forEach((each, i) => void write(memstore, each, i, true));
          memstore.sortLoaded();
          const compare = (): void => {
            const expected: string[] = [];
            const found: string[] = [];
            for (const row of [...ROWS, toBytes('row-9')]) {
              const all = inOrder(memstore, new SeekKey().setRow(row));
              const some = inOrder(memstore, new SeekKey().setColumn(row, qualifier));
              for (const inRow of [false, true]) {
                const column = new SeekKey().setColumn(row, qualifier);
                expected.push('row', ...all, 'column', ...some, 'row, then column', ...some);
                found.push('row', ...byRow(memstore, new SeekKey().setRow(row), inRow, undefined));
                found.push('column', ...byRow(memstore, column, inRow, undefined));
                found.push('row, then column', ...byRow(memstore, new SeekKey().setRow(row), inRow, column));
                const readPoint = inRow ? ALL_SEEN : loads.length + writes.length / 2;
                const newest = newestOf(all, readPoint);
                const ofColumns = newestOf(some, readPoint);
                expected.push('newest', ...newest, 'from a column', ...ofColumns, 'then', ...ofColumns);
                const start = new SeekKey().setRow(row);
                const seen = (target: SeekKey, then?: SeekKey): string[] =>
                  newestOf(byRow(memstore, target, inRow, then, readPoint), readPoint);
                found.push('newest', ...seen(start), 'from a column', ...seen(column));
                found.push('then', ...seen(start, column));
              }
            }
            expect(found.join('\n')).toBe(expected.join('\n'));
          };
          compare();
          writes.forEach((each, i) => {
            const refs = write(memstore, each, loads.length + i, false);
            const chance = dice(i);
            if (chance === 0) compare();
            // Makes lists of newest cells, and leaves the cells that follow to be added to them.
            if (chance === 5) byRow(memstore, new SeekKey().setRow(each.row), true, undefined, ALL_SEEN);
            // A part of a write is not taken back, but a place of it is dropped when a newer one is seen.
            if (chance === 1) memstore.dropOlderVersions(refs.at(-1)!, loads.length + i);
            if (chance === 2) for (const ref of refs.reverse()) memstore.rollback(ref);
          });
          compare();
        },
      ),
      { numRuns: scaled(7, 300, 3000) },
    );
  });

  test('see nothing of what a memstore had before it was emptied', () => {
    const memstore = usedBefore([]);
    const fresh = new Memstore(new ChunkPool(0)).retain();
    for (let i = 0; i < 200; i++)
      memstore.add(toBytes(`row-${i % 40}`), toBytes('c'), i, i % 2 === 0 ? 4 : 14, i, 0, NOTHING);
    expect(memstore.reset()).toBe(true);
    const { size, minSeq, maxSeq, minTimestamp, maxTimestamp, earliestPut, familyMarkers, markers } = fresh;
    expect(memstore).toMatchObject({
      size,
      minSeq,
      maxSeq,
      minTimestamp,
      maxTimestamp,
      earliestPut,
      familyMarkers,
      markers,
    });
    expect(memstore.mayHaveRow(hashOf(toBytes('row-1')), toBytes('row-1'))).toBe(false);
    expect(memstore.cursor().seekToFirst()).toBe(false);
  });

  test('see cells of a row that was read as another was written', () => {
    const memstore = new Memstore(new ChunkPool(0));
    const [first, second] = LISTED_ROWS as [Uint8Array, Uint8Array];
    let seq = 0;
    const put = (row: Uint8Array, column: string): void =>
      void memstore.add(row, toBytes(column), 1, CellType.Put, ++seq, 0, NOTHING);
    const read = (row: Uint8Array): string[] =>
      byRow(memstore, new SeekKey().setRow(row), true, undefined, ALL_SEEN);
    put(first, 'b');
    put(first, 'a');
    put(second, 'a');
    // The list of its newest cells is between two cells of the other row.
    expect(read(first)).toEqual(['61 1 4 2 0 0', '62 1 4 1 0 0']);
    put(second, 'b');
    expect(read(second)).toEqual(['61 1 4 3 0 0', '62 1 4 4 0 0']);
  });

  test('see the markers of the family behind a put of the empty qualifier', () => {
    const memstore = new Memstore(new ChunkPool(0));
    const [row] = LISTED_ROWS as [Uint8Array];
    memstore.add(row, NOTHING, 2, CellType.Put, 1, 0, NOTHING);
    memstore.add(row, NOTHING, 1, CellType.DeleteFamily, 2, 0, NOTHING);
    memstore.add(row, NOTHING, 3, CellType.Put, 3, 0, NOTHING);
    expect(byRow(memstore, new SeekKey().setRow(row), true, undefined, ALL_SEEN)).toHaveLength(3);
  });
});
