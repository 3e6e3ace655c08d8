/** Tables that Rowan did not write: what is guessed of them reads what was written, and says how much of it agrees. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { bytes, date, float64, int64, json, text, uuid } from '../../src/codec/index.js';
import { introspectForeign } from '../../src/ddl/index.js';
import {
  compileKeyLayout,
  hash,
  type KeyElement,
  kiji,
  part,
  phoenix,
  raw,
  reverseTimestamp,
  salt,
  uint8,
} from '../../src/key/index.js';
import { Cell, CellType, Result, tableDescriptor } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { schemaOf } from './declared-by.js';

const FAMILIES = tableDescriptor('foreign', { d: {} });

interface Coder {
  encode(value: unknown): Uint8Array;
}

function rowOf(row: Uint8Array, columns: Readonly<Record<string, Uint8Array>>): Result {
  const names = Object.keys(columns).sort();
  return new Result(
    row,
    names.map((name) => new Cell(row, 'd', Buffer.from(name), 1, CellType.Put, columns[name]!)),
  );
}

function guessed(rows: readonly Result[]) {
  const { source, inexact } = introspectForeign({ descriptor: FAMILIES, splitKeys: [] }, rows);
  return { source, inexact, entity: schemaOf(source).entities[0]! };
}

const word = fc.stringMatching(/^[a-z]{2,9}$/);
const time = fc.date({ min: new Date('2001-01-01'), max: new Date('2030-01-01'), noInvalidDate: true });
const small = fc.integer({ min: -90_000, max: 90_000 });
const long = fc.bigInt({ min: -(2n ** 50n), max: 2n ** 50n }).filter((n) => n < -1_000_000n || n > -100n);

/** Keys that programs have, with values for their parts. */
const KEYS: readonly (readonly [
  string,
  readonly KeyElement[],
  Readonly<Record<string, fc.Arbitrary<unknown>>>,
  RegExp,
])[] = [
  ['text', [part('a', raw.string)], { a: word }, /\[part\('part1', raw\.string\)\]/],
  [
    'joined text',
    [part('a', raw.joined('|')), part('b', raw.joined('|')), part('c', raw.string)],
    { a: word, b: word, c: word },
    /raw\.joined\("\|"\)/,
  ],
  ['a long of Bytes', [part('a', raw.int64)], { a: fc.bigInt({ min: 0n, max: 1_000_000n }) }, /raw\.int64/],
  [
    'Phoenix: VARCHAR, BIGINT',
    [part('a', phoenix.varchar), part('b', phoenix.bigint)],
    { a: word, b: fc.bigInt({ min: -99_999n, max: 99_999n }) },
    /phoenix\.varchar\), part\('part2', int64\)/,
  ],
  [
    'Phoenix with SALT_BUCKETS',
    [salt(8, { algorithm: 'phoenix' }), part('a', phoenix.varchar), part('b', int64)],
    { a: word, b: fc.bigInt({ min: 0n, max: 99_999n }) },
    /salt\(8, \{ algorithm: 'phoenix' \}\)/,
  ],
  [
    'Kiji: a hash, STRING, LONG',
    [hash('a', { bytes: 2 }), part('a', kiji.string), part('b', kiji.long)],
    { a: word, b: fc.bigInt({ min: 0n, max: 99_999n }) },
    /hash\('part1', \{ algorithm: 'md5', bytes: 2 \}\)/,
  ],
  [
    "Rowan's salts and text",
    [salt(16), part('a'), part('b', date)],
    { a: word, b: time },
    /salt\(16\), part\('part1'\), part\('part2', date\)/,
  ],
  [
    'reversed time behind text',
    [part('a', raw.joined('#')), reverseTimestamp('b')],
    { a: word, b: time },
    /reverseTimestamp\('part2'\)/,
  ],
  ['uuids', [part('a', uuid)], { a: fc.uuid() }, /part\('part1', uuid\)/],
  [
    'salts of an unknown hash',
    [part('s', uint8), part('a', raw.string)],
    { s: fc.integer({ min: 0, max: 7 }), a: word },
    /part\('salt', uint8\), part\('part1', raw\.string\)/,
  ],
];

