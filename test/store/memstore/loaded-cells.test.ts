import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashRow, lane1 } from '../../../src/bytes/bytes.js';
import { toBytes } from '../../../src/bytes/index.js';
import { SeekKey } from '../../../src/store/cursor.js';
import { CellArena, type CellBytes, ChunkPool, RowCells } from '../../../src/store/memstore/arena.js';
import { compareRefs } from '../../../src/store/memstore/cell-order.js';
import { LoadedCells } from '../../../src/store/memstore/loaded-cells.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import type { MemstoreCursor } from '../../../src/store/memstore/memstore-cursor.js';
import { CellType } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

interface Mutation {
  readonly row: Uint8Array;
  readonly cells: readonly (readonly [
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    ttl: number,
    value: Uint8Array,
  ])[];
}

/** A cell in bytes of its own, at an odd place. */
function inBytes(row: Uint8Array, [qualifier, timestamp, type, ttl, value]: Mutation['cells'][0]): CellBytes {
  const bytes = new Uint8Array(Buffer.concat([Uint8Array.of(9, 9, 9), row, qualifier, value]));
  return {
    bytes,
    view: new DataView(bytes.buffer),
    timestamp,
    type,
    ttl,
    rowOffset: 3,
    rowLength: row.length,
    qualifierOffset: 3 + row.length,
    qualifierLength: qualifier.length,
    valueOffset: 3 + row.length + qualifier.length,
    valueLength: value.length,
  };
}

const part = fc.constantFrom('', '\0', '\0\0', 'a', 'aa', 'customer-', 'customer-', '.www/', 'x'.repeat(50));
/** Rows that share much, end in zeros, are the beginnings of others, or come again. */
const row = fc
  .oneof(
    fc.tuple(fc.nat(3), part, fc.nat(40), part).map((parts) => parts.join('')),
    fc.tuple(part, part, fc.nat(30)).map((parts) => parts.join('')),
    fc.nat(9000).map((n) => String(n).padStart(16, '0')),
  )
  .map((text) => toBytes(text === '' ? '-' : text));
const cell = fc.tuple(
  fc.constantFrom('', 'a', 'b', 'b\0').map(toBytes),
  fc.nat(2),
  fc.constantFrom(...Object.values(CellType)),
  fc.constantFrom(0, 0, 7),
  fc.oneof(
    fc.uint8Array({ maxLength: 9 }),
    fc.integer({ min: 150, max: 400 }).map((n) => new Uint8Array(n).fill(n)),
  ),
);
const mutation: fc.Arbitrary<Mutation> = fc.record({
  row,
  cells: fc.array(cell, { minLength: 1, maxLength: 4 }),
});
const mutations = fc.array(mutation, { minLength: 1, maxLength: 400, size: 'max' });

function added(list: readonly Mutation[], memstore = new Memstore(new ChunkPool(0)), firstSeq = 0): Memstore {
  list.forEach(({ row: own, cells }, i) => {
    cells.forEach(([qualifier, timestamp, type, ttl, value], index) => {
      memstore.add(own, qualifier, timestamp, type, firstSeq + i, ttl, value, index > 0);
    });
  });
  return memstore;
}

function loaded(list: readonly Mutation[]): Memstore {
  const memstore = new Memstore(new ChunkPool(0));
  list.forEach(({ row: own, cells }, seq) => {
    cells.forEach((each, index) => {
      memstore.load(inBytes(own, each), seq, index > 0);
    });
  });
  memstore.sortLoaded();
  return memstore;
}

function at(cursor: MemstoreCursor): string {
  const { key, rowOffset, rowLength, qualifierOffset, qualifierLength, valueOffset, valueLength } = cursor;
  const text = (from: number, length: number): string =>
    Buffer.from(key.subarray(from, from + length)).toString('hex');
  const { timestamp, type, seq, ttl } = cursor;
  const ends = [text(qualifierOffset, qualifierLength), timestamp, type, seq, ttl];
  return [text(rowOffset, rowLength), ...ends, text(valueOffset, valueLength)].join(' ');
}

function cellsOf(memstore: Memstore): string[] {
  const cursor = memstore.cursor();
  const found: string[] = [];
  for (let more = cursor.seekToFirst(); more; more = cursor.next()) found.push(at(cursor));
  return found;
}

