/** What a database says of tables that are not as declared. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type DefinedEntity,
  defineEntity,
  defineTable,
  part,
  recordType,
  salt,
} from '../../decorators/index.js';
import { enumeration, int32, numericEnum, text, uint32 } from '../../src/codec/index.js';
import { ensureTable } from '../../src/ddl/ensure-tables.js';
import { RowanError } from '../../src/errors.js';
import {
  Database,
  type LintEvent,
  type OpenOptions,
  type OutboxEvent,
  open,
  openAdmin,
  type TableHandling,
  type TablesEvent,
} from '../../src/index.js';
import type { KeyElement } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { StoreEvent } from '../../src/store/events.js';
import { type Admin, type Engine, type FamilyOptions, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { stepless } from '../proof/stepless.js';

let fileSystem: MemoryFileSystem;
let events: (StoreEvent | TablesEvent | LintEvent | OutboxEvent)[];

beforeEach(() => {
  fileSystem = new MemoryFileSystem();
  events = [];
});

type Entities = OpenOptions['entities'];
let opened: Database<EmbeddedEngine>[] = [];

async function opening(
  entities: Entities,
  tables: TableHandling = 'create',
): Promise<Database<EmbeddedEngine>> {
  const onEvent = (event: StoreEvent | TablesEvent | LintEvent | OutboxEvent): void =>
    void events.push(event);
  const database = await open({ path: '/store', fileSystem, entities, tables, onEvent, automatic: false });
  opened.push(database);
  return database;
}

async function closeAll(): Promise<void> {
  for (const database of opened) await database.close();
  opened = [];
}

afterEach(closeAll);

/** Opens with the first entities, closes, and opens with the second. */
async function evolve(
  before: Entities,
  after: Entities,
  tables?: TableHandling,
): Promise<Database<EmbeddedEngine>> {
  await opening(before);
  await closeAll();
  events = [];
  return opening(after, tables);
}

interface Shape {
  readonly name?: string;
  readonly families?: Readonly<Record<string, FamilyOptions>>;
  readonly key?: readonly KeyElement[];
  readonly recordType?: number;
  readonly columns?: (c: never) => object;
}

/** What the tests below declare, more or less of it. */
type LooseEntity = DefinedEntity<{ id: string; a?: string; first?: string; e?: string }, ['id']>;

/** An entity of the table "t". */
const entity = ({
  name = 'Thing',
  families = { d: {} },
  key = [part('id')],
  recordType,
  columns,
}: Shape): LooseEntity =>
  defineEntity({
    name,
    table: defineTable({ name: 't', families }),
    key,
    ...(recordType === undefined ? {} : { recordType }),
    columns: (columns ??
      ((c: { column: typeof Object }) => ({ a: (c as never as Builder).column('d:a', text) }))) as never,
  }) as never;

interface Builder {
  column(name: string, codec: unknown): { optional(): object };
}

const columns = (declared: Readonly<Record<string, readonly [string, unknown]>>) => (c: Builder) =>
  Object.fromEntries(
    Object.entries(declared).map(([name, [column, codec]]) => [name, c.column(column, codec).optional()]),
  );