describe('keys', () => {
  test.each(KEYS)('%s', (_, elements, values, expected) => {
    const layout = compileKeyLayout(elements, () => text as never);
    const sample = fc.sample(fc.record(values), { numRuns: 60, seed: 7 }) as Record<string, unknown>[];
    const rows = sample.map((value) => rowOf(layout.encode(value), { x: Buffer.from('x') }));
    const { source, entity } = guessed(rows);
    expect(source).toMatch(expected);
    expect(source).toContain('100 % of 60 rows');
    for (const { row } of rows) expect(entity.key.encode(entity.key.decode(row))).toEqual(row);
  });

  it('takes what it does not know for bytes', () => {
    const rows = fc
      .sample(fc.uint8Array({ minLength: 3, maxLength: 30 }), { numRuns: 100, seed: 3 })
      .map((row) => rowOf(row, { x: row }));
    expect(guessed(rows).source).toContain("key: [part('row', raw.bytes)]");
  });
});

const COLUMNS: readonly (readonly [
  name: string,
  text: string,
  codec: unknown,
  values: fc.Arbitrary<unknown>,
])[] = [
  ['text', 'text', text, fc.string({ unit: fc.constantFrom(...'abc äöü€ 42.'), minLength: 1 })],
  ['json', 'json()', json(), fc.record({ a: small, b: word })],
  ['Bytes.toBytes(long)', 'raw.int64', raw.int64, long],
  ['a sortable long', 'int64', int64, long],
  ['Bytes.toBytes(int)', 'raw.int32', raw.int32, small],
  ['Phoenix INTEGER', 'int32', phoenix.integer, small],
  ['Bytes.toBytes(double)', 'raw.float64', raw.float64, fc.double({ min: 0.001, max: 1e9, noNaN: true })],
  ['a sortable double', 'float64', float64, fc.double({ min: 0.001, max: 1e9, noNaN: true })],
  ['milliseconds', 'raw.date', raw.date, time],
  ['Phoenix DATE', 'date', phoenix.date, time],
  ['Bytes.toBytes(boolean)', 'raw.boolean', raw.boolean, fc.boolean()],
  ['a UUID', 'uuid', uuid, fc.uuid()],
  [
    'bytes',
    'bytes',
    bytes,
    fc.uint8Array({ minLength: 1, maxLength: 40 }).filter((b) => b.some((x) => x < 9)),
  ],
];

test('columns read what was written', () => {
  fc.assert(
    fc.property(
      fc.record(
        Object.fromEntries(
          COLUMNS.map(([, name, , values]) => [name, fc.array(values, { minLength: 20, maxLength: 40 })]),
        ),
      ),
      (given) => {
        for (const [what, name, codec] of COLUMNS) {
          const values = given[name]!;
          const cells = values.map((value) => (codec as Coder).encode(value));
          const { source, entity } = guessed(
            cells.map((cell, i) => rowOf(Buffer.from(`row${i}`), { x: cell })),
          );
          const column = entity.columnsByProperty.get('x')!;
          // Zeros and the like are of several codecs: what counts is that the same is read.
          expect(
            cells.map((cell) => column.codec.decode(cell)),
            `${what}\n${source}`,
          ).toEqual(cells.map((cell) => (codec as { decode(bytes: Uint8Array): unknown }).decode(cell)));
        }
      },
    ),
    { numRuns: scaled(1, 12, 500) },
  );
});

test('says how many cells agree, what names an Avro schema, and takes many columns for a Map', () => {
  const rows = Array.from({ length: 100 }, (_, i) =>
    rowOf(Buffer.from(`row${i}`), {
      mostly: i < 90 ? Buffer.from('word') : Buffer.from([0, 1]),
      avro: Buffer.concat([Buffer.from('c301', 'hex'), Buffer.alloc(8, 7), Buffer.from([i, 0, 3])]),
      digest: Buffer.alloc(20, 200 + i),
    }),
  );
  const { source, inexact, entity } = guessed(rows);
  expect(source).toContain('// 90 % of 100 cells agree\n    "mostly"');
  expect(source).toContain('single-object encoding');
  expect(source).toContain('always 20 bytes');
  expect(inexact).toHaveLength(1);
  expect(entity.marker).toBeUndefined();
  const wide = guessed(
    Array.from({ length: 10 }, (_, i) =>
      rowOf(
        Buffer.from(`row${i}`),
        Object.fromEntries(
          Array.from({ length: 20 }, (_, j) => [`c${i}x${j}`, (raw.int32 as Coder).encode(j)]),
        ),
      ),
    ),
  );
  expect(wide.source).toContain('c.columns("d:", { key: text, value: raw.int32 })');
  expect(() => guessed([])).toThrow(/neither stamps nor rows/);
});
