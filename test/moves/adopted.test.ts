/** What a program makes of rows whose markers stand where an earlier program's declarations had them. */

import { describe, expect, it } from 'vitest';
import type { ColumnBuilder } from '../../decorators/column-builder.js';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';

type Row = Record<string, unknown>;

const people = { name: 'people', families: { d: {}, e: {} } };

function person(more: object, columns: (c: ColumnBuilder<string>) => object): KeyedClass {
  return defineEntity({
    name: 'Person',
    table: defineTable(people),
    key: [part('id')],
    columns,
    ...more,
  } as never) as never;
}

const first = person({}, (c) => ({
  name: c.column('d:name', text).optional(),
  age: c.column('d:a', int32).optional(),
}));

/** Its first column stands in another family: so would its marker, if it were new. */
const second = (writeBack: boolean): KeyedClass =>
  person(
    {
      schemaVersion: 2,
      upgrades: [
        upgrade(
          1,
          {
            old: (c: ColumnBuilder<string>) => ({ name: c.column('d:name', text).optional() }),
            sets: ['first', 'last'],
            writeBack,
          } as never,
          (({ name }: { name?: string }) => {
            const [first, last] = name?.split(' ') ?? [];
            return { first, last };
          }) as never,
        ),
      ],
    },
    (c) => ({
      first: c.column('e:f', text).optional(),
      last: c.column('d:l', text).optional(),
      age: c.column('d:a', int32).optional(),
    }),
  );

const other = defineEntity({
  name: 'Other',
  table: defineTable({ name: 'others', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text).optional() }),
}) as unknown as KeyedClass;

describe.each([false, true])(
  'an upgrade that declares its first column in another family, writeBack %s',
  (writeBack) => {
    const Now = second(writeBack);

    async function stored(): Promise<MemoryFileSystem> {
      const fs = new MemoryFileSystem();
      await using db = await openMemory({ entities: [first], disk: fs });
      const old = db.repository(first);
      for (const id of ['1', '2', '3']) await old.put({ id, name: `Ann${id} Lee`, age: 1 } as never);
      return fs;
    }

    const then = (id: string, more: Row = {}): Row => ({
      id,
      first: `Ann${id}`,
      last: 'Lee',
      age: 1,
      ...more,
    });

    it('gives the upgraded properties, before and behind each way of writing', async () => {
      const fs = await stored();
      {
        await using db = await openMemory({ entities: [Now], disk: fs });
        const now = db.repository(Now);
        expect(await now.get({ id: '1' } as never)).toMatchObject(then('1'));
        await now.update({ id: '1' } as never, { age: 5 } as never);
        await now.put({ id: '2', age: 6 } as never);
        await now.mutate({ id: '3' } as never, (row) => row.set({ age: 7 } as never));
      }
      await using db = await openMemory({ entities: [Now], disk: fs });
      const now = db.repository(Now);
      for (const [id, age] of [
        ['1', 5],
        ['2', 6],
        ['3', 7],
      ] as const)
        expect(await now.get({ id } as never)).toMatchObject(then(id, { age }));
    });

    it('does so of entities that are added, and in transactions', async () => {
      const fs = await stored();
      await using db = await openMemory({ entities: [other], disk: fs });
      await db.add(Now);
      expect(await db.repository(Now).get({ id: '1' } as never)).toMatchObject(then('1'));
      await db.transaction(async (tx) => {
        const now = tx.repository(Now);
        expect(await now.get({ id: '2' } as never)).toMatchObject(then('2'));
        await now.update({ id: '2' } as never, { age: 9 } as never);
      });
      expect(await db.repository(Now).get({ id: '2' } as never)).toMatchObject(then('2', { age: 9 }));
    });

    it('does so in a table that is named at run time, wherever the declared one has its markers', async () => {
      const disk = new MemoryFileSystem();
      {
        await using db = await openMemory({ entities: [first], disk });
        const old = await db.repositoryIn(first, 'copy');
        await old.put({ id: '1', name: 'Ann1 Lee', age: 1 } as never);
      }
      {
        await using db = await openMemory({ entities: [Now], disk });
        const now = await db.repositoryIn(Now, 'copy');
        await now.update({ id: '1' } as never, { age: 5 } as never);
        expect(await now.get({ id: '1' } as never)).toMatchObject(then('1', { age: 5 }));
      }
      await using db = await openMemory({ entities: [Now], disk });
      const now = await db.repositoryIn(Now, 'copy');
      expect(await now.get({ id: '1' } as never)).toMatchObject(then('1', { age: 5 }));
    });
  },
);
