/** The bytes of entries. FROZEN: docs/indexes-internals.md has them. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { toBytes, toHex } from '../../src/bytes/index.js';
import { date, int32, text } from '../../src/codec/index.js';
import { CorruptionError, KeyError } from '../../src/errors.js';
import {
  decodeEntry,
  decodeList,
  encodeEntryValue,
  encodeList,
  NOTE_VALUE,
  notePrefix,
  noteRow,
  UNVERIFIED,
  unverifiedValue,
  VERIFIED,
} from '../../src/features/indexes/entry.js';
import {
  desc,
  hash,
  type KeyElement,
  part,
  reverse,
  reverseTimestamp,
  salt,
  timeBucket,
} from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { scaled } from '../proof/scale.js';
import { codePoint } from '../proof/texts.js';
import { Person } from './entities.js';

const { indexes } = compileSchema([Person]).entity(Person);
const TOKEN = Uint8Array.of(0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8);
const byName = (name: string) => indexes.find((index) => index.name === name)!;

/** Elements of every kind, and what stands in them. */
const ELEMENTS: readonly (readonly [KeyElement, fc.Arbitrary<unknown>])[] = [
  [part('t'), fc.string({ unit: codePoint, maxLength: 6 })],
  [part('t', desc(text)), fc.string({ unit: codePoint, maxLength: 6 })],
  [reverse('t'), fc.string({ unit: codePoint, maxLength: 6 })],
  [hash('t', { bytes: 2 }), fc.string({ maxLength: 6 })],
  [hash('t', { bytes: 1, keep: true }), fc.string({ unit: codePoint, maxLength: 6 })],
  [part('n', int32), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [part('n', desc(int32)), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [part('d', date), fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(2 ** 40) })],
  [reverseTimestamp('d'), fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(2 ** 40) })],
  [timeBucket('d', '1d'), fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(2 ** 40) })],
];
const nameOf = (element: KeyElement): string => element.parts[0]!;

