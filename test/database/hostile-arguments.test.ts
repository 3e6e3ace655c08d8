/** Every public method answers wrong arguments with a RowanError, whatever they are, or takes them. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as declarations from '../../decorators/index.js';
import {
  Avro,
  Column,
  Columns,
  Counter,
  CreatedAt,
  Embedded,
  Entity,
  Json,
  Packed,
  part,
  RowKey,
  Ttl,
  timeBucket,
  Version,
  Versions,
} from '../../decorators/index.js';
import { avro, text } from '../../src/codec/index.js';
import { open } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import * as keys from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';
import { attack, DECLARED } from './hostile.js';

@Entity({ table: { name: 'hostile', families: { d: {} } } })
@RowKey(part('tenant'), part('id'))
class Victim {
  declare static readonly key: ['tenant', 'id'];
  tenant!: string;
  id!: string;
  @Column('d:n', text) name?: string | null;
  @Json('d:j') json?: object | null;
  @Counter('d:c') count?: bigint;
  @Columns('d:m.', { value: text }) map?: Map<string, string | null>;
  @Versions('d:h', text) history?: { value: string }[];
  @Avro('d:a', avro.array(avro.string)) list?: string[];
  @Version('d:v') version?: number;
  @CreatedAt('d:t') createdAt?: Date;
  @Ttl() expiresIn?: number;
}

const key = { tenant: 't', id: '1' };
const throwing = {
  get tenant(): string {
    throw new TypeError('a getter of the caller');
  },
};

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase([Victim]);
});

afterAll(() => database.dispose());

const methodsOf = (target: object): string[] => {
  const names = new Set<string>();
  for (let at = target; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && name !== 'constructor') names.add(name);
    }
  }
  return [...names];
};

/** Right arguments, by method; those that are private in TypeScript are not called. */
const REPOSITORY: Readonly<Record<string, readonly unknown[]>> = {
  get: [key],
  exists: [key],
  getMany: [[key]],
  find: [{ tenant: 't' }],
  asOf: [0],
  history: [key, 'name'],
  check: [key, { name: 'x' }],
  put: [{ ...key }],
  putMany: [[{ ...key }]],
  insert: [{ ...key }],
  replace: [{ ...key }],
  update: [key, { name: 'x' }],
  delete: [key],
  increment: [key, { count: 1 }],
  append: [key, { name: 'x' }],
  mutate: [key, (row: { set(patch: object): object }) => row.set({ name: 'x' })],
  batch: [(batch: object) => batch],
};

describe('a repository', () => {
  it.each(Object.entries(REPOSITORY))('%s', async (method, right) => {
    const repository = database.repository(Victim);
    expect(methodsOf(repository)).toContain(method);
    expect(await attack(repository, method, right)).toEqual([]);
  });
});

const QUERY: Readonly<Record<string, readonly unknown[]>> = {
  where: [{ name: 'x' }],
  select: ['name'],
  limit: [1],
  asOf: [0],
  writtenBetween: [0, 1],
  all: [{}],
  page: [{ size: 1 }],
};

describe('a query', () => {
  it.each(Object.entries(QUERY))('%s', async (method, right) => {
    const query = database.repository(Victim).find({ tenant: 't' });
    expect(methodsOf(query)).toContain(method);
    expect(await attack(query, method, right)).toEqual([]);
  });
});

describe('a batch', () => {
  it.each([
    ['put', [{ ...key }]],
    ['insert', [{ ...key }]],
    ['update', [key, { name: 'x' }]],
    ['delete', [key]],
    ['get', [key]],
    ['mutate', [key, (row: { set(patch: object): object }) => row.set({ name: 'x' })]],
  ])('%s', async (method, right) => {
    const repository = database.repository(Victim);
    const run = {
      [method]: (...args: unknown[]) =>
        repository.batch((batch) => {
          Reflect.apply(Reflect.get(batch, method) as () => unknown, batch, args);
          return batch;
        }),
    };
    expect(await attack(run, method, right)).toEqual([]);
  });
});

