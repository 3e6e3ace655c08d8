import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareBytes, toBytes, toHex } from '../../../src/bytes/index.js';
import { type CellCursor, SeekKey } from '../../../src/store/cursor.js';
import { type CellBytes, ChunkPool, RowCells } from '../../../src/store/memstore/arena.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import { SharedMemstoreCursor } from '../../../src/store/memstore/memstore-cursor.js';
import { CellType } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

interface Entry {
  row: Uint8Array;
  qualifier: Uint8Array;
  timestamp: number;
  type: number;
  seq: number;
  ttl: number;
  value: Uint8Array;
}

function compareEntries(a: Entry, b: Entry): number {
  return (
    compareBytes(a.row, b.row) ||
    compareBytes(a.qualifier, b.qualifier) ||
    b.timestamp - a.timestamp ||
    b.type - a.type ||
    b.seq - a.seq
  );
}

function at(cursor: CellCursor): Entry {
  return {
    row: cursor.key.slice(cursor.rowOffset, cursor.rowOffset + cursor.rowLength),
    qualifier: cursor.key.slice(cursor.qualifierOffset, cursor.qualifierOffset + cursor.qualifierLength),
    timestamp: cursor.timestamp,
    type: cursor.type,
    seq: cursor.seq,
    ttl: cursor.ttl,
    value: cursor.value.slice(cursor.valueOffset, cursor.valueOffset + cursor.valueLength),
  };
}

function plain(entry: Entry): unknown[] {
  const { row, qualifier, timestamp, type, seq, ttl, value } = entry;
  return [[...row], [...qualifier], timestamp, type, seq, ttl, [...value]];
}

function drain(cursor: CellCursor): unknown[] {
  const out: unknown[] = [];
  for (let more = cursor.seekToFirst(); more; more = cursor.next()) out.push(plain(at(cursor)));
  return out;
}

const bytes = fc.oneof(
  fc.uint8Array({ min: 0, max: 3, maxLength: 3 }),
  fc.uint8Array({ maxLength: 12 }),
  fc.integer({ min: 0, max: 5000 }).map((n) => toBytes(`user${String(n).padStart(9, '0')}`)),
  // Long rows that differ early and at their ends.
  fc
    .tuple(fc.nat(3), fc.nat(600), fc.constantFrom('', '', '', '\0'))
    .map(([head, tail, end]) => toBytes(`of the sensor ${head}\0\0${String(tail).padStart(4, '0')}${end}`)),
  // Many rows of few beginnings, which mostly go on alike.
  fc
    .tuple(fc.nat(3), fc.constantFrom('.www/', '.www/', '.www/', '.www', '.wwx/', '.www\0'), fc.nat(600))
    .map(([site, behind, page]) => toBytes(`site-a${site}${behind}page-${page}`)),
);
const row = bytes.map((value) => (value.length === 0 ? Uint8Array.of(7) : value));
const type = fc.constantFrom(...Object.values(CellType));
const cell = fc.record({
  row,
  qualifier: bytes,
  timestamp: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.maxSafeInteger().map(Math.abs)),
  type,
  ttl: fc.constantFrom(0, 0, 1000),
  value: fc.uint8Array({ maxLength: 30 }),
});

function fill(cells: readonly Omit<Entry, 'seq'>[]): { memstore: Memstore; entries: Entry[] } {
  const memstore = new Memstore(new ChunkPool(0));
  const entries = cells.map((each, seq) => ({ ...each, seq }));
  for (const { row: r, qualifier, timestamp, type: t, seq, ttl, value } of entries) {
    memstore.add(r, qualifier, timestamp, t, seq, ttl, value);
  }
  return { memstore, entries: entries.sort(compareEntries) };
}

/** A cell in bytes of its own. */
function cellBytes({ row: own, qualifier, value, timestamp, type: t, ttl }: Omit<Entry, 'seq'>): CellBytes {
  const all = new Uint8Array([...own, ...qualifier, ...value]);
  return {
    timestamp,
    type: t,
    ttl,
    bytes: all,
    view: new DataView(all.buffer),
    rowOffset: 0,
    rowLength: own.length,
    qualifierOffset: own.length,
    qualifierLength: qualifier.length,
    valueOffset: own.length + qualifier.length,
    valueLength: value.length,
  };
}

function seekKey(entry: Pick<Entry, 'row' | 'qualifier' | 'timestamp' | 'type'>): SeekKey {
  const key = new SeekKey();
  key.row = entry.row;
  key.rowLength = entry.row.length;
  key.qualifier = entry.qualifier;
  key.qualifierLength = entry.qualifier.length;
  key.timestamp = entry.timestamp;
  key.type = entry.type;
  return key;
}