describe('an entry', () => {
  test('of any elements gives back its row, and none of its beginnings does', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom(...ELEMENTS), {
          minLength: 1,
          maxLength: 3,
          selector: ([e]) => nameOf(e),
        }),
        fc.boolean(),
        fc.uint8Array({ minLength: 1, maxLength: 9 }),
        fc.gen(),
        (drawn, salted, row, gen) => {
          const on = [...(salted ? [salt(3)] : []), ...drawn.map(([element]) => element)];
          const target = defineEntity({
            name: 'Any',
            table: defineTable({ name: 'any', families: { d: {} } }),
            key: [part('id')],
            columns: (c) => ({
              t: c.column('d:t', text).optional(),
              n: c.column('d:n', int32).optional(),
              d: c.column('d:d', date).optional(),
            }),
            indexes: { drawn: { on } } as never,
          });
          const [index] = compileSchema([target as never]).entity(target as never).indexes;
          const values = Object.fromEntries(drawn.map(([e, value]) => [nameOf(e), gen(() => value)]));
          const entry = index!.layout.encode({ ...values, $row: row });
          expect(index!.layout.decodeLast(entry)).toEqual(row);
          for (let length = 0; length < entry.length; length++) {
            const cut = entry.subarray(0, length);
            let found: unknown;
            try {
              found = index!.layout.decodeLast(cut);
            } catch (error) {
              expect(error).toBeInstanceOf(KeyError);
              continue;
            }
            // What is cut off is of the row itself.
            expect(row.subarray(0, (found as Uint8Array).length)).toEqual(found);
          }
        },
      ),
      { numRuns: scaled(10, 400, 5000) },
    );
  });

  test('of an eventual index is noted under the complement of its id', () => {
    const entry = Uint8Array.of(0x00, 0x0f, 0xff, 0x55, 0x61, 0x00);
    expect(toHex(noteRow(entry))).toBe('fff000aa6100');
    expect(toHex(notePrefix(entry.subarray(0, 4)))).toBe('fff000aa');
    expect(noteRow(noteRow(entry))).toEqual(entry);
    expect(toHex(NOTE_VALUE)).toBe('01');
  });

  test('is listed without its row, in the order of bytes', () => {
    const entries = [Uint8Array.of(2, 0, 0, 0, 0x61), Uint8Array.of(1, 0, 0, 0)];
    expect(toHex(encodeList(entries))).toBe('04010000000502000000' + '61');
    expect(decodeList(encodeList(entries)).map(toHex)).toEqual(['01000000', '0200000061']);
    expect(encodeList([])).toHaveLength(0);
    const some = fc.uniqueArray(fc.uint8Array({ minLength: 4, maxLength: 300 }), { selector: toHex });
    fc.assert(
      fc.property(some, (entries) => {
        const list = encodeList(entries);
        expect(decodeList(list).map(toHex)).toEqual(entries.map(toHex).sort());
        for (let length = 1; length < list.length; length++) {
          let found: Uint8Array[];
          try {
            found = decodeList(list.subarray(0, length));
          } catch (error) {
            expect(error).toBeInstanceOf(CorruptionError);
            continue;
          }
          expect(found.length).toBeLessThan(entries.length);
        }
      }),
      { numRuns: scaled(10, 400, 5000) },
    );
  });

  test('has golden bytes', () => {
    const byStatus = byName('byStatus');
    expect(toHex(byStatus.id)).toBe('b4426d42');
    const values = { status: 'open', placedAt: new Date(5), $row: toBytes('\x01ab') };
    expect(toHex(byStatus.layout.encode(values))).toBe(
      `${toHex(byStatus.id)}6f70656e00017ffffffffffffffa016162`,
    );
    expect(toHex(encodeEntryValue(byStatus, toBytes('r'), [undefined, Uint8Array.of(7, 8)]))).toBe(
      '0100030708',
    );
    const byEmail = byName('byEmail');
    expect(toHex(byEmail.id)).toBe('f329f1a2');
    expect(toHex(byEmail.layout.encode({ email: 'a@x' }))).toBe(`${toHex(byEmail.id)}614078`);
    expect(toHex(unverifiedValue(encodeEntryValue(byEmail, toBytes('row'), []), TOKEN))).toBe(
      '02a1a2a3a4a5a6a7a803726f77',
    );
    expect(toHex(encodeEntryValue(byName('spread'), toBytes('row'), []))).toBe('01');
  });

  test('is read as it was written, and refused when it is cut or has more', () => {
    const index = byName('byStatus');
    const row = index.layout.encode({ status: 'open', placedAt: new Date(5), $row: toBytes('r') });
    const value = encodeEntryValue(index, toBytes('r'), [toBytes('abc'), undefined]);
    expect(decodeEntry(index, row, value)).toEqual({
      state: VERIFIED,
      token: undefined,
      dataRow: toBytes('r'),
      cells: [toBytes('abc'), undefined],
    });
    expect(decodeEntry(index, row, unverifiedValue(value, TOKEN))).toEqual({
      state: UNVERIFIED,
      token: TOKEN,
      dataRow: toBytes('r'),
      cells: [toBytes('abc'), undefined],
    });
    expect(index.layout.decodeLast(row)).toEqual(index.layout.decode(row)['$row']);
    const { id } = index;
    for (const broken of [
      id,
      row.subarray(0, id.length + 3),
      Uint8Array.of(id[0]! ^ 1, ...row.subarray(1)),
    ]) {
      expect(() => index.layout.decodeLast(broken)).toThrow(KeyError);
    }
    for (let length = 0; length < value.length; length++) {
      expect(() => decodeEntry(index, row, value.subarray(0, length))).toThrow();
    }
    const longer = new Uint8Array(value.length + 1);
    longer.set(value);
    expect(() => decodeEntry(index, row, longer)).toThrow(/cannot be read/);
    expect(() =>
      decodeEntry(index, row, Uint8Array.of(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f)),
    ).toThrow();
  });
});