describe('cells that are loaded', () => {
  test('stand as if they had been added one by one, also for what is added, sought and taken back behind them', () => {
    fc.assert(
      fc.property(mutations, mutations, fc.array(row), (first, later, rows) => {
        const one = added(first);
        const other = loaded(first);
        expect(cellsOf(other)).toEqual(cellsOf(one));
        const { size, minSeq, maxSeq, minTimestamp, maxTimestamp, markers, familyMarkers } = one;
        const facts = { size, minSeq, maxSeq, minTimestamp, maxTimestamp, markers, familyMarkers };
        expect(other).toMatchObject(facts);
        added(later, one, first.length);
        added(later, other, first.length);
        const expected = cellsOf(one);
        expect(cellsOf(other)).toEqual(expected);
        const [a, b] = [one.cursor(), other.cursor()];
        for (const each of rows) {
          const key = new SeekKey().setRow(each);
          expect(b.seek(key)).toBe(a.seek(key));
          if (a.valid) expect(at(b)).toBe(at(a));
        }
        if (b.seekToFirst()) other.rollback(b.ref);
        expect(cellsOf(other)).toEqual(expected.slice(1));
      }),
      { numRuns: scaled(5, 60, 500) },
    );
  });

  test('that wait for a reader stand as if they had been added at once, whatever is added, read and taken back between', () => {
    const action = fc.oneof(
      { weight: 6, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 60, size: 'max' }) },
      { weight: 1, arbitrary: fc.constantFrom('add', 'read', 'seek', 'back') },
    );
    fc.assert(
      fc.property(fc.array(action, { minLength: 4, maxLength: 16, size: 'max' }), row, (actions, sought) => {
        const one = new Memstore(new ChunkPool(0));
        const other = new Memstore(new ChunkPool(0));
        const refs: (readonly [number, number])[] = [];
        let seq = 0;
        let addsNext = false;
        for (const each of actions) {
          if (typeof each !== 'string') {
            for (const { row: own, cells } of each) {
              const cell = cells[0]!;
              const [qualifier, timestamp, type, ttl, value] = cell;
              const args = [own, qualifier, timestamp, type, seq, ttl, value] as const;
              refs.push([
                one.add(...args),
                addsNext ? other.add(...args) : other.addUnsorted(inBytes(own, cell), seq),
              ]);
              seq++;
            }
            addsNext = false;
          } else if (each === 'add') addsNext = true;
          else if (each === 'read') expect(cellsOf(other)).toEqual(cellsOf(one));
          else if (each === 'back') {
            const [a, b] = refs.pop() ?? [];
            if (a !== undefined) one.rollback(a);
            if (b !== undefined) other.rollback(b);
          } else {
            const key = new SeekKey().setRow(sought);
            hashRow(sought, 0, sought.length);
            const hash = lane1;
            const [a, b] = [one.pointCursor, other.pointCursor];
            expect(b.seekInRow(key, hash, -1)).toBe(a.seekInRow(key, hash, -1));
            if (a.valid) expect(at(b)).toBe(at(a));
            expect(other.mayHaveRow(hash, sought)).toBe(one.mayHaveRow(hash, sought));
          }
          expect(other.size).toBe(one.size);
        }
        expect(cellsOf(other)).toEqual(cellsOf(one));
        expect(other.share().refs).toHaveLength(one.size);
      }),
      { numRuns: scaled(6, 100, 1500) },
    );
  });

  test('that wait are sorted before they are many, into the leaves where they belong', () => {
    const one = new Memstore(new ChunkPool(0));
    const other = new Memstore(new ChunkPool(0));
    const value = toBytes('v');
    for (let i = 0; i < 18_000; i++) {
      const own = toBytes(`${i % 3 === 0 ? 'mail' : 'phone'}-${Math.imul(i + 1, 0x9e3779b1) >>> 0}`);
      one.add(own, value, 1, CellType.Put, i, 0, value);
      other.addUnsorted(inBytes(own, [value, 1, CellType.Put, 0, value]), i);
      if (i === 1000) other.cursor();
    }
    expect(cellsOf(other)).toEqual(cellsOf(one));
  });

  test('that wait are sorted by their own rows, whatever longer rows waited before', () => {
    const value = toBytes('v');
    const long = Array.from({ length: 20 }, (_, i) => `${'z'.repeat(10)}${i}`);
    const short = Array.from({ length: 10 }, (_, i) => String.fromCharCode(97 + i));
    const one = new Memstore(new ChunkPool(0));
    const other = new Memstore(new ChunkPool(0));
    [...long, ...short, ...short.map((text) => `${text}a`)].forEach((text, seq) => {
      if (seq === long.length) other.sortLoaded();
      one.add(toBytes(text), value, 1, CellType.Put, seq, 0, value);
      other.addUnsorted(inBytes(toBytes(text), [value, 1, CellType.Put, 0, value]), seq);
    });
    expect(cellsOf(other)).toEqual(cellsOf(one));
  });

  test('that wait may come before and behind a row whose beginning they have', () => {
    const value = toBytes('v');
    const memstore = new Memstore(new ChunkPool(0));
    ['Q', 'AAAAAAb', 'AAAAAAa1', 'AAAAAAa2', 'AAAAAAc'].forEach((text, seq) => {
      memstore.addUnsorted(inBytes(toBytes(text), [value, 1, CellType.Put, 0, value]), seq);
      if (seq < 2) memstore.sortLoaded();
    });
    const cursor = memstore.cursor();
    expect(cursor.seek(new SeekKey().setRow(toBytes('AAAAAAb')))).toBe(true);
    expect(at(cursor)).toContain(Buffer.from('AAAAAAb').toString('hex'));
    expect(cursor.next()).toBe(true);
    expect(at(cursor)).toContain(Buffer.from('AAAAAAc').toString('hex'));
  });

  test('are sorted alike whether the heads of their rows are kept or not', () => {
    fc.assert(
      fc.property(mutations, fc.nat(300), (list, mostHeads) => {
        const arena = new CellArena(new ChunkPool(0));
        const cells = new LoadedCells(arena, mostHeads);
        const refs = list.flatMap(({ row: own, cells: each }, seq) =>
          each.slice(0, 1).map((first) => {
            const bytes = inBytes(own, first);
            const ref = arena.copy(bytes, seq, false);
            cells.add(ref, bytes, seq);
            return ref;
          }),
        );
        expect([...cells.sorted()]).toEqual(refs.sort((a, b) => compareRefs(arena, a, b)));
      }),
      { numRuns: scaled(4, 60, 500) },
    );
  });

  test('may be one row that all others begin with, or rows that only zeros tell apart', () => {
    const rows = ['user', ...Array.from({ length: 300 }, (_, i) => `user${'\0'.repeat((i * 7) % 300)}`)];
    const list = rows.map(
      (text): Mutation => ({ row: toBytes(text), cells: [[toBytes('q'), 1, 4, 0, toBytes('v')]] }),
    );
    expect(cellsOf(loaded(list))).toEqual(cellsOf(added(list)));
    const long = Array.from({ length: 300 }, (_, i) => `${'a'.repeat((i * 7) % 300)}b`);
    const chain = long.map(
      (text): Mutation => ({ row: toBytes(text), cells: [[toBytes('q'), 1, 4, 0, toBytes('v')]] }),
    );
    expect(cellsOf(loaded(chain))).toEqual(cellsOf(added(chain)));
  });
});

