import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../src/bytes/index.js';
import { CorruptionError } from '../../../src/errors.js';
import { cellHead, readWriteRecord, WriteRecordBuilder } from '../../../src/store/commit/write-record.js';
import { CellType } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { goldenBytes } from '../golden.js';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const mutations = fc.array(
  fc.record({
    table: fc.nat(),
    row: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    cells: fc.array(
      fc.tuple(
        fc.nat(300),
        bytes(40),
        fc.maxSafeInteger().map(Math.abs),
        fc.constantFrom(4, 8, 10, 12, 14),
        fc.constantFrom(0, 1, 10 ** 12),
        fc.oneof(bytes(60), fc.constant(new Uint8Array(200_000).fill(3))),
      ),
      { maxLength: 5 },
    ),
  }),
  { maxLength: 6 },
);

function build(
  list: readonly {
    table: number;
    row: Uint8Array;
    cells: [number, Uint8Array, number, number, number, Uint8Array][];
  }[],
): Uint8Array {
  const builder = new WriteRecordBuilder();
  for (const { table, row, cells } of list) {
    builder.beginMutation(table, row, cells.length);
    for (const [family, qualifier, timestamp, type, ttl, value] of cells) {
      builder.cell(family, qualifier, timestamp, type, ttl, value);
    }
  }
  return builder.buffer.slice(0, builder.length);
}

describe('write records', () => {
  test('give back what was written', () => {
    fc.assert(
      fc.property(mutations, (list) => {
        const seen: unknown[] = [];
        const count = readWriteRecord(build(list), {
          cell: ({ mutation, table, row, family, qualifier, timestamp, type, ttl, value }) => {
            seen.push([
              mutation,
              table,
              [...row],
              family,
              [...qualifier],
              timestamp,
              type,
              ttl,
              Buffer.from(value).toString('hex'),
            ]);
          },
        });
        expect(count).toBe(list.length);
        const expected = list.flatMap(({ table, row, cells }, index) =>
          cells.map(([family, qualifier, timestamp, type, ttl, value]) => [
            index,
            table,
            [...row],
            family,
            [...qualifier],
            timestamp,
            type,
            ttl,
            Buffer.from(value).toString('hex'),
          ]),
        );
        expect(seen).toEqual(expected);
      }),
      { numRuns: scaled(20, 100, 1000) },
    );
  });

  test('have the same bytes when puts get what those of a column have in common', () => {
    fc.assert(
      fc.property(mutations, bytes(4), (list, before) => {
        const builder = new WriteRecordBuilder();
        const puts = list.map(({ cells, ...rest }) => ({
          ...rest,
          cells: cells.map(([family, qualifier, timestamp, , , value]): (typeof cells)[0] => [
            family,
            qualifier,
            timestamp,
            CellType.Put,
            0,
            value,
          ]),
        }));
        for (const { table, row, cells } of puts) {
          builder.beginMutation(table, row, cells.length);
          for (const [family, qualifier, timestamp, , , value] of cells) {
            const held = new Uint8Array(Buffer.concat([before, value, before]));
            const view = new DataView(held.buffer);
            builder.putCell(cellHead(family, qualifier, timestamp), view, before.length, value.length);
          }
        }
        expect(Buffer.compare(builder.buffer.subarray(0, builder.length), build(puts))).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  test('every cut within a mutation is corruption', () => {
    const payload = build([
      {
        table: 300,
        row: Uint8Array.of(1, 2),
        cells: [[1, Uint8Array.of(5), 2 ** 40, 4, 9, Uint8Array.of(6, 7)]],
      },
    ]);
    for (let length = 1; length < payload.length; length++) {
      expect(() => readWriteRecord(payload.subarray(0, length), { cell: () => {} })).toThrow(CorruptionError);
    }
  });

  test('a row longer than any is corruption', () => {
    const cell = [1, Uint8Array.of(5), 1, 4, 0, Uint8Array.of(6)] as const;
    const record = (length: number): Uint8Array =>
      build([{ table: 3, row: new Uint8Array(length), cells: [[...cell]] }]);
    expect(readWriteRecord(record(32767), { cell: () => {} })).toBe(1);
    expect(() => readWriteRecord(record(32768), { cell: () => {} })).toThrow(CorruptionError);
  });

  test('a number beyond 2^53 is corruption', () => {
    expect(() => readWriteRecord(new Uint8Array(9).fill(0xff), { cell: () => {} })).toThrow(CorruptionError);
  });
});

test('the record of docs/formats.md is what is written', () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const builder = new WriteRecordBuilder();
  builder.beginMutation(3, text('row1'), 2);
  builder.cell(5, text('a'), 1000, CellType.Put, 0, text('hi'));
  builder.cell(5, text('b'), 2000, CellType.DeleteColumn, 1500, new Uint8Array(0));
  builder.clock(3000, 3000);
  expect(toHex(builder.buffer.subarray(0, builder.length))).toBe(toHex(goldenBytes('write-record')));
  builder.reset();
  builder.clock(3000, 2990);
  expect(toHex(builder.buffer.subarray(0, builder.length))).toBe(toHex(goldenBytes('write-record-time')));
});