describe('memstore', () => {
  test('gives its cells back in order, to this thread and through shared memory', () => {
    fc.assert(
      fc.property(fc.array(cell, { maxLength: 700 }), (cells) => {
        const { memstore, entries } = fill(cells);
        const expected = entries.map(plain);
        expect(drain(memstore.cursor())).toEqual(expected);
        expect(drain(new SharedMemstoreCursor(memstore.share()))).toEqual(expected);
      }),
      { numRuns: scaled(20, 60, 600) },
    );
  });

  test('keeps the order of rows that are added as a whole, while others read and writes are taken back', () => {
    const written = fc.record({
      row,
      cells: fc.array(cell, { minLength: 1, maxLength: 12 }),
      sorted: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(written, { maxLength: 80 }), fc.func(fc.nat(9)), (rows, dice) => {
        const memstore = new Memstore(new ChunkPool(0));
        let entries: Entry[] = [];
        const refs: number[][] = [];
        rows.forEach(({ row: own, cells, sorted }, seq) => {
          const added = cells.map((each) => ({ ...each, row: own, seq }));
          if (sorted) added.sort(compareEntries);
          refs[seq] = [];
          added.forEach(({ qualifier, timestamp, type: t, ttl, value }, index) => {
            refs[seq]!.push(memstore.add(own, qualifier, timestamp, t, seq, ttl, value, index > 0));
            const later = added.slice(index + 1);
            if (later.every((other) => compareEntries(other, added[index]!) !== 0))
              entries.push(added[index]!);
          });
          if (dice(seq) === 0) memstore.cursor().seek(seekKey(rows[dice(seq, 1) % rows.length]!.cells[0]!));
          if (dice(seq) === 1) {
            for (let at = seq - 1; at >= Math.max(0, seq - 3); at--)
              for (const ref of refs[at]!.reverse()) memstore.rollback(ref);
            entries = entries.filter((entry) => entry.seq < seq - 3 || entry.seq === seq);
          }
        });
        expect(drain(memstore.cursor())).toEqual(entries.sort(compareEntries).map(plain));
      }),
      { numRuns: scaled(50, 150, 1500) },
    );
  });

  test('seeks to the first cell at or after a key, forwards and to the previous row', () => {
    fc.assert(
      fc.property(fc.array(cell, { maxLength: 400 }), fc.array(cell, { maxLength: 20 }), (cells, targets) => {
        const { memstore, entries } = fill(cells);
        const cursor = memstore.cursor();
        for (const target of targets) {
          const found = entries.find((entry) => compareEntries(entry, { ...target, seq: Infinity }) >= 0);
          expect(cursor.seek(seekKey(target))).toBe(found !== undefined);
          if (found) expect(plain(at(cursor))).toEqual(plain(found));
          const before = entries.filter((entry) => compareBytes(entry.row, target.row) < 0).at(-1);
          const first = before && entries.find((entry) => compareBytes(entry.row, before.row) === 0);
          expect(cursor.seekToPreviousRow(target.row)).toBe(first !== undefined);
          if (first) expect(plain(at(cursor))).toEqual(plain(first));
        }
      }),
      { numRuns: scaled(20, 60, 600) },
    );
  });

  test('finds rows among many that begin alike and go on alike but for a few', () => {
    const site = fc
      .tuple(fc.nat(4), fc.integer({ min: 0, max: 40 }), fc.nat(900))
      .map(([name, odd, page]) => {
        const behind = odd === 0 ? '.ww' : odd === 1 ? '.wwx/' : odd === 2 ? '.www' : '.www/of/';
        return toBytes(`site-a${name}${behind}page-${page}${odd === 3 ? '\0' : ''}`);
      });
    fc.assert(
      fc.property(fc.array(site, { minLength: 1500, maxLength: 1500 }), (rows) => {
        const memstore = new Memstore(new ChunkPool(0));
        const none = new Uint8Array(0);
        // Every other is only looked for.
        const added = rows.filter((_, i) => i % 2 === 0);
        added.forEach((each, seq) => void memstore.add(each, none, 1, CellType.Put, seq, 0, none));
        const sorted = [...added].sort(compareBytes);
        const cursor = memstore.cursor();
        const found: Uint8Array[] = [];
        for (let more = cursor.seekToFirst(); more; more = cursor.next()) found.push(at(cursor).row);
        expect(found.map((each) => toHex(each))).toEqual(sorted.map((each) => toHex(each)));
        const key = new SeekKey();
        for (const each of rows) {
          const next = sorted.find((other) => compareBytes(other, each) >= 0);
          expect(cursor.seek(key.setRow(each))).toBe(next !== undefined);
          if (next !== undefined) expect(toHex(at(cursor).row)).toBe(toHex(next));
        }
      }),
      { numRuns: scaled(1, 20, 200) },
    );
  });

  test('finds rows of several cells that were added in order, and others between them', () => {
    const reading = fc
      .tuple(fc.nat(12), fc.nat(400), fc.nat(30))
      .map(([sensor, number, odd]) =>
        Uint8Array.of(
          ...toBytes(`sensor-${sensor}`),
          ...(odd === 0 ? [0, 0xff, 0, 1] : [0, 1]),
          ...[0, 0, number >> 8, number & 0xff].slice(0, odd === 1 ? 2 : odd === 2 ? 3 : 4),
        ),
      );
    const different = fc.uniqueArray(reading, { minLength: 500, maxLength: 500, selector: toHex });
    fc.assert(
      fc.property(different, fc.nat(300), (rows, late) => {
        const memstore = new Memstore(new ChunkPool(0));
        const none = new Uint8Array(0);
        const qualifiers = ['k', 'o', 'q', 't', 'u', 'v', 'w'].map((name) => toBytes(name));
        const columns = qualifiers.map((_, column) => column);
        // Every fourth is only looked for.
        const added = rows.filter((_, i) => i % 4 !== 0);
        const inOrder = [...added.slice(late)].sort(compareBytes);
        [...inOrder, ...added.slice(0, late)].forEach((each, seq) => {
          const cells = new RowCells(
            qualifiers,
            columns,
            qualifiers.map(() => 0),
            none,
          );
          Object.assign(cells, { row: each, timestamp: 1, seq, end: columns.length });
          memstore.addRow(cells, false);
        });
        const sorted = [...added].sort(compareBytes);
        const cursor = memstore.cursor();
        const found: string[] = [];
        for (let more = cursor.seekToFirst(); more; more = cursor.next())
          found.push(`${toHex(at(cursor).row)} ${toHex(at(cursor).qualifier)}`);
        const expected = sorted.flatMap((each) =>
          qualifiers.map((qualifier) => `${toHex(each)} ${toHex(qualifier)}`),
        );
        expect(found).toEqual(expected);
        const key = new SeekKey();
        for (const each of rows) {
          const next = sorted.find((other) => compareBytes(other, each) >= 0);
          expect(cursor.seek(key.setRow(each))).toBe(next !== undefined);
          if (next !== undefined) expect(toHex(at(cursor).row)).toBe(toHex(next));
        }
      }),
      { numRuns: scaled(3, 30, 300) },
    );
  });

  test('keeps the order of rows that come after the last of a leaf, and belong behind the next leaf', () => {
    const memstore = new Memstore(new ChunkPool(0));
    const none = new Uint8Array(0);
    let seq = 0;
    const put = (number: number): void => {
      const cells = new RowCells([none, toBytes('q')], [0, 1], [0, 0], none);
      Object.assign(cells, {
        row: Uint8Array.of(number >> 8, number & 0xff),
        timestamp: 1,
        seq: seq++,
        end: 2,
      });
      memstore.addRow(cells, false);
    };
    for (let number = 0; number < 2400; number += 3) put(number);
    // Every place once, in an order without one.
    for (let i = 0; i < 800; i++) {
      const number = 3 * ((i * 379) % 800) + 1;
      put(number);
      put(number + 61);
    }
    const numbers: number[] = [];
    const cursor = memstore.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next())
      numbers.push((cursor.key[cursor.rowOffset]! << 8) | cursor.key[cursor.rowOffset + 1]!);
    expect(numbers).toHaveLength(4800);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  });

  test('tells whether a range of rows is free, of one leaf or many, and not of rows that wait to be sorted', () => {
    const id = fc.integer({ min: 100, max: 999 }).map((number) => toBytes(String(number)));
    const some = fc.oneof(fc.array(id), fc.array(id, { minLength: 300, maxLength: 400 }));
    fc.assert(
      fc.property(some, fc.array(fc.tuple(id, id)), (rows, ranges) => {
        const memstore = new Memstore(new ChunkPool(0));
        const none = new Uint8Array(0);
        rows.forEach((each, seq) => {
          for (const qualifier of [none, toBytes('q')])
            memstore.add(each, qualifier, 1, CellType.Put, seq, 0, none, qualifier !== none);
        });
        const check = (first: Uint8Array, last: Uint8Array): void => {
          const taken = rows.some((each) => compareBytes(first, each) <= 0 && compareBytes(each, last) <= 0);
          expect(memstore.isFree(new SeekKey().setRow(first), last)).toBe(!taken);
        };
        for (const range of ranges) check(...(range.sort(compareBytes) as [Uint8Array, Uint8Array]));
        for (const each of rows) {
          check(each, each);
          const behind = Uint8Array.of(...each, 0);
          check(behind, Uint8Array.of(...each, 1));
          check(behind, toBytes('999'));
        }
        const waiting = {
          row: toBytes('5'),
          qualifier: none,
          timestamp: 1,
          type: CellType.Put,
          ttl: 0,
          value: none,
        };
        memstore.addUnsorted(cellBytes(waiting), rows.length);
        expect(memstore.isFree(new SeekKey().setRow(toBytes('a')), toBytes('b'))).toBe(false);
        memstore.sortLoaded();
        expect(memstore.isFree(new SeekKey().setRow(toBytes('a')), toBytes('b'))).toBe(true);
        expect(memstore.isFree(new SeekKey().setRow(toBytes('5')), toBytes('5'))).toBe(false);
      }),
      { numRuns: scaled(20, 200, 2000) },
    );
  });

  test('a cursor goes on in order while cells are added behind and before it', () => {
    fc.assert(
      fc.property(
        fc.array(cell, { minLength: 1, maxLength: 600 }),
        fc.array(cell, { maxLength: 600 }),
        (first, later) => {
          const { memstore, entries } = fill(first);
          const cursor = memstore.cursor();
          const seen: unknown[] = [];
          let seq = first.length;
          for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
            if (cursor.seq < first.length) seen.push(plain(at(cursor)));
            const extra = later[seq - first.length];
            if (extra)
              memstore.add(extra.row, extra.qualifier, extra.timestamp, extra.type, seq++, 0, extra.value);
          }
          expect(seen).toEqual(entries.map(plain));
        },
      ),
      { numRuns: scaled(20, 60, 600) },
    );
  });

  test('of two cells that are equal in everything the later stands', () => {
    const memstore = new Memstore(new ChunkPool(0));
    memstore.add(toBytes('r'), toBytes('q'), 5, CellType.Put, 9, 0, toBytes('a'));
    memstore.add(toBytes('r'), toBytes('q'), 5, CellType.Put, 9, 0, toBytes('b'));
    expect(drain(memstore.cursor()).length).toBe(1);
    const cursor = memstore.cursor();
    cursor.seekToFirst();
    expect(at(cursor).value).toEqual(toBytes('b'));
  });

  test('cells larger than a chunk stand beside small ones', () => {
    const memstore = new Memstore(new ChunkPool(0));
    const large = new Uint8Array(3 << 20).fill(7);
    memstore.add(toBytes('b'), toBytes('q'), 1, CellType.Put, 1, 5, large);
    memstore.add(toBytes('a'), toBytes('q'), 1, CellType.Put, 2, 6, toBytes('small'));
    memstore.add(toBytes('c'), toBytes('q'), 1, CellType.Put, 3, 7, large.subarray(0, 900_000));
    const lengths: number[][] = [];
    const cursor = memstore.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next())
      lengths.push([cursor.valueLength, cursor.ttl]);
    expect(lengths).toEqual([
      [5, 6],
      [3 << 20, 5],
      [900_000, 7],
    ]);
  });

  test.each([
    [5, [5, 4, 6]],
    [4, [5, 4, 6]],
    [3, [5, 4, 3, 6]],
  ])('an upsert seen up to %i drops the puts of its column behind the one before it', (readPoint, left) => {
    const memstore = new Memstore(new ChunkPool(0));
    let ref = 0;
    for (let seq = 1; seq <= 5; seq++)
      ref = memstore.add(toBytes('r'), toBytes('q'), seq, CellType.Put, seq, 0, toBytes(`${seq}`));
    memstore.add(toBytes('r'), toBytes('q2'), 1, CellType.Put, 6, 0, toBytes('other'));
    memstore.dropOlderVersions(ref, readPoint);
    const seqs = drain(memstore.cursor()).map((entry) => (entry as number[])[4]);
    expect(seqs).toEqual(left);
  });
});
