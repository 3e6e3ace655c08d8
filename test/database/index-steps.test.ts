/** Declared indexes as steps of plans: built where rows are, dropped where they are declared no more, and then the plan is empty. */

import { expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database, OpenOptions } from '../../src/database.js';
import { planScript, type SchemaPlan } from '../../src/ddl/index.js';
import { indexTableName } from '../../src/features/indexes/entry.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';

type Indexes = Readonly<
  Record<string, { readonly on: readonly unknown[]; readonly include?: readonly string[] }>
>;

function declare(indexes: Indexes, was = false): KeyedClass {
  return defineEntity({
    name: 'Thing',
    table: defineTable({ name: 'things', families: { d: {} } }),
    key: [part('id')],
    columns: (c: ColumnBuilder<string>) => ({
      x: c.column(was ? 'd:z' : 'd:x', text, was ? { was: ['d:x'] } : {}).optional(),
      y: c.column('d:y', text).optional(),
    }),
    indexes,
  } as never) as unknown as KeyedClass;
}

const byX: Indexes = { byX: { on: [part('x', text)] } };
const byXWithY: Indexes = { byX: { on: [part('x', text)], include: ['y'] } };

async function idsOf(db: Database, Thing: KeyedClass): Promise<unknown[]> {
  const found = await db
    .repository(Thing)
    .by('byX' as never)
    .find({ x: 'a' } as never)
    .all();
  return (found as unknown as { id: string }[]).map(({ id }) => id).sort();
}

it('builds what is declared, drops what is not, and leaves an empty plan', async () => {
  const disk = new MemoryFileSystem();
  const openWith = (Thing: KeyedClass, tables: NonNullable<OpenOptions['tables']>) =>
    openMemory({ disk, entities: [Thing], tables });
  const plain = declare({});
  let db = await openWith(plain, 'create');
  await db.repository(plain).putMany([
    { id: '1', x: 'a', y: 'p' },
    { id: '2', x: 'b' },
    { id: '3', x: 'a' },
  ] as never);
  expect((await db.schema.plan()).steps).toEqual([]);
  await db.close();

  const indexed = declare(byX);
  db = await openWith(indexed, 'ignore');
  const plan = await db.schema.plan();
  expect(plan.steps.map(({ id, class: of }) => [id, of])).toEqual([
    [`create-table:${indexTableName('things')}`, 'online'],
    ['build-index:things/Thing.byX', 'online'],
  ]);
  expect(planScript(plan)).toContain('# build-index:things/Thing.byX: done by rowan schema apply');
  const { done } = await db.schema.apply();
  expect(done).toHaveLength(2);
  expect((await db.schema.plan()).steps).toEqual([]);
  expect(await idsOf(db, indexed)).toEqual(['1', '3']);
  await db.close();

  // The same name over another layout is another index.
  const covering = declare(byXWithY);
  db = await openWith(covering, 'ignore');
  const anew = await db.schema.plan();
  expect(anew.steps.map(({ kind, why }) => [kind, why])).toEqual([
    ['build-index', expect.stringMatching(/^The index is declared but not built as it is declared/)],
    ['drop-index', expect.stringMatching(/^The index "byX" of Thing is declared otherwise than before/)],
  ]);
  // Rows are written while it is built.
  const writing = db.repository(covering).put({ id: '4', x: 'a' } as never);
  await db.schema.apply();
  await writing;
  expect((await db.schema.plan()).steps).toEqual([]);
  expect(await idsOf(db, covering)).toEqual(['1', '3', '4']);
  await db.close();

  db = await openWith(plain, 'ignore');
  expect((await db.schema.plan()).steps.map(({ kind }) => kind)).toEqual(['drop-index']);
  await db.schema.apply();
  expect((await db.schema.plan()).steps).toEqual([]);
  const left = await db.engine.table(indexTableName('things')).scan(new Scan()).next();
  expect(left).toBeUndefined();
  await db.close();
});

it('plans a build of what opening has begun, and none of tables without rows', async () => {
  const disk = new MemoryFileSystem();
  const plain = declare({});
  const indexed = declare(byX);
  let db = await openMemory({ disk, entities: [indexed], tables: 'ignore' });
  await db.schema.apply();
  expect((await db.schema.plan()).steps).toEqual([]);
  await db.close();
  db = await openMemory({ disk, entities: [indexed] });
  expect(db.index(indexed, 'byX' as never).state).toBe('active');
  await db.close();
  // A program without the index disables it.
  db = await openMemory({ disk, entities: [plain] });
  await db.repository(plain).put({ id: '1', x: 'a' } as never);
  await db.close();
  db = await openMemory({ disk, entities: [indexed] });
  expect(db.index(indexed, 'byX' as never).state).toBe('disabled');
  expect((await db.schema.plan()).steps.map(({ id }) => id)).toEqual(['build-index:things/Thing.byX']);
  await db.schema.apply();
  expect(await idsOf(db, indexed)).toEqual(['1']);
  await db.close();
});

it('builds an index over a column that is moving from where its values stand', async () => {
  const disk = new MemoryFileSystem();
  const plain = declare({});
  let db = await openMemory({ disk, entities: [plain] });
  await db.repository(plain).put({ id: '1', x: 'a' } as never);
  await db.close();
  const moved = declare(byX, true);
  db = await openMemory({ disk, entities: [moved], tables: 'ignore' });
  const kinds = (await db.schema.plan()).steps.map(({ kind }) => kind);
  expect(kinds.indexOf('build-index')).toBeGreaterThan(kinds.indexOf('move-columns'));
  await db.schema.apply();
  expect((await db.schema.plan()).steps).toEqual([]);
  expect(await idsOf(db, moved)).toEqual(['1']);
  await db.close();
});

it('says of an index on a new table, and of one in a migration, only what is known there', async () => {
  const indexed = declare(byX);
  const whyOf = ({ steps }: SchemaPlan) => steps.find(({ kind }) => kind === 'build-index')?.why;
  const db = await openMemory({ entities: [indexed], tables: 'ignore' });
  expect(whyOf(await db.schema.plan())).toMatch(
    /^The index is built with its table, which has no rows yet\./,
  );
  const nothing = '{"format":2,"tables":[],"schemas":{}}';
  expect(whyOf(await db.schema.check(nothing))).toMatch(/^The index is newly declared: /);
  const before = db.schema.snapshot();
  const covering = await openMemory({ entities: [declare(byXWithY)], tables: 'ignore' });
  expect(whyOf(await covering.schema.check(before))).toMatch(/^The index is declared otherwise than before/);
  await covering.close();
  await db.schema.apply();
  expect((await db.schema.plan()).steps).toEqual([]);
  await db.close();
});