describe('a database', () => {
  it.each([
    ['repository', [Victim]],
    ['collection', [[Victim], { tenant: 't' }]],
    ['repositoryIn', [Victim, 'hostile2']],
    ['add', []],
    ['dictionary', ['names']],
  ])('%s', async (method, right) => {
    expect(await attack(database, method, right)).toEqual([]);
  });

  it('job, and what it has of its schema, indexes and dictionaries', async () => {
    expect(await attack(database, 'job', ['j'], DECLARED)).toEqual([]);
    const { schema } = database;
    const folder = join(tmpdir(), 'rowan-no-migrations');
    const ofSchema = { lint: [{}], subtypes: [Victim], migrationStatus: [folder] };
    for (const [method, right] of Object.entries(ofSchema))
      expect(await attack(schema, method, right, DECLARED)).toEqual([]);
    const names = database.dictionary('names');
    for (const method of ['ids', 'values']) expect(await attack(names, method, [], DECLARED)).toEqual([]);
    await expect(names.ids('abc' as never, true)).rejects.toThrow(/takes a list of texts, not "abc"/);
    const none = null as never;
    const calls: (() => Promise<unknown>)[] = [
      () => schema.apply(none),
      () => schema.makeMigration(folder, none),
      () => database.repository(Victim).findOne({ tenant: 't' }, none),
      () => database.references(Victim).repair(none),
    ];
    for (const call of calls)
      await expect(Promise.resolve().then(call), String(call)).rejects.toBeInstanceOf(RowanError);
  });

  it('open and compileSchema', async () => {
    expect(await attack({ open }, 'open', [], DECLARED)).toEqual([]);
    expect(await attack({ compileSchema }, 'compileSchema', [], DECLARED)).toEqual([]);
    expect(await attack({ compileSchema }, 'compileSchema', [[Victim]], DECLARED)).toEqual([]);
  });
});