describe('options of families that are not as declared', () => {
  const before = entity({ families: { d: { versions: 1, compression: 'NONE' } } });
  const after = entity({
    families: { d: { versions: 5, ttl: 60, compression: 'GZ', keepDeletedCells: 'TRUE' } },
  });
  const found = [
    ['d', 'compression', 'GZ', 'NONE', 'storage'],
    ['d', 'keepDeletedCells', 'TRUE', 'FALSE', 'meaning'],
    ['d', 'ttl', 60, 2147483647, 'meaning'],
    ['d', 'versions', 5, 1, 'meaning'],
  ];

  it('are reported by event and by the database', async () => {
    const database = await evolve([before], [after]);
    const { differences } = database.tables!;
    const facts = differences.map((d) => [d.family, d.option, d.declared, d.live, d.effect]);
    expect(facts.sort()).toEqual(found);
    expect(differences.every(({ explicit, table }) => explicit && table === 't')).toBe(true);
    expect(events).toEqual([{ kind: 'tables', created: [], stamped: [], differences }]);
    expect((await database.createTables()).differences).toHaveLength(4);
  });

  it("that change what is kept are refused by tables: 'verify'", async () => {
    const opening = evolve([before], [after], 'verify');
    await expect(opening).rejects.toThrow(/d\.versions is 1, declared 5, which decides which cells are kept/);
    await expect(opening).rejects.toThrow(/d\.ttl is 2147483647, declared 60/);
    await expect(opening).rejects.not.toThrow(/compression/);
  });

  it('and that the declaration does not give are only reported', async () => {
    const plain = entity({});
    const database = await evolve([after], [plain], 'verify');
    expect(database.tables!.differences.map(({ option, explicit }) => [option, explicit]).sort()).toEqual([
      ['compression', false],
      ['keepDeletedCells', false],
      ['ttl', false],
      ['versions', false],
    ]);
  });

  it('are none when all is as declared: no event', async () => {
    await evolve([after], [after], 'verify');
    expect(events).toEqual([]);
  });
});

describe('what a table was written with', () => {
  const refused = async (before: Shape, after: Shape, message: RegExp): Promise<void> =>
    expect(evolve([entity(before)], [entity(after)])).rejects.toThrow(message);
  const accepted = async (before: Shape, after: Shape): Promise<void> =>
    void (await evolve([entity(before)], [entity(after)]));

  it('rows without a record type are not mixed with rows that have one', async () => {
    const typed = { recordType: 1, key: [recordType(), part('id')] };
    await refused({}, typed, /the table has rows without one \(by Thing\).*Leave out recordType\(\)/);
    fileSystem = new MemoryFileSystem();
    await refused(typed, {}, /no record type, but the table has rows with one \(by Thing\)/);
  });

  it('another class is not taken for the one that wrote them', async () => {
    await refused(
      { columns: columns({ a: ['d:a', text], b: ['d:b', text] }) },
      { name: 'Other', columns: columns({ a: ['d:a', text], c: ['d:c', text] }) },
      /written by Thing, with columns that Other does not have.*name: 'Thing'/,
    );
  });

  it('a class may be renamed, and gain columns', async () => {
    const a = ['d:a', text] as const;
    await accepted(
      { columns: columns({ a }) },
      { name: 'Renamed', columns: columns({ a, b: ['d:b', text] }) },
    );
    await closeAll();
    await opening([entity({ name: 'Renamed', columns: columns({ a }) })]);
  });

  it('a column does not move to another qualifier', async () => {
    await refused(
      { columns: columns({ a: ['d:a', text] }) },
      { columns: columns({ a: ['d:b', text] }) },
      /"a" was written to d:a and is now declared at d:b/,
    );
  });

  it('a property may be renamed and another take its place', async () => {
    await accepted(
      { columns: columns({ a: ['d:a', text], b: ['d:b', text] }) },
      { columns: columns({ b: ['d:a', text], a: ['d:b', text] }) },
    );
  });

  it('a codec does not change, also of a column that was left out for a while', async () => {
    const both = columns({ a: ['d:a', text], n: ['d:n', int32] });
    await evolve([entity({ columns: both })], [entity({ columns: columns({ a: ['d:a', text] }) })]);
    await closeAll();
    const changed = entity({ columns: columns({ a: ['d:a', text], n: ['d:n', uint32] }) });
    await expect(opening([changed])).rejects.toThrow(/d:n was written as column int32 and is now .* uint32/);
  });

  it('an enumeration gains names and loses none, in columns and keys, whatever the names are', async () => {
    const with_ = (ids: Readonly<Record<string, number>>): Shape => ({
      key: [part('kind', enumeration(ids)), part('id')],
      columns: columns({ a: ['d:a', enumeration(ids)] }),
    });
    await accepted(with_({ 'x; y': 1, 'a"=3': 2 }), with_({ 'x; y': 1, 'a"=3': 2, new: 3 }));
    await closeAll();
    await expect(opening([entity(with_({ 'x; y': 1, 'a"=3': 3, new: 2 }))])).rejects.toThrow(
      /d:a was written/,
    );
    await expect(opening([entity(with_({ 'x; y': 1, new: 3 }))])).rejects.toThrow(/row keys were written/);
  });

  it('an enumeration of numbers gains members and loses none', async () => {
    const with_ = (members: Readonly<Record<string, number>>): Shape => ({
      key: [part('kind', numericEnum(members)), part('id')],
      columns: columns({ a: ['d:a', numericEnum(members)] }),
    });
    await accepted(with_({ low: 1, mid: 12 }), with_({ low: 1, middle: 12, high: 2 }));
    await closeAll();
    await expect(opening([entity(with_({ low: 1, high: 2 }))])).rejects.toThrow(
      /d:a was written|row keys were written/,
    );
    await expect(opening([entity(with_({ low: 1, mid: 12, high: 300 }))])).rejects.toThrow(
      /were? written|was written/,
    );
  });

  it('a stamp of a newer version, or none at all, is not guessed at', async () => {
    await opening([entity({})]);
    await closeAll();
    for (const [stamp, message] of [
      ['{"format":3}', /its format is 3, but this version of Rowan reads only up to 2/],
      ['nonsense', /it is not a stamp of Rowan/],
      ['{"format":2,"key":5}', /it lacks required fields/],
    ] as const) {
      await using store = await openAdmin({ path: '/store', fileSystem });
      const live = await store.admin.getDescriptor('t');
      await store.admin.modifyTable({ ...live, metadata: { 'rowan.record': stamp } });
      await store.close();
      await expect(opening([entity({})])).rejects.toThrow(message);
    }
  });

  it('stamps of format 1 are read, and written as format 2', async () => {
    const declared = {
      columns: columns({ a: ['d:a', text], e: ['d:e', enumeration({ 'x; y': 1 })] }),
    };
    await opening([entity(declared)]);
    await closeAll();
    await using store = await openAdmin({ path: '/store', fileSystem });
    const live = await store.admin.getDescriptor('t');
    const old = 'key id:string; marker d:5f; d:61 column text; d:65 column enumeration("x; y"=1)';
    await store.admin.modifyTable({ ...live, metadata: { 'rowan.record': old } });
    await store.close();
    const database = await opening([entity(declared)]);
    const now = (await database.admin.getDescriptor('t')).metadata['rowan.record']!;
    expect(JSON.parse(now)).toMatchObject({ format: 2, entity: 'Thing', key: 'id:text', marker: 'd:5f' });
    expect(JSON.parse(now).columns).toHaveLength(2);
  });
});