describe('rows that are added as a whole', () => {
  // More than a row's addresses begin with.
  const qualifiers = ['', 'a', 'b', 'b\0', ...'cdefghijklmnop', 'q'.repeat(40)].map(toBytes);
  const columnsOf = fc.subarray([...qualifiers.keys()], { minLength: 1 });
  const written = fc.record({
    row,
    columns: columnsOf,
    value: fc.oneof(fc.uint8Array({ maxLength: 9 }), fc.constant(new Uint8Array(300).fill(7))),
    back: fc.nat(9),
  });

  test('stand as if their cells had been added one by one, also when some are taken back', () => {
    fc.assert(
      fc.property(
        fc.array(written, { minLength: 1, maxLength: 200, size: 'max' }),
        fc.array(row),
        (list, others) => {
          const one = new Memstore(new ChunkPool(0));
          const other = new Memstore(new ChunkPool(0));
          list.forEach(({ row: own, columns: each, value, back }, seq) => {
            const before = seq % 3;
            const bytes = new Uint8Array(before + each.length * value.length);
            each.forEach((_, i) => {
              bytes.set(value, before + i * value.length);
            });
            const ends = each.map((_, i) => before + (i + 1) * value.length);
            const cells = new RowCells(qualifiers, [0, ...each], [before, ...ends], bytes);
            Object.assign(cells, {
              row: own,
              timestamp: 5 + (seq % 3),
              seq,
              first: 1,
              end: 1 + each.length,
              from: before,
            });
            other.addRow(cells, false);
            const refs = each.map((column, i) =>
              one.add(own, qualifiers[column]!, 5 + (seq % 3), CellType.Put, seq, 0, value, i > 0),
            );
            if (back > 0) return;
            for (let i = each.length - 1; i >= 0; i--) {
              one.rollback(refs[i]!);
              other.rollback(cells.refs[i]!);
            }
          });
          expect(cellsOf(other)).toEqual(cellsOf(one));
          const { size, minSeq, maxSeq, minTimestamp, maxTimestamp, markers } = one;
          expect(other).toMatchObject({ size, minSeq, maxSeq, minTimestamp, maxTimestamp, markers });
          expect(other.share().refs).toHaveLength(size);
          for (const sought of [...others, ...list.map((each) => each.row)]) {
            hashRow(sought, 0, sought.length);
            const hash = lane1;
            expect(other.mayHaveRow(hash, sought)).toBe(one.mayHaveRow(hash, sought));
            const [a, b] = [one.pointCursor, other.pointCursor];
            const key = new SeekKey().setRow(sought);
            expect(b.seekInRow(key, hash, -1)).toBe(a.seekInRow(key, hash, -1));
            if (a.valid) expect(at(b)).toBe(at(a));
            if (a.valid && a.next()) expect(b.next() && at(b)).toBe(at(a));
          }
        },
      ),
      { numRuns: scaled(8, 60, 500) },
    );
  });
});