describe('declarations', () => {
  /** Each applied to a class, which is then compiled. */
  const onClass = ['Entity', 'RowKey', 'Table', 'Validate', 'AvroRecord'];
  const onProperty = [
    ...['Column', 'Json', 'Avro', 'Counter', 'Columns', 'Packed', 'Versions', 'Embedded', 'Version'],
    ...['CreatedAt', 'UpdatedAt', 'Ttl', 'AvroField'],
  ];
  const all = declarations as unknown as Readonly<
    Record<string, (...args: unknown[]) => (...to: unknown[]) => void>
  >;

  const compile = (declare: (target: typeof Victim) => void, entity = true, rowKey = true) => {
    class Target {
      id!: string;
      other!: string;
    }
    if (rowKey) RowKey(part('id'))(Target as never);
    if (entity) Entity({ table: { name: 'x', families: { d: {} } } })(Target as never);
    declare(Target as never);
    return compileSchema([Target]);
  };

  it.each(onClass)('@%s', async (name) => {
    const run = {
      [name]: (...args: unknown[]) =>
        compile((target) => all[name]!(...args)(target), name !== 'Entity', name !== 'RowKey'),
    };
    expect(await attack(run, name, [], DECLARED)).toEqual([]);
  });

  it.each(onProperty)('@%s', async (name) => {
    const right = name === 'Embedded' ? ['d'] : ['d:x'];
    const run = {
      [name]: (...args: unknown[]) => compile((target) => all[name]!(...args)(target.prototype, 'other')),
    };
    expect(await attack(run, name, right, DECLARED)).toEqual([]);
    expect(await attack(run, name, [], DECLARED)).toEqual([]);
  });

  it('@Entity of a table that is a text says what a table is', () => {
    const declare = () => compile((target) => Entity({ table: 't' } as never)(target as never), false);
    expect(declare).toThrow(/table is "t".*defineTable/s);
  });

  it('defineEntity and defineTable', async () => {
    const { defineEntity, defineTable } = all as never as Record<string, (given: unknown) => never>;
    const right = {
      name: 'A',
      table: { name: 'x', families: { d: {} } },
      key: [part('id')],
      columns: () => ({}),
    };
    const run = {
      defineEntity: (given: unknown) => compileSchema([defineEntity!(given)]),
      defineTable: (given: unknown) =>
        compileSchema([defineEntity!({ ...right, table: defineTable!(given) })]),
    };
    expect(await attack(run, 'defineEntity', [], DECLARED)).toEqual([]);
    expect(await attack(run, 'defineTable', [], DECLARED)).toEqual([]);
    for (const option of [
      'name',
      'table',
      'key',
      'columns',
      'validate',
      'hooks',
      'recordType',
      'marker',
      'ttl',
    ]) {
      const withOption = {
        [option]: (value: unknown) => compileSchema([defineEntity!({ ...right, [option]: value })]),
      };
      expect(await attack(withOption, option, [], DECLARED)).toEqual([]);
    }
  });

  it.each([
    ['part', ['id']],
    ['reverse', ['id']],
    ['reverseDomain', ['id']],
    ['reverseDigits', ['id', 4]],
    ['reverseTimestamp', ['id']],
    ['substitute', ['id', 'names']],
    ['hash', ['id']],
    ['timeBucket', ['id', '1h']],
    ['salt', [4]],
    ['bucket', ['id', 4]],
    ['literal', ['x']],
    ['recordType', []],
  ])('%s()', async (name, right) => {
    const run = {
      [name]: (...args: unknown[]) =>
        compile((target) => RowKey(all[name]!(...args) as never)(target as never), true, false),
    };
    expect(await attack(run, name, right)).toEqual([]);
  });

  it.each([
    ['enumeration', [{ a: 1 }]],
    ['numericEnum', [{ a: 1 }]],
    ['cidrRange', ['10.0.0.0/8']],
    ['desc', [keys.uint32]],
    ['fixedString', [4]],
    ['fixedBytes', [4]],
    ['decimal', [2]],
  ])('%s()', async (name, right) => {
    expect(await attack(keys, name, right)).toEqual([]);
  });

  it('getters of the caller throw what they throw', async () => {
    await expect(database.repository(Victim).get(throwing as never)).rejects.toThrow(
      'a getter of the caller',
    );
  });
});

@Entity({ table: { name: 'hostile_plain', families: { d: {} } } })
@RowKey(part('id'))
class Plain {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string | null;
}

class Part {
  @Column('a', text) a?: string | null;
}
class Free {
  name?: string;
}

@Entity({ table: { name: 'hostile_parts', families: { d: { versions: 3 }, p: {} } } })
@RowKey(part('id'), timeBucket('at', '1h'))
class Parts {
  declare static readonly key: ['id', 'at'];
  id!: string;
  at!: Date;
  @Packed('p:', { part: 'at', value: text }) points?: Map<number, string | null>;
}

@Entity({ table: { name: 'hostile_free', families: { d: { versions: 3 } } } })
@RowKey(part('id'))
class Nested {
  declare static readonly key: ['id'];
  id!: string;
  @Embedded('d', () => Part, { prefix: 'x.' }) part?: Part | null;
  @Json('d:f', () => Free) free?: Free | null;
  @Json('d:j') json?: unknown;
  @Versions('d:h', text) history?: { value: string; timestamp?: number }[];
  @Columns('d:m.', { value: text }) map?: Map<string, string | null>;
}