describe('families', () => {
  const a = ['d:a', text] as const;
  const both = { d: {}, b: {} };
  const before = entity({ families: both, columns: columns({ a }) });
  const after = entity({ families: both, columns: columns({ first: ['b:x', text], a }) });

  it('a column of another family declared first leaves the marker where it was', async () => {
    const written = await opening([before]);
    await written.repository(before).put({ id: '1' });
    await closeAll();
    const database = await opening([after]);
    expect(database.schema.entity(after).marker!.family).toBe('d');
    const things = database.repository(after);
    expect(await things.get({ id: '1' })).toMatchObject({ id: '1' });
    await expect(things.insert({ id: '1', first: 'x' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  });

  it('a new one is added without an open database, as the error says', async () => {
    const grown = entity({
      families: { d: {}, e: { versions: 3 } },
      columns: columns({ a, e: ['e:e', text] }),
    });
    await expect(evolve([entity({ columns: columns({ a }) })], [grown])).rejects.toThrow(
      /family "e" is declared, but the table has only.*rowan schema apply/,
    );
    {
      await using store = await openAdmin({ path: '/store', fileSystem });
      const live = await store.admin.getDescriptor('t');
      const { families } = tableDescriptor('t', { e: { versions: 3 } });
      await store.admin.modifyTable({ ...live, families: [...live.families, ...families] });
    }
    const database = await opening([grown]);
    await database.repository(grown).put({ id: '1', e: 'x' });
    expect(await database.repository(grown).get({ id: '1' })).toMatchObject({ e: 'x' });
  });
});

describe('options of the database', () => {
  it.each([
    [undefined, /open takes an object of options/],
    [null, /open takes an object of options/],
    ['/store', /open takes an object of options/],
    [{ path: '/store', entities: [entity({})], table: 'create' }, /open has no option "table".*tables/],
    [{ path: '', entities: [entity({})] }, /open needs a path/],
    [{ path: '/store', entities: [] }, /open needs entities/],
    [{ path: '/store', entities: entity({}) }, /open needs entities/],
    [{ path: '/store', entities: [undefined] }, /It is no class/],
    [{ path: '/store', entities: [entity({})], tables: 'check' }, /tables is 'create', 'verify' or 'ignore'/],
    [{ path: '/store', entities: [entity({})], onEvent: 5 }, /onEvent is a function/],
  ])('%j is refused', async (options, message) => {
    await expect(open(options as never)).rejects.toThrow(message);
    await expect(open(options as never)).rejects.toMatchObject({ code: /^ERR_(INVALID_ARGUMENT|SCHEMA)$/ });
  });

  it("those of openAdmin are the engine's", async () => {
    await expect(openAdmin({ path: '/store', entities: [] } as never)).rejects.toThrow(
      /no option "entities"/,
    );
  });
});

describe('an open database', () => {
  const First = entity({ name: 'First' });
  const Second = defineEntity({
    name: 'Second',
    table: defineTable({ name: 'second', families: { d: {} }, presplit: { regions: 4 } }),
    key: [salt(4), part('id', uint32)],
    columns: (c) => ({ value: c.column('d:v', text) }),
  });

  it('takes entities, and is as before when they are wrong', async () => {
    const database = await opening([First]);
    const firsts = database.repository(First);
    expect(() => database.repository(Second)).toThrow(/no entity of this schema/);
    await database.add(Second);
    expect(database.tables!.created).toEqual(['second']);
    await database.repository(Second).put({ id: 1, value: 'x' });
    expect(database.repository(First)).toBe(firsts);
    const wrong = entity({ name: 'First' });
    await expect(database.add(wrong)).rejects.toThrow(/Two entities have this name/);
    expect(database.schema.entities).toHaveLength(2);
  });

  it('compiles entities that are added, and those of their tables, alone', async () => {
    const shared = defineTable({ name: 'shared', families: { d: {} } });
    const inShared = (name: string, type: number) =>
      defineEntity({
        name,
        table: shared,
        recordType: type,
        key: [part('id'), recordType()],
        columns: (c) => ({ value: c.column('d:v', text) }),
      });
    const [One, Two, Same] = [inShared('One', 1), inShared('Two', 2), inShared('Same', 1)];
    const database = await opening([One, First]);
    const first = database.schema.entity(First);
    await database.add(Two);
    expect(database.schema.entities.map(({ name }) => name)).toEqual(['One', 'First', 'Two']);
    expect(database.schema.entity(First)).toBe(first);
    expect(database.schema.entity(One).table.entities.map(({ name }) => name)).toEqual(['One', 'Two']);
    await database.add(First);
    expect(database.schema.entities).toHaveLength(3);
    await expect(database.add(Same)).rejects.toThrow('record type 1 is also that of One');
    await database.repository(One).put({ id: 'x', value: 'one' });
    await database.repository(Two).put({ id: 'x', value: 'two' });
    expect(await database.repository(One).get({ id: 'x' })).toMatchObject({ value: 'one' });
  });

  it('takes entities in several calls at once, but those of a call that is refused', async () => {
    const database = await opening([First]);
    const [wrong, ...others] = ['First', 'b', 'c', 'd'].map((name) =>
      defineEntity({
        name,
        table: defineTable({ name: `t-${name}`, families: { d: {} } }),
        key: [part('id')],
        columns: (c) => ({ value: c.column('d:v', text) }),
      }),
    );
    const added = [...others.slice(0, 2), wrong!, others[2]!].map((each) => database.add(each));
    const refused = (await Promise.allSettled(added)).map(({ status }) => status);
    expect(refused).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    for (const each of others) {
      await database.repository(each).put({ id: 'x', value: each.name });
      expect(await database.repository(each).get({ id: 'x' })).toMatchObject({ value: each.name });
    }
  });

  it('stores an entity in tables that are named at run time', async () => {
    const database = await opening([Second]);
    const monday = await database.repositoryIn(Second, 'log_1');
    const tuesday = await database.repositoryIn(Second, 'log_2');
    await monday.put({ id: 1, value: 'monday' });
    await tuesday.insert({ id: 1, value: 'tuesday' });
    expect(await monday.get({ id: 1 })).toMatchObject({ value: 'monday' });
    expect(await tuesday.get({ id: 1 })).toMatchObject({ value: 'tuesday' });
    expect(await database.repository(Second).get({ id: 1 })).toBeNull();
    expect(tuesday.find({ id: 1 }).explain().table).toBe('log_2');
    expect(await database.admin.getRegions('log_1')).toHaveLength(4);
    expect((await database.admin.getDescriptor('log_2')).metadata).toHaveProperty(['rowan.record']);
    await expect(database.repositoryIn(Second, 'no/name')).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
  });

  it("with tables: 'verify' such a table must be there", async () => {
    await opening([Second]);
    await closeAll();
    const database = await opening([Second], 'verify');
    await expect(database.repositoryIn(Second, 'missing')).rejects.toMatchObject({
      code: 'ERR_TABLE_NOT_FOUND',
    });
  });
});

/** The engine as a program has it whose calls of the admin take a while, so that others come between. */
function slowly(engine: Engine): Engine {
  const admin = new Proxy(engine.admin, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        return value.apply(target, args) as unknown;
      };
    },
  }) satisfies Admin;
  return new Proxy(engine, {
    get: (target, name) => {
      if (name === 'admin') return admin;
      if (name === 'close') return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

it('a namespace that another program is making is waited for, where tables in it are refused until it is made', async () => {
  const engine = await openEmbedded('/memory', { fileSystem, background: 'inline', durability: 'ASYNC_WAL' });
  await engine.admin.createNamespace('shop');
  let refusals = 2;
  // As HBase, which lists a namespace before it takes tables of it.
  const admin = new Proxy(engine.admin, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        if (name === 'createTable' && refusals-- > 0)
          throw new RowanError('ERR_NAMESPACE_NOT_FOUND', 'There is no namespace "shop".');
        return value.apply(target, args) as unknown;
      };
    },
  }) satisfies Admin;
  expect(await ensureTable(admin, tableDescriptor('shop:orders', { d: {} }))).toBe(true);
  expect(await engine.admin.tableExists('shop:orders')).toBe(true);
  await engine.close();
});

it('programs that start at once make their tables together', async () => {
  const Order = defineEntity({
    name: 'Order',
    table: defineTable({ name: 'shop:orders', families: { d: {}, m: {} } }),
    key: [part('id', text)],
    columns: (c) => ({ no: c.column('d:n', text), state: c.column('d:s', text) }),
    indexes: { byNo: { on: [part('no')], unique: true }, byState: { on: [part('state')] } },
    changes: { keep: 3_600_000, marks: 'm' },
  });
  const engine = await openEmbedded('/memory', { fileSystem, background: 'inline', durability: 'ASYNC_WAL' });
  const open = async (): Promise<Database> => {
    const db = new Database(compileSchema([Order]), stepless(slowly(engine)), 'create');
    await db.ready();
    return db;
  };
  const programs = await Promise.all([open(), open(), open(), open()]);
  for (const [i, db] of programs.entries()) {
    await db.repository(Order).insert({ id: `o${i}`, no: `n${i}`, state: 'open' });
    expect(await db.repository(Order).by('byState').find({ state: 'open' }).count()).toBe(i + 1);
  }
  await Promise.all(programs.map((db) => db.close()));
  await engine.close();
});
