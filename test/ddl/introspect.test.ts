/** What is introspected of a table declares the same bytes as what the table was made of. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { defineEntity, defineTable, part, recordType } from '../../decorators/index.js';
import { toHex } from '../../src/bytes/index.js';
import {
  bytes,
  cidr,
  date,
  decimal,
  enumeration,
  fixedBytes,
  fixedString,
  int32,
  int64,
  ipv4,
  ipv6,
  json,
  ksuid,
  numericEnum,
  text,
  textNumber,
  uint8,
  ulid,
} from '../../src/codec/index.js';
import { introspect, stampedDescriptor } from '../../src/ddl/index.js';
import {
  bucket,
  desc,
  hash,
  type KeyElement,
  literal,
  reverse,
  reverseDigits,
  reverseDomain,
  reverseTimestamp,
  salt,
  substitute,
  timeBucket,
} from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { avroColumns } from '../../src/schema/index.js';
import type { TableSchema } from '../../src/schema/types.js';
import { tableDescriptor } from '../../src/table/index.js';
import { Account, Doc, Visit } from '../fixtures/stores/entities.js';
import { scaled } from '../proof/scale.js';
import { declaredBy } from './declared-by.js';
import { compiled, schemaPairs } from './random-schemas.js';

function introspected(table: TableSchema): {
  again: TableSchema;
  inexact: readonly string[];
  source: string;
} {
  const schemas = new Map(
    table.entities.flatMap((entity) =>
      avroColumns(entity).map(({ subject, codec }) => [subject, JSON.stringify(codec.schema)] as const),
    ),
  );
  const { source, inexact } = introspect(
    { descriptor: stampedDescriptor(table), splitKeys: table.splitKeys },
    schemas,
    table.entities.flatMap(({ name: entity, indexes }) =>
      indexes.map(({ name: index, signature }) => ({
        entity,
        index,
        signature,
        state: 'active' as const,
        build: 0,
      })),
    ),
  );
  return { again: declaredBy(source), inexact, source };
}

function expectSame(table: TableSchema): void {
  const { again, inexact, source } = introspected(table);
  expect([source, inexact]).toEqual([source, []]);
  expect(again.signature).toBe(table.signature);
  expect(again.descriptor).toEqual(table.descriptor);
  const indexesOf = ({ entities }: TableSchema): string[] =>
    entities.flatMap(({ indexes }) => indexes.map(({ signature }) => signature));
  expect(indexesOf(again)).toEqual(indexesOf(table));
  expect(again.splitKeys.map(toHex)).toEqual(table.splitKeys.map(toHex));
}

test('record types, counters, maps, dictionaries and Avro', () => {
  for (const table of compileSchema([Account, Visit, Doc]).tables) expectSame(table);
});

test('every option of tables and families', () => {
  fc.assert(
    fc.property(schemaPairs('ns:things'), ([schema]) => expectSame(compiled(schema).tables[0]!)),
    { numRuns: scaled(6, 100, 1000) },
  );
});

const KEYS: readonly (readonly KeyElement[])[] = [
  [part('a')],
  [part('a', int32), desc(part('b', text)), part('c', desc(date))],
  [salt(16), part('a'), part('b', textNumber(8))],
  [salt(4, { over: ['a', 'b'] }), part('a'), part('b', fixedString(3, '-'))],
  [salt(4, { algorithm: 'phoenix' }), part('a')],
  [salt(4, { assign: 'random' }), part('a')],
  [hash('a', { keep: true }), part('b', ulid)],
  [hash(['a', 'b'], { bytes: 4, encoding: 'hex' }), part('a'), part('b')],
  [bucket('a', 8), part('a', int64)],
  [part('who'), timeBucket('at', '1h'), part('at', date)],
  [part('who'), desc(timeBucket('at', '1w', { unit: 's' })), part('at', desc(date))],
  [literal('log'), reverseTimestamp('at'), reverse('a'), reverseDomain('b')],
  [reverseDigits('n', 6, 'bigint'), part('e', enumeration({ 'o"k': 1, no: 300 }, { bytes: 2 }))],
  [substitute('site', 'si tes', { bytes: 2 }), reverseTimestamp('at', { as: 'number', text: true })],
];

describe('keys', () => {
  test.each(KEYS.map((key) => [key.map(({ kind }) => kind).join(' '), key] as const))('%s', (_, key) => {
    const Thing = defineEntity({
      name: 'Thing',
      table: defineTable({ name: 'things', families: { d: {} } }),
      key: key as readonly [KeyElement],
      columns: (c) => ({ x: c.column('d:x', json()) }),
    });
    expectSame(compileSchema([Thing as never]).tables[0]!);
  });
});

test('columns of every codec that a name tells', () => {
  const codecsOf = {
    bytes,
    date,
    decimal: decimal(3),
    fixed: fixedBytes(4),
    padded: fixedBytes(4, 0),
    uint8,
    ulid,
    ksuid,
    ipv4,
    ipv6,
    cidr,
    level: numericEnum({ Member1: 1, Member300: 300 }),
    json: json(),
  };
  const Thing = defineEntity({
    name: 'A thing',
    table: defineTable({ name: 'things', families: { d: {}, m: {} } }),
    recordType: 7,
    marker: false,
    key: [recordType(), part('a')],
    columns: (c) => ({
      ...Object.fromEntries(
        Object.entries(codecsOf).map(([name, codec]) => [
          name,
          c.column(`d:${name}` as 'd:x', codec as typeof text),
        ]),
      ),
      n: c.counter('d:n'),
      map: c.columns('m:', { key: int32, value: text }),
    }),
  });
  expectSame(compileSchema([Thing]).tables[0]!);
});

it('a codec of the program’s own is told to be unknown, at its place', () => {
  const own = { ...text, name: 'mine', encode: text.encode.bind(text), decode: text.decode.bind(text) };
  const Thing = defineEntity({
    name: 'Thing',
    table: defineTable({ name: 'things', families: { d: {} } }),
    key: [part('a')],
    columns: (c) => ({ x: c.column('d:x', own) }),
  });
  const { inexact, source } = introspected(compileSchema([Thing]).tables[0]!);
  expect(inexact).toEqual(['Thing.x: the codec mine cannot be derived from its name']);
  expect(source).toContain('bytes /* Thing.x: the codec mine cannot be derived from its name */');
});

