/** Options that a decorator does not have are refused, by one rule, wherever they stand. */

import { expect, it } from 'vitest';
import {
  Avro,
  AvroField,
  AvroRecord,
  Column,
  Columns,
  Counter,
  Denormalized,
  defineEntity,
  defineTable,
  Embedded,
  Entity,
  hash,
  Index,
  Json,
  Packed,
  part,
  Reference,
  References,
  RowKey,
  reverseTimestamp,
  rowKey,
  Summary,
  salt,
  substitute,
  summary,
  timeBucket,
  Upgrade,
  Versions,
} from '../../decorators/index.js';
import { avro, avroCodec, date, int32, text } from '../../src/codec/index.js';
import { SchemaError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';

const table = defineTable({ name: 'options', families: { d: {} } });

class Other {
  static readonly key = rowKey('id');
  id!: string;
}

function problemsOf(...targets: Parameters<typeof compileSchema>[0]): readonly string[] {
  try {
    compileSchema(targets);
  } catch (error) {
    if (error instanceof SchemaError) return error.problems;
    throw error;
  }
  return [];
}

/** The problems of an entity with a property `at` below the decorator, or with one above the class. */
function problemsWith(
  decorate: (target: never, property?: string) => void,
  above = false,
): readonly string[] {
  class Holder {
    id!: string;
    day!: Date;
    at!: never;
  }
  Column('d:day', date)(Holder.prototype, 'day');
  RowKey(part('id'), timeBucket('day', '1h'))(Holder as never);
  Entity({ table })(Holder);
  if (above) decorate(Holder as never);
  else decorate(Holder.prototype as never, 'at');
  return problemsOf(Holder as never);
}

const wrong = { nullable: true } as never;

it.each<[string, (target: never, property?: string) => void, string]>([
  ['@Column', Column('d:a', text, wrong) as never, 'Its only option is was.'],
  ['@Json', Json('d:a', undefined, wrong) as never, 'Its only option is was.'],
  ['@Counter', Counter('d:a', wrong) as never, 'Its only option is was.'],
  ['@Versions', Versions('d:a', text, wrong) as never, 'Its only option is was.'],
  ['@Columns', Columns('d:a', { value: text, nullable: true } as never) as never, 'was, key, value.'],
  [
    '@Packed',
    Packed('d:a', { part: 'day', value: text, nullable: true } as never) as never,
    'was, part, value.',
  ],
  ['@Avro', Avro('d:a', avro.string, wrong) as never, 'was, classes, compatibility.'],
  ['@Embedded', Embedded('d', () => Other, wrong) as never, 'Its only option is prefix.'],
  ['@Reference', Reference(() => Other, { id: 'id' }, wrong) as never, 'onDelete, exists.'],
  ['@References', References(() => Other, { id: 'id' }, wrong) as never, 'max, index.'],
])('%s', (name, decorate, options) => {
  const told = options.startsWith('Its') ? options : `Its options are ${options}`;
  expect(problemsWith(decorate)).toContain(`Holder.at: ${name} has no option "nullable". ${told}`);
});

it.each<[string, (target: never) => void, string]>([
  [
    'The index "one"',
    Index('one', [part('id')], wrong) as never,
    'unique, include, where, each, consistency.',
  ],
  [
    'The summary "one"',
    Summary('one', { by: ['id'], figures: { rows: 'count' }, nullable: true } as never) as never,
    'by, figures, where.',
  ],
  [
    '@Denormalized',
    Denormalized(() => Other, { via: 'id', fields: {}, nullable: true } as never) as never,
    'via, fields, fanOut.',
  ],
  [
    '@Upgrade(1)',
    Upgrade(1, { old: () => ({}), sets: ['at'], nullable: true } as never, () => ({})) as never,
    'old, sets, writeBack.',
  ],
])('%s, above a class', (name, decorate, options) => {
  expect(problemsWith(decorate, true)).toContain(
    `Holder: ${name} has no option "nullable". Its options are ${options}`,
  );
});

it('@AvroRecord and @AvroField', () => {
  class Line {
    sku!: string;
  }
  AvroRecord({ name: 'Line', nullable: true } as never)(Line);
  AvroField(avro.string, wrong)(Line.prototype, 'sku');
  expect(problemsWith(Avro('d:a', () => Line) as never)).toEqual([
    'Holder.at: Line: @AvroRecord has no option "nullable". Its options are name, namespace, aliases.',
    'Holder.at: Line: @AvroField of "sku" has no option "nullable". Its options are optional, aliases.',
  ]);
  expect(() => avroCodec(avro.string, wrong)).toThrow('An Avro codec has no option "nullable"');
});

it('columns of an embedded class, and what else is wrong with its decorators', () => {
  class Address {
    city!: string;
  }
  Column('c', text, wrong)(Address.prototype, 'city');
  Column('z', text)(Address as never, 'zip' as never);
  expect(problemsWith(Embedded('d', () => Address) as never)).toEqual([
    'Holder.at: @Column is on the static property "zip". Put it on a plain property.',
    'Holder.at.city: @Column has no option "nullable". Its only option is was.',
  ]);
});

it('elements of keys', () => {
  const refused = (make: () => unknown): void => expect(make).toThrow(/\(\) has no option "nullable"/);
  refused(() => hash('id', wrong));
  refused(() => salt(4, wrong));
  refused(() => timeBucket('at', '1h', wrong));
  refused(() => reverseTimestamp('at', wrong));
  refused(() => substitute('id', 'names', wrong));
});

it('presplit', () => {
  const split = defineTable({ name: 'split', families: { d: {} }, presplit: { region: 4 } as never });
  Entity({ table: split })(Other);
  expect(problemsOf(Other)).toEqual([expect.stringContaining('presplit has no option "region".')]);
});

it('definitions without decorators', () => {
  const Defined = defineEntity({
    name: 'Defined',
    table,
    key: rowKey('id'),
    columns: (c) => ({
      a: c.column('d:a', int32, wrong),
      b: c.columns('d:b', { value: text, nullable: true } as never),
      c: c.embedded('d', (inner) => ({ d: inner.counter('d', wrong) }), { prefix: 'c.' }),
    }),
    indexes: { byA: { on: [part('a')], nullable: true } as never },
  });
  expect(problemsOf(Defined as never)).toEqual([
    'Defined.a: column() has no option "nullable". Its only option is was.',
    'Defined.b: columns() has no option "nullable". Its options are was, key, value.',
    'Defined.c.d: counter() has no option "nullable". Its only option is was.',
    expect.stringContaining('The index "byA" has no option "nullable".'),
  ]);
});

it('options that are no object', () => {
  expect(problemsWith(Column('d:a', text, null as never) as never)).toEqual([
    'Holder.at: @Column takes an object of options (was), not null.',
  ]);
  expect(problemsWith(Reference(() => Other, { id: 'id' }, 'cascade' as never) as never)).toEqual([
    'Holder.at: @Reference takes an object of options (onDelete, exists), not "cascade".',
  ]);
  expect(() => summary(null as never)).toThrow(SchemaError);
});