describe('values of properties', () => {
  it.each(['part', 'free', 'json', 'history', 'map', 'id'])('%s', async (property) => {
    await database.add(Nested);
    const nested = database.repository(Nested);
    const written = (value: unknown) => ({ id: 'a', [property]: value });
    const run = {
      put: (value: unknown) => nested.put(written(value) as never),
      replace: (value: unknown) => nested.replace(written(value) as never),
      update: (value: unknown) => nested.update({ id: 'a' }, { [property]: value } as never),
      mutate: (value: unknown) =>
        nested.mutate({ id: 'a' }, (row) => row.set({ [property]: value } as never)),
      batch: (value: unknown) => nested.batch((batch) => batch.put(written(value) as never)),
      where: (value: unknown) => nested.find({}, { fullScan: true }).where({ [property]: value } as never),
      toPlain: (value: unknown) => nested.toPlain(written(value) as never),
      fromPlain: (value: unknown) => nested.fromPlain(written(value) as never),
      find: (value: unknown) => nested.find({ [property]: value } as never),
      increment: (value: unknown) => nested.increment({ id: 'a' }, { [property]: value } as never),
      append: (value: unknown) => nested.append({ id: 'a' }, { [property]: value } as never),
    };
    for (const method of Object.keys(run)) expect(await attack(run, method, [])).toEqual([]);
  });

  it('an embedded object is none of the things that hold values otherwise', async () => {
    await database.add(Nested);
    const nested = database.repository(Nested);
    await nested.put({ id: 'e', part: { a: 'kept' } });
    for (const wrong of [new Map(), [], new Date(), new Set(), Uint8Array.of(1), 5, 'text']) {
      for (const write of ['put', 'replace'] as const) {
        await expect(nested[write]({ id: 'e', part: wrong as never })).rejects.toMatchObject({
          code: 'ERR_INVALID_ARGUMENT',
        });
      }
    }
    expect(await nested.get({ id: 'e' })).toMatchObject({ part: { a: 'kept' } });
  });

  it('JSON of a class keeps what has the name of a method of objects', async () => {
    await database.add(Nested);
    const nested = database.repository(Nested);
    const free = { name: 'n', toString: 'text', valueOf: 1, hasOwnProperty: [1], constructed: null };
    await nested.put({ id: 'f', free: free as never });
    expect({ ...(await nested.get({ id: 'f' }))!.free }).toEqual(free);
  });

  it('what once threw errors of JavaScript', async () => {
    await database.add(Parts, Nested);
    const victims = database.repository(Victim);
    const page = await victims.find({ tenant: 't' }).page({ size: 1 });
    const put = (points: unknown) =>
      database.repository(Parts).put({ id: 'a', at: new Date(0), points } as never);
    const calls: (() => unknown)[] = [
      () => page.cursorAt(99),
      () => page.cursorAt('x' as never),
      () => victims.mutate(key, (row) => row.set(undefined as never)),
      () => victims.batch((batch) => batch.put({ ...key }), null as never),
      () => database.batch((batch) => void batch.of(Victim).put({ ...key }), null as never),
      () => compileSchema([defineOf(5)]),
      () => compileSchema([defineOf({ splits: 5 })]),
      () => put(new Map([[8.64e15, 'x']])),
    ];
    for (const call of calls) {
      const done = Promise.resolve().then(call);
      await expect(done, String(call)).rejects.toBeInstanceOf(RowanError);
    }
    const last = new Date(8.64e15);
    const parts = database.repository(Parts);
    const either: (() => unknown)[] = [
      () => parts.put({ id: 'a', at: last, points: new Map() }),
      () => parts.put({ id: 'a', at: last, points: new Map([[8.64e15 - 1, 'x']]) }),
      () => parts.find({ id: 'a', at: { gte: last } }).all(),
    ];
    for (const call of either) {
      const outcome = await Promise.resolve()
        .then(call)
        .catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome, String(call)).toBeInstanceOf(RowanError);
    }
    await expect(put(new Map([[0, 'x']]))).resolves.toBeUndefined();
  });

  const defineOf = (presplit: unknown) =>
    declarations.defineEntity({
      name: 'Split',
      table: declarations.defineTable({ name: 'split', families: { d: {} }, presplit: presplit as never }),
      key: [part('id')],
      columns: (c) => ({ a: c.column('d:a', text) }),
    });
});

/** Objects that keep what they have out of sight: read by name, they would be `{}`. */
const HIDDEN: readonly (readonly [string, object])[] = [
  ['a Map', new Map([['name', 'x']])],
  ['a promise', Promise.resolve({ name: 'x' })],
  ['URLSearchParams', new URLSearchParams('name=x')],
  ['a Date', new Date(0)],
  ['a Set', new Set(['name'])],
  ['no bytes', new Uint8Array()],
];

