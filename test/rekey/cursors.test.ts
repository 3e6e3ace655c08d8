/** Cursors that were handed out before keys were changed. */

import { expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';

const declare = (name: string, ...key: KeyElement[]): KeyedClass =>
  defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: {} } }),
    key,
    columns: (c: ColumnBuilder<string>) => ({ x: c.column('d:x', text).optional() }),
  } as never) as unknown as KeyedClass;

const Old = declare('Old', salt(4), part('a'), part('b'));
const New = declare('New', salt(16), part('a'), part('b'));
const Turned = declare('Turned', salt(16), part('b'), part('a'));

const ROWS = Array.from({ length: 24 }, (_, i) => ({ a: `a${i % 5}`, b: `b${10 + i}` }));

async function pageOf(db: Database, Thing: KeyedClass, cursor?: string) {
  const query = db.repository(Thing).find({} as never, { fullScan: true });
  const page = await query.page({ size: 7, ...(cursor === undefined ? {} : { cursor }) });
  const names = (page.items as unknown as { a: string; b: string }[]).map(({ a, b }) => `${a} ${b}`);
  return { names, cursor: page.cursor };
}

it('go on in the new layout while keys are changed, cut over, cleaned up and in the next process', async () => {
  const disk = new MemoryFileSystem();
  let db = await openMemory({ disk, entities: [Old, New] });
  await db.repository(Old).putMany(ROWS as never);
  const first = await pageOf(db, Old);
  const rekey = db.rekey(Old, New);
  await rekey.run();
  const second = await pageOf(db, New, first.cursor);
  await rekey.cutOver();
  // Both ways until there is no way back: the cursor of a page of the new layout is that one's own.
  expect((await pageOf(db, Old, first.cursor)).names).toEqual(second.names);
  await rekey.cleanup();
  expect((await pageOf(db, New, first.cursor)).names).toEqual(second.names);
  await db.close();
  db = await openMemory({ disk, entities: [New] });
  expect((await pageOf(db, New, first.cursor)).names).toEqual(second.names);
  const reader = await open({ path: '/memory', fileSystem: disk, entities: [New], readOnly: true });
  expect((await pageOf(reader, New, first.cursor)).names).toEqual(second.names);
  await reader.close();
  const third = await pageOf(db, New, second.cursor);
  const last = await pageOf(db, New, third.cursor);
  expect([first, second, third, last].flatMap(({ names }) => names)).toEqual(
    ROWS.map(({ a, b }) => `${a} ${b}`).sort(),
  );
  await db.close();
});

it('are refused where rows stand in another order, and by entities that are nothing to each other', async () => {
  const db = await openMemory({ entities: [Old, New, Turned] });
  await db.repository(Old).putMany(ROWS as never);
  const { cursor } = await pageOf(db, Old);
  await expect(pageOf(db, New, cursor)).rejects.toMatchObject({ code: 'ERR_QUERY' });
  await db.rekey(Old, Turned).run();
  await expect(pageOf(db, Turned, cursor)).rejects.toMatchObject({ code: 'ERR_QUERY' });
  await db.close();
});
