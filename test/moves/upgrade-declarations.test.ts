/** What `@Upgrade` may say, what the stamps of tables make of it, and rows that cannot be upgraded. */

import { describe, expect, it } from 'vitest';
import type { ColumnBuilder } from '../../decorators/column-builder.js';
import {
  Column,
  defineEntity,
  defineTable,
  Entity,
  RowKey,
  Table,
  Upgrade,
  upgrade,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { connect, type Database, open } from '../../src/database.js';
import { secretAuthenticator } from '../../src/hbase/security/delegation-token.js';
import { part } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { ServedUsers } from '../../src/server/security/users.js';
import { Get, Put } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { Served } from '../server/served.js';

interface Given {
  readonly schemaVersion?: unknown;
  readonly upgrades?: unknown;
  readonly columns?: (c: ColumnBuilder<string>) => object;
  readonly [option: string]: unknown;
}

function person({ columns, ...more }: Given): KeyedClass {
  return defineEntity({
    name: 'Person',
    table: defineTable({ name: 'people', families: { d: {}, e: {}, h: { versions: 3 } } }),
    key: [part('id')],
    columns: (c: ColumnBuilder<string>) => ({
      first: c.column('d:f', text).optional(),
      past: c.column('h:p', text).optional(),
      map: c.columns('e:m.', { value: text }),
      version: c.version('d:v'),
      ...columns?.(c),
    }),
    ...more,
  } as never) as never;
}

const old = (c: ColumnBuilder<string>) => ({ name: c.column('d:name', text).optional() });
const toFirst = upgrade(1, { old, sets: ['first'] }, ({ name }) => ({ first: name?.toUpperCase() }));

function problemsOf(given: Given): string {
  try {
    compileSchema([person(given)]);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('declarations', () => {
  const at2 = (...upgrades: unknown[]): Given => ({ schemaVersion: 2, upgrades });
  const sets = (...names: string[]) => at2(upgrade(1, { old, sets: names }, () => ({})));
  const reads = (columns: (c: ColumnBuilder<string>) => object) =>
    at2(upgrade(1, { old: columns as never, sets: ['first'] }, () => ({})));
  it.each<[string, Given, RegExp]>([
    ['version 0', { schemaVersion: 0 }, /schemaVersion is .*0\. Give a whole number from 1 to 255/],
    ['version 256', { schemaVersion: 256 }, /schemaVersion is .*256/],
    ['a text', { schemaVersion: '2' }, /schemaVersion is/],
    ['no marker', { schemaVersion: 2, marker: false }, /schemaVersion and no marker/],
    ['a version too few', { upgrades: [toFirst] }, /schemaVersion is 1, and its upgrades are from 1/],
    [
      'a version too many',
      { schemaVersion: 3, upgrades: [toFirst] },
      /upgrades are from 1\. Give one from each/,
    ],
    ['one version twice', at2(toFirst, toFirst), /upgrades are from 1, 1/],
    ['no list', { upgrades: toFirst }, /upgrades is a list/],
    ['no options', at2({ from: 1, options: undefined, upgrade: () => ({}) }), /names no old columns/],
    ['no function', at2({ ...toFirst, upgrade: undefined }), /has no function/],
    ['a broken version', at2({ ...toFirst, from: 1.5 }), /is of no version/],
    ['nothing set', sets(), /@Upgrade\(1\) sets/],
    ['a property twice', sets('first', 'first'), /each once/],
    ['what there is not', sets('none'), /there is no such column/],
    ['a Map', sets('map'), /more than one cell/],
    ['a version property', sets('version'), /not the application that sets it/],
    ['a family with versions', sets('past'), /keeps 3 versions/],
    [
      'an old Map',
      reads((c) => ({ m: c.columns('e:x.', { value: text }) })),
      /more than one cell or a counter/,
    ],
    ['an old family that is not there', reads((c) => ({ m: c.column('x:y', text) })), /no family "x"/],
    ['the place of a Map', reads((c) => ({ m: c.column('e:m.1', text) })), /which is of "map" now/],
    ['the marker', reads((c) => ({ m: c.column('d:_', text) })), /where markers stand/],
    [
      'another codec in a place that nothing sets',
      reads((c) => ({ v: c.column('d:v', text) })),
      /"version" has with another codec, and nothing sets that/,
    ],
    [
      'columns that move as well',
      { ...at2(toFirst), columns: (c) => ({ mail: c.column('d:m', text, { was: ['d:mail'] }) }) },
      /Have the one done first/,
    ],
  ])('refuses %s', (_, given, message) => {
    expect(problemsOf(given)).toMatch(message);
  });

  it('refuses copies of what an upgrade sets', () => {
    const source = person(at2(toFirst));
    const Copy = defineEntity({
      name: 'Copy',
      table: defineTable({ name: 'copies', families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ by: c.column('d:b', text).optional(), name: c.column('d:n', text).optional() }),
      denormalized: [{ from: () => source as never, via: { id: 'by' }, fields: { name: 'first' } }],
    });
    expect(() => compileSchema([source, Copy])).toThrow(/copies Person.first, which an @Upgrade sets/);
  });

  it('takes it in decorators, with the types of the old columns', () => {
    @Table({ name: 'decorated', families: { d: {} } })
    class Crm {}
    @Entity({ table: Crm, schemaVersion: 2 })
    @RowKey(part('id'))
    @Upgrade(
      1,
      { old: (c) => ({ name: c.column('d:n', text) }), sets: ['size'], writeBack: true },
      ({ name }) => ({
        size: name.length,
      }),
    )
    class Person {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:s', int32) size!: number;
    }
    const options = {
      old: (c: ColumnBuilder<string>) => ({ name: c.column('d:n', text) }),
      sets: ['size'] as const,
    };
    // @ts-expect-error the old column is a text
    upgrade(1, options, ({ name }) => ({ size: name * 2 }));
    // @ts-expect-error it gives what it does not name
    upgrade(1, options, ({ name }) => ({ length: name }));
    const { version, upgrades, marker } = compileSchema([Person]).entities[0]!;
    expect([
      version,
      marker!.value[0],
      upgrades.map(({ from, sets: own, writeBack }) => [from, own, writeBack]),
    ]).toEqual([2, 2, [[1, ['size'], true]]]);
  });
});

const first = person({ columns: (c) => ({ name: c.column('d:name', text).optional() }) });
const now = person({ schemaVersion: 2, upgrades: [toFirst] });
const settled = person({ schemaVersion: 2 });
const key = { id: '1' } as never;

async function written(): Promise<MemoryFileSystem> {
  const disk = new MemoryFileSystem();
  const db = await openMemory({ disk, entities: [first] });
  await db.repository(first).put({ id: '1', name: 'ann' } as never);
  await db.close();
  return disk;
}

describe('stamps', () => {
  it('plan the upgrade, hold versions to what was written, and forget older ones when there are none', async () => {
    const disk = await written();
    await expect(openMemory({ disk, entities: [settled] })).rejects.toThrow(
      /rows of version 1.*without @Upgrade\(1\)/,
    );
    const wrong = upgrade(
      1,
      { old: (c) => ({ name: c.column('d:name', int32) }), sets: ['first'] },
      () => ({}),
    );
    await expect(
      openMemory({ disk, entities: [person({ schemaVersion: 2, upgrades: [wrong] })] }),
    ).rejects.toThrow(
      /reads "name" at d:name, which was written as column text and is declared as column int32/,
    );
    let db = await openMemory({ disk, entities: [now] });
    const { steps } = await db.schema.plan();
    expect(steps).toMatchObject([{ id: 'upgrade-rows:people/Person', class: 'online', from: 1, to: 2 }]);
    expect(await db.repository(now).get(key)).toMatchObject({ first: 'ANN' });
    const { done } = await db.schema.apply();
    expect(done.map(({ kind }) => kind)).toEqual(['upgrade-rows']);
    expect((await db.schema.plan()).steps).toEqual([]);
    await db.close();
    await expect(openMemory({ disk, entities: [first] })).rejects.toThrow(
      /written as version 2, but its schemaVersion is 1/,
    );
    for (const target of [now, settled]) {
      db = await openMemory({ disk, entities: [target] });
      expect(await db.repository(target).get(key)).toMatchObject({ first: 'ANN' });
      expect((await db.schema.plan()).steps).toEqual([]);
      await db.close();
    }
  });

  it('make an index of another version another one, which is built', async () => {
    const indexed = (given: Given) =>
      person({ ...given, indexes: { byFirst: { on: [part('first', text)] } } });
    const disk = new MemoryFileSystem();
    const before = indexed({ columns: (c) => ({ name: c.column('d:name', text).optional() }) });
    let db = await openMemory({ disk, entities: [before] });
    await db.index(before, 'byFirst' as never).build();
    await db.repository(before).put({ id: '1', name: 'ann', first: 'x' } as never);
    await db.close();
    const after = indexed({ schemaVersion: 2, upgrades: [toFirst] });
    db = await openMemory({ disk, entities: [after] });
    expect((await db.schema.plan()).steps.map(({ kind }) => kind)).toEqual([
      'upgrade-rows',
      'build-index',
      'drop-index',
    ]);
    await db.schema.apply();
    const find = (value: string) =>
      db
        .repository(after)
        .by('byFirst' as never)
        .find({ first: value } as never)
        .all();
    expect(await find('ANN')).toHaveLength(1);
    expect(await find('x')).toEqual([]);
    await db.close();
  });
});

describe('a first column in another family than the rows were written with', () => {
  // The marker, which has a row's version, stands in the family of the first column; in rows of before it is in d.
  const inE = defineEntity({
    name: 'Person',
    table: defineTable({ name: 'people', families: { d: {}, e: {}, h: { versions: 3 } } }),
    key: [part('id')],
    schemaVersion: 2,
    upgrades: [toFirst],
    columns: (c: ColumnBuilder<string>) => ({
      map: c.columns('e:m.', { value: text }),
      first: c.column('d:f', text).optional(),
      past: c.column('h:p', text).optional(),
      version: c.version('d:v'),
    }),
  } as never) as unknown as KeyedClass;

  it.each(['create', 'verify', 'ignore'] as const)(
    "is upgraded when it is read and when it is written; tables: '%s'",
    async (tables) => {
      const disk = await written();
      const db = await openMemory({ disk, entities: [inE], tables });
      const people = db.repository(inE);
      expect(await people.get(key)).toMatchObject({ first: 'ANN' });
      expect(await people.find({} as never, { fullScan: true }).all()).toMatchObject([{ first: 'ANN' }]);
      await people.update(key, { past: 'x' } as never);
      expect(await people.get(key)).toMatchObject({ first: 'ANN', past: 'x' });
      if (tables === 'create') {
        const { done } = await db.schema.apply();
        expect(done.map(({ kind }) => kind)).toEqual(['upgrade-rows']);
        expect(await people.get(key)).toMatchObject({ first: 'ANN', past: 'x' });
      }
      await db.close();
    },
  );

  it('is upgraded where its class is added to a database that is open', async () => {
    const disk = await written();
    const other = defineEntity({
      name: 'Other',
      table: defineTable({ name: 'others', families: { d: {} } }),
      key: [part('id', text)],
      columns: (c: ColumnBuilder<string>) => ({ x: c.column('d:x', text).optional() }),
    } as never) as unknown as KeyedClass;
    const db = await openMemory({ disk, entities: [other] });
    await db.add(inE);
    expect(await db.repository(inE).get(key)).toMatchObject({ first: 'ANN' });
    await db.close();
  });
});

describe('rows that cannot be upgraded', () => {
  const broken = (run: (old: { readonly name?: string | null }) => object) =>
    person({ schemaVersion: 2, upgrades: [upgrade(1, { old, sets: ['first'] }, run as never)] });
  it.each<[string, KeyedClass, RegExp]>([
    [
      'a function that throws',
      broken(() => {
        throw new Error('no comma');
      }),
      /row 1: @Upgrade\(1\) threw\. no comma Correct the upgrade/,
    ],
    ['nothing given', broken(() => undefined as never), /gave undefined, which is no object/],
    ['a promise', broken(async () => ({})), /gave .*, which is no object/],
    ['what it does not set', broken(() => ({ second: 1 })), /gave "second", which it does not name/],
    ['a value of another type', broken(() => ({ first: 5 })), /what its upgrades make of "first" is no text/],
  ])('%s', async (_, target, message) => {
    const db = await openMemory({ disk: await written(), entities: [target] });
    await expect(db.repository(target).get(key)).rejects.toMatchObject({
      code: 'ERR_CODEC',
      message: expect.stringMatching(message),
      details: { entity: 'Person', table: 'people', keyHex: '31' },
    });
    await expect(db.repository(target).update(key, { first: 'x' } as never)).rejects.toThrow(message);
    await expect(db.schema.upgradeRows(target)).rejects.toThrow(message);
    await db.close();
  });

  it('rows of a version that the program does not know', async () => {
    const disk = await written();
    const db = await openMemory({ disk, entities: [now] });
    await db.engine.table('people').put(new Put('2').addColumn('d', '_', Uint8Array.of(7)));
    await expect(db.repository(now).get({ id: '2' } as never)).rejects.toThrow(
      /written as version 7, and this program knows it up to version 2/,
    );
    await db.close();
  });

  it('an entity without upgrades', async () => {
    const db = await openMemory({ entities: [first] });
    await expect(db.schema.upgradeRows(first)).rejects.toThrow(/declared without @Upgrade/);
    await db.close();
  });
});

const readers = {
  owner: { secret: 'owner-secret-0123456789', admin: true },
  reader: { secret: 'reader-secret-0123456', read: ['*'] },
} satisfies ServedUsers;

describe.each([
  ['a user who may only read', { users: readers }],
  ['a server that is read only', { readOnly: true }],
  ['a store that is read only', undefined],
] as const)('an upgrade that is written back, for %s', (_, serving) => {
  it('is in what reads by key answer, and the stored row stays', async () => {
    const disk = new MemoryFileSystem();
    const before = person({ columns: (c) => ({ name: c.column('d:n', text).optional() }) });
    const now = person({
      schemaVersion: 2,
      upgrades: [
        upgrade(
          1,
          { old: (c) => ({ name: c.column('d:n', text).optional() }), sets: ['first'], writeBack: true },
          ({ name }) => ({ first: name && `${name}+` }),
        ),
      ],
      columns: (c) => ({ first: c.column('d:f', text).optional() }),
    });
    const place = { path: '/store', fileSystem: disk, background: 'inline' as const };
    {
      await using old = await open({ ...place, entities: [before] });
      await old.repository(before).put({ id: 'x', name: 'Ann' } as never);
      await old.repository(before).put({ id: 'y', name: 'Bo' } as never);
    }
    const answers = async (db: Database): Promise<void> => {
      const people = db.repository(now);
      expect(await people.get({ id: 'x' } as never)).toMatchObject({ first: 'Ann+' });
      const found = await people.getMany([{ id: 'y' }, { id: 'x' }] as never);
      expect(found).toMatchObject([{ first: 'Bo+' }, { first: 'Ann+' }]);
      const refused = people.put({ id: 'z' } as never);
      await expect(refused).rejects.toMatchObject({
        code: serving && 'users' in serving ? 'ERR_SECURITY' : 'ERR_READONLY',
      });
    };
    if (serving === undefined) {
      await using db = await open({ path: '/store', fileSystem: disk, entities: [now], readOnly: true });
      await answers(db);
      return;
    }
    await using served = await Served.start(serving, { disk });
    const authenticator = secretAuthenticator('reader', readers.reader.secret);
    const login = 'users' in serving ? { authenticator } : {};
    await using db = await connect({ masters: [served.endpoint], entities: [now], ...login });
    await answers(db);
    const stored = await served.store.table('people').get(new Get('x'));
    expect(stored.getLatest('d', 'n')).toBeDefined();
    expect(stored.getLatest('d', 'f')).toBeUndefined();
  });
});