it.each(HIDDEN)('%s is no condition that all rows satisfy', async (_, wrong) => {
  await database.add(Plain);
  const plain = database.repository(Plain);
  await plain.put({ id: 'a', name: 'y' });
  const given = wrong as never;
  const whole = { fullScan: true };
  for (const query of [
    () => plain.find(given, whole),
    () => plain.find({}, whole).where(given),
    () => plain.where(given, whole),
    () => plain.where((w) => w.or(given), whole),
  ])
    await expect(
      Promise.resolve().then(() => query().deleteAll()),
      String(query),
    ).rejects.toThrow(RowanError);
  const together = async () => database.collection([Victim], given, whole).deleteAll();
  await expect(together()).rejects.toThrow(RowanError);
  expect(await plain.exists({ id: 'a' })).toBe(true);
});

it.each(HIDDEN)('%s is no change and no option, though it would change nothing', async (_, wrong) => {
  await database.add(Plain);
  const plain = database.repository(Plain);
  const given = wrong as never;
  await plain.put({ id: 'a', name: 'y' });
  for (const call of [
    () => plain.update({ id: 'a' }, given),
    () => plain.find({}, { fullScan: true }).updateAll(given),
    () => plain.put({ id: 'a', name: 'z' }, given),
    () => plain.putMany([{ id: 'a', name: 'z' }], given),
    () => plain.delete({ id: 'a' }, given),
    () => plain.get({ id: 'a' }, given),
    () => plain.find({ id: 'a' }, given).all(),
    () => database.schema.plan(given),
    () => database.references(Victim).repair(given),
  ])
    await expect(Promise.resolve().then(call as () => unknown), String(call)).rejects.toThrow(RowanError);
  expect(await plain.get({ id: 'a' })).toMatchObject({ name: 'y' });
});

describe('collections, checks and aggregates', () => {
  it.each([
    ['where', [Victim, { name: 'x' }]],
    ['select', [Victim, 'name']],
    ['limit', [1]],
    ['asOf', [0]],
    ['writtenBetween', [0, 1]],
    ['signal', [new AbortController().signal]],
    ['all', [{}]],
    ['page', [{ size: 1 }]],
    ['groups', []],
  ])('collection.%s', async (method, right) => {
    const query = database.collection([Victim], { tenant: 't' });
    expect(methodsOf(query)).toContain(method);
    expect(await attack(query, method, right)).toEqual([]);
  });

  it.each([
    ['put', [{ ...key }]],
    ['update', [{ name: 'x' }]],
    ['delete', []],
    ['mutate', [(row: { set(patch: object): object }) => row.set({ name: 'x' })]],
  ])('check().%s', async (method, right) => {
    const check = database.repository(Victim).check(key, { name: 'x' });
    expect(methodsOf(check)).toContain(method);
    expect(await attack(check, method, right)).toEqual([]);
  });

  it.each([
    ['orderBy', ['name']],
    ['slice', ['map', { gte: 'a' }]],
    ['signal', [new AbortController().signal]],
    ['sum', ['count']],
    ['min', ['name']],
    ['groupBy', ['name']],
    ['aggregate', [() => ({})]],
    ['toSource', []],
  ])('query.%s', async (method, right) => {
    const query = database.repository(Victim).find({ tenant: 't' });
    expect(methodsOf(query)).toContain(method);
    expect(await attack(query, method, right)).toEqual([]);
  });

  it.each([
    ['upsert', [{ ...key }, { name: 'x' }]],
    ['deleteMany', [[key]]],
    ['insertMany', [[{ ...key }]]],
    ['deletePrefix', [{ tenant: 't' }]],
    ['toPlain', [{ ...key }]],
    ['fromPlain', [{ ...key }]],
  ])('repository.%s', async (method, right) => {
    expect(await attack(database.repository(Victim), method, right)).toEqual([]);
  });
});