it('a table that Rowan did not write is refused', () => {
  const descriptor = tableDescriptor('foreign', { d: {} });
  expect(() => introspect({ descriptor, splitKeys: [] })).toThrow(/has no stamps/);
});

describe('indexes', () => {
  const thing = (indexes: object) =>
    compileSchema([
      defineEntity({
        name: 'Thing',
        table: defineTable({ name: 'things', families: { d: {} } }),
        key: [part('a'), part('b', int32)],
        columns: (c) => ({
          color: c.column('d:c', text).optional(),
          size: c.column('d:s', int32).optional(),
          at: c.column('d:t', date).optional(),
          tags: c.column('d:l', json<string[]>()).optional(),
        }),
        indexes: indexes as never,
      }),
    ]).tables[0]!;

  test('of every kind are declared as they were', () => {
    expectSame(
      thing({
        byColor: { on: [part('color')], include: ['size', 'at'] },
        bySize: { on: [desc(part('size', int32)), part('color')], unique: true },
        spread: { on: [salt(4), part('at', date)] },
        byDay: { on: [part('color'), timeBucket('at', '1d'), reverseTimestamp('at')] },
        later: { on: [part('color')], consistency: 'eventual' },
        red: { on: [part('size', int32)], where: { color: 'red', size: { gte: 3 }, at: null } },
      }),
    );
  });

  test('whose condition is not told by its text are left out, and said', () => {
    const { again, inexact, source } = introspected(
      thing({
        recent: { on: [part('color')], where: { at: { gte: new Date(0) } } },
        byColor: { on: [part('color')] },
      }),
    );
    expect(inexact).toEqual(['Thing: the metadata of the index "recent" does not suffice to declare it']);
    expect(again.entities[0]!.indexes.map(({ name }) => name)).toEqual(['byColor']);
    expect(source).not.toContain('recent');
  });
});
