/** What `was` may say, what the stamps of tables make of it, and entities that end. */

import { describe, expect, it } from 'vitest';
import type { ColumnBuilder } from '../../decorators/column-builder.js';
import {
  Column,
  defineEntity,
  defineTable,
  Entity,
  formerly,
  type PropertyDefinitions,
  RowKey,
  Table,
} from '../../decorators/index.js';
import { int32, int64, text } from '../../src/codec/index.js';
import { Database, open } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';

function thing(columns: (c: ColumnBuilder<string>) => PropertyDefinitions, more: object = {}): KeyedClass {
  const table = defineTable({ name: 'things', families: { d: {}, e: {}, v: { versions: 3 } } });
  return defineEntity({ name: 'Thing', table, key: [part('id')], columns, ...more } as never) as never;
}

const problemsOf = (columns: (c: ColumnBuilder<string>) => PropertyDefinitions): string => {
  try {
    compileSchema([thing(columns)]);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('declarations', () => {
  it.each<[string, unknown, RegExp]>([
    ['its own place', ['d:n'], /which is where it stands.*another column/],
    ['a place twice', ['d:m', 'd:m'], /twice/],
    ['a family that is not there', ['x:m'], /declares no family "x"/],
    ['no family', ['m'], /names no family/],
    ['nothing', [], /Give a list/],
    ['no list', 'd:m', /Give a list/],
    ['no codec', [{ column: 'd:m', migrate: String }], /without a codec/],
    ['no function', [{ column: 'd:m', codec: text }], /function that migrates/],
    ['null', [null], /neither a text/],
    ['the place of another property', ['d:o'], /is also that of "other"/],
    ['a place within a Map', ['e:m.1'], /is also that of "map"/],
    ['the marker', ['d:_'], /marker cell/],
  ])('refuses %s', (_, was, message) => {
    const problems = problemsOf((c) => ({
      name: c.column('d:n', text, { was: was as never }),
      other: c.column('d:o', text),
      map: c.columns('e:m.', { value: text }),
    }));
    expect(problems).toMatch(message);
  });

  it.each<[string, (c: ColumnBuilder<string>) => PropertyDefinitions, RegExp]>([
    [
      'a Map from among other columns',
      (c) => ({ a: c.column('d:x', text), m: c.columns('e:', { value: text, was: ['d:'] }) }),
      /is also that of "a"/,
    ],
    [
      'a Map from within itself',
      (c) => ({ m: c.columns('e:', { value: text, was: ['e:m.'] }) }),
      /is also that of "m"/,
    ],
    [
      'a Map from where the marker stands',
      (c) => ({ a: c.column('d:a', text), m: c.columns('e:', { value: text, was: ['d:_'] }) }),
      /marker cell/,
    ],
    [
      'a column from within a Map that moves',
      (c) => ({
        m: c.columns('e:', { value: text, was: ['d:m.'] }),
        b: c.column('v:b', text, { was: ['d:m.x'] }),
      }),
      /is also that of/,
    ],
    [
      'a counter that is migrated',
      (c) => ({ n: c.counter('d:n', { was: [formerly('d:o', text, BigInt)] }) }),
      /Name the place of a counter alone/,
    ],
    [
      'a counter of several versions',
      (c) => ({ n: c.counter('v:n', { was: ['d:o'] }) }),
      /"v" keeps several versions/,
    ],
  ])('refuses %s', (_, columns, message) => {
    expect(problemsOf(columns)).toMatch(message);
  });

  it('refuses one place for two properties', () => {
    const problems = problemsOf((c) => ({
      a: c.column('d:a', text, { was: ['d:x'] }),
      b: c.column('d:b', text, { was: ['d:x'] }),
    }));
    expect(problems).toMatch(/"d:x", which is also that of/);
  });

  it('takes it in decorators, with the type of the property', () => {
    @Table({ name: 'decorated', families: { d: {} } })
    class Shop {}
    @Entity({ table: Shop })
    @RowKey(part('id'))
    class Order {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:c', int64, { was: [formerly('d:t', text, (old) => BigInt(old))] }) cents!: bigint;
      @Column('d:m', text, { was: ['d:mail'] }) mail?: string | null;
    }
    // @ts-expect-error the function gives a text, the codec takes a bigint
    Column('d:c', int64, { was: [formerly('d:t', text, (old) => old)] });
    const { columns } = compileSchema([Order]).entities[0]!;
    expect(columns.map(({ was }) => was.map(({ family, codec }) => [family, codec.name]))).toEqual([
      [['d', 'text']],
      [['d', 'text']],
    ]);
  });
});

const before = thing((c) => ({
  name: c.column('d:name', text).optional(),
  n: c.column('d:x', int32).optional(),
}));
const after = thing((c) => ({
  name: c.column('e:n', text, { was: ['d:name'] }).optional(),
  n: c.column('d:y', text, { was: [formerly('d:x', int32, String)] }).optional(),
}));
const settled = thing((c) => ({
  name: c.column('e:n', text).optional(),
  n: c.column('d:y', text).optional(),
}));

describe('stamps', () => {
  it('plan the move, hold `was` to what was written, and forget the old places when they are empty', async () => {
    const disk = new MemoryFileSystem();
    const old = await openMemory({ disk, entities: [before] });
    await old.repository(before).put({ id: '1', name: 'a', n: 5 } as never);
    await old.close();
    await expect(openMemory({ disk, entities: [settled] })).rejects.toThrow(/was written to d:.*was: \[/);
    const wrong = thing((c) => ({
      name: c.column('e:n', text, { was: ['d:name'] }).optional(),
      n: c.column('d:y', text, { was: ['d:x'] }).optional(),
    }));
    await expect(openMemory({ disk, entities: [wrong] })).rejects.toThrow(
      /written as column int32.*formerly/,
    );
    const db = await openMemory({ disk, entities: [after] });
    const plan = await db.schema.plan();
    expect(plan.steps).toMatchObject([
      { id: 'move-columns:things/Thing', class: 'online', from: ['d:6e616d65', 'd:78'] },
    ]);
    expect(await db.repository(after).get({ id: '1' } as never)).toMatchObject({ name: 'a', n: '5' });
    const { done } = await db.schema.apply();
    expect(done.map(({ kind }) => kind)).toEqual(['move-columns']);
    expect((await db.schema.plan()).steps).toEqual([]);
    await db.close();
    const last = await openMemory({ disk, entities: [settled] });
    expect(await last.repository(settled).get({ id: '1' } as never)).toMatchObject({ name: 'a', n: '5' });
    await expect(last.schema.moveColumns(settled)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    await last.close();
  });

  it('leave entities that end to their end', async () => {
    const ending = (columns: Parameters<typeof thing>[0]) => thing(columns, { ttl: 60_000 });
    const was = ending((c) => ({ name: c.column('d:name', text).optional() }));
    const is = ending((c) => ({ name: c.column('e:n', text, { was: ['d:name'] }).optional() }));
    const disk = new MemoryFileSystem();
    const old = await openMemory({ disk, entities: [was] });
    await old.repository(was).put({ id: '1', name: 'a' } as never);
    await old.close();
    const db = await openMemory({ disk, entities: [is] });
    expect((await db.schema.plan()).steps).toMatchObject([{ kind: 'move-columns', class: 'manual' }]);
    await expect(db.schema.moveColumns(is)).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await expect(
      db.repository(is).append({ id: '1' } as never, { name: 'b' } as never),
    ).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
    });
    expect(await db.repository(is).get({ id: '1' } as never)).toMatchObject({ name: 'a' });
    await db.schema.settleColumns(is);
    expect((await db.schema.plan()).steps).toEqual([]);
    await db.close();
  });
});

describe('values that cannot be migrated', () => {
  it('say which row and property, in reads and in the move', async () => {
    const disk = new MemoryFileSystem();
    const old = await openMemory({ disk, entities: [before] });
    await old.repository(before).put({ id: 'r1', n: 5 } as never);
    await old.close();
    const failing = thing((c) => ({
      name: c.column('e:n', text, { was: ['d:name'] }).optional(),
      n: c
        .column('d:y', text, {
          was: [
            formerly('d:x', int32, (): string => {
              throw new Error('not this one');
            }),
          ],
        })
        .optional(),
    }));
    const db = await openMemory({ disk, entities: [failing] });
    const error = { code: 'ERR_CODEC', message: expect.stringMatching(/"n".*d:x of row r1.*not this one/) };
    await expect(db.repository(failing).get({ id: 'r1' } as never)).rejects.toMatchObject(error);
    await expect(db.schema.moveColumns(failing)).rejects.toMatchObject({ code: 'ERR_CODEC' });
    await db.close();
  });

  it('a table named at run time has moved columns, too', async () => {
    const db = await openMemory({ entities: [before] });
    await (await db.repositoryIn(before, 'other')).put({ id: '1', name: 'a' } as never);
    const tools = new Database(compileSchema([after]), db.engine).schema;
    expect((await tools.plan()).contradictions).toEqual([]);
    const disk = new MemoryFileSystem();
    const place = { path: '/x', fileSystem: disk, background: 'inline' as const };
    const old = await open({ ...place, entities: [before] });
    await (await old.repositoryIn(before, 'other')).put({ id: '1', name: 'a' } as never);
    await old.close();
    const now = await open({ ...place, entities: [after] });
    const other = await now.repositoryIn(after, 'other');
    expect(await other.get({ id: '1' } as never)).toMatchObject({ name: 'a' });
    await Promise.all([db.close(), now.close()]);
  });
});

describe('an earlier release behind a move that is done', () => {
  const first = thing((c) => ({ subject: c.column('d:s', text), n: c.column('d:n', int32).optional() }));
  const renamed = (more: (c: ColumnBuilder<string>) => PropertyDefinitions = () => ({})) =>
    thing((c) => ({
      title: c.column('d:t', text, { was: ['d:s'] }),
      n: c.column('d:n', int32).optional(),
      ...more(c),
    }));
  const later = (more: (c: ColumnBuilder<string>) => PropertyDefinitions = () => ({})) =>
    thing((c) => ({ title: c.column('d:t', text), n: c.column('d:n', int32).optional(), ...more(c) }));

  async function moved(): Promise<MemoryFileSystem> {
    const disk = new MemoryFileSystem();
    {
      await using db = await openMemory({ entities: [first], disk });
      await db.repository(first).put({ id: '1', subject: 'Hello' } as never);
    }
    const Renamed = renamed();
    await using db = await openMemory({ entities: [Renamed], disk });
    await db.schema.moveColumns(Renamed);
    return disk;
  }

  async function get(target: KeyedClass, disk: MemoryFileSystem): Promise<object | null> {
    await using db = await openMemory({ entities: [target], disk });
    return db.repository(target).get({ id: '1' } as never);
  }

  it('is refused where the property was renamed, as where its name stays', async () => {
    const disk = await moved();
    await expect(get(first, disk)).rejects.toThrow(/"subject" is declared at .* were moved to .*"title"/);
    const Stays = thing((c) => ({ title: c.column('d:s', text) }));
    await expect(get(Stays, disk)).rejects.toThrow(/"title" is declared at .* were moved/);
    // Others have been at it since.
    expect(await get(later(), disk)).toMatchObject({ title: 'Hello' });
    await expect(get(first, disk)).rejects.toThrow(/would not be read there/);
  });

  it('is refused behind several moves', async () => {
    const disk = await moved();
    const Again = thing((c) => ({ title: c.column('d:u', text, { was: ['d:t'] }) }));
    {
      await using db = await openMemory({ entities: [Again], disk });
      await db.schema.moveColumns(Again);
    }
    await expect(get(first, disk)).rejects.toThrow(/would not be read there/);
    expect(
      await get(
        thing((c) => ({ title: c.column('d:u', text) })),
        disk,
      ),
    ).toMatchObject({ title: 'Hello' });
  });

  it('is refused where it would move back what the deletes of the move hide, and opens at a third place', async () => {
    const disk = await moved();
    const Back = thing((c) => ({ subject: c.column('d:s', text, { was: ['d:t'] }) }));
    await expect(get(Back, disk)).rejects.toThrow(/hidden by the delete markers/);
    const Third = thing((c) => ({ subject: c.column('d:s2', text, { was: ['d:t'] }) }));
    expect(await get(Third, disk)).toMatchObject({ subject: 'Hello' });
    {
      await using db = await openMemory({ entities: [Third], disk });
      await db.schema.moveColumns(Third);
    }
    expect(
      await get(
        thing((c) => ({ subject: c.column('d:s2', text) })),
        disk,
      ),
    ).toMatchObject({
      subject: 'Hello',
    });
    await expect(get(later(), disk)).rejects.toThrow(/"title" is declared at/);
  });

  it('leaves the old place to another property of the program that has the new one', async () => {
    const disk = await moved();
    const Other = later((c) => ({ sound: c.column('d:s', int32).optional() }));
    expect(await get(Other, disk)).toMatchObject({ title: 'Hello' });
  });
});
