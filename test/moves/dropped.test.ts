/** Columns that are declared no more: a step of the plan removes what stands in them, and nothing else. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { toStringBinary } from '../../src/bytes/index.js';
import { int64, text } from '../../src/codec/index.js';
import { Database, open } from '../../src/database.js';
import { planScript } from '../../src/ddl/index.js';
import { dropColumn } from '../../src/features/evolution/jobs.js';
import { part, recordType } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import { Get, Put, Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { withBatch } from '../proof/with-batch.js';

const table = defineTable({ name: 'shop', families: { d: { versions: 3 }, e: {} } });

const Before = defineEntity({
  name: 'Order',
  table,
  recordType: 1,
  key: [recordType(), part('id')],
  columns: (c) => ({
    state: c.column('d:s', text),
    note: c.column('d:n', text).optional(),
    tags: c.columns('d:t.', { value: text }),
    more: c.columns('e:', { value: text }),
  }),
});
/** Without note, tags and more; `kept` stands where an entry of `more` may. */
const Now = defineEntity({
  name: 'Order',
  table,
  recordType: 1,
  key: [recordType(), part('id')],
  columns: (c) => ({
    state: c.column('d:s', text),
    kept: c.column('e:kept', text).optional(),
  }),
});
const Other = defineEntity({
  name: 'Other',
  table,
  recordType: 2,
  key: [recordType(), part('id')],
  columns: (c) => ({ state: c.column('d:s', text), note: c.column('d:n', text) }),
});
const NOTE = 'drop-column:shop/Order/d:n';
const TAGS = 'drop-column:shop/Order/d:t.';
const MORE = 'drop-column:shop/Order/e:';

let fileSystem: MemoryFileSystem;
/** The stores' time: each write has a millisecond of its own, so that no delete of a sweep hides the put after it (R32). */
let now = 0;
beforeEach(() => {
  fileSystem = new MemoryFileSystem();
  now = Date.now();
});
const opened: Database[] = [];
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

async function openWith(...entities: readonly EntityClass[]): Promise<Database> {
  await opened.pop()?.close();
  const db = await open({ path: '/store', fileSystem, entities, clock: () => ++now });
  opened.push(db);
  return db;
}

async function fill(db: Database, rows = 3): Promise<void> {
  const orders = db.repository(Before);
  for (let n = 0; n < rows; n++) {
    const id = String(n).padStart(5, '0');
    for (const state of ['open', 'paid'])
      await orders.put({
        id,
        state,
        note: `${state}?`,
        tags: new Map([['red', 'r']]),
        more: new Map([['a', '1']]),
      });
  }
}

const rowOf = (id: string): Uint8Array => compileSchema([Before]).entities[0]!.mapper.rowOf({ id });

async function columns(db: Database): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for await (const { cells } of db.engine.table('shop').scan(new Scan().readAllVersions())) {
    for (const { row, family, qualifier } of cells) {
      const name = `${row[0]} ${family}:${toStringBinary(qualifier)}`;
      found[name] = (found[name] ?? 0) + 1;
    }
  }
  return found;
}

test('the step names new columns that could be the renamed one, until one of them says so', async () => {
  await fill(await openWith(Before));
  const entity = (columns: Parameters<typeof defineEntity>[0]['columns']) =>
    defineEntity({ name: 'Order', table, recordType: 1, key: [recordType(), part('id')], columns });
  const reasons = async (target: EntityClass): Promise<string[]> => {
    const db = await open({ path: '/store', fileSystem, entities: [target], tables: 'ignore' });
    opened.push(db);
    const { steps } = await db.schema.plan();
    await opened.pop()?.close();
    return steps.filter(({ kind }) => kind === 'drop-column').map(({ why }) => why);
  };
  await opened.pop()?.close();
  const others: Parameters<typeof defineEntity>[0]['columns'] = (c) => ({
    state: c.column('d:s', text),
    tags: c.columns('d:t.', { value: text }),
    more: c.columns('e:', { value: text }),
  });
  const [renamed] = await reasons(
    entity((c) => ({
      ...others(c),
      remark: c.column('d:r', text).optional(),
      length: c.column('d:l', int64).optional(),
    })),
  );
  expect(renamed).toMatch(
    / If it has a new name, as "remark", declare that column with \{ was: \['d:n'\] \} instead: its values are moved\.$/,
  );
  expect((await reasons(entity((c) => others(c))))[0]).toMatch(/removed from the stamp\.$/);
  const moved = await reasons(
    entity((c) => ({ ...others(c), remark: c.column('d:r', text, { was: ['d:n'] }).optional() })),
  );
  expect(moved).toEqual([]);
});

test('what stands in them goes once that is allowed, step by step, and the plan is empty then', async () => {
  const before = await openWith(Before, Other);
  await fill(before);
  await before.repository(Other).put({ id: 'x', state: 'open', note: 'stays' });
  const later = new Put(rowOf('00000'), Date.now() + 1e6).addColumn(
    'd',
    Buffer.from('n'),
    Buffer.from('later'),
  );
  await before.engine.table('shop').put(later);
  const db = await openWith(Now, Other);
  await db.repository(Now).update({ id: '00001' }, { kept: '2' });
  const plan = await db.schema.plan();
  expect(plan.steps.map(({ id, class: kind }) => [id, kind])).toEqual([
    [NOTE, 'data-loss'],
    [TAGS, 'data-loss'],
    [MORE, 'data-loss'],
  ]);
  expect(planScript(plan, [`data-loss:${NOTE}`])).toContain(`# ${NOTE}: done by rowan schema apply`);
  const all = await columns(db);
  expect((await db.schema.apply()).done).toEqual([]);
  expect(await columns(db)).toEqual(all);

  const { '1 d:n': _, ...withoutNote } = all;
  await db.schema.apply({ allow: [`data-loss:${NOTE}`] });
  expect(await columns(db)).toEqual(withoutNote);
  expect((await db.schema.plan()).steps.map(({ id }) => id)).toEqual([TAGS, MORE]);

  await db.schema.apply({ allow: [`data-loss:${TAGS}`, `data-loss:${MORE}`] });
  const { '1 d:t.red': __, '1 e:a': ___, ...left } = withoutNote;
  expect(await columns(db)).toEqual(left);
  expect(Object.keys(left)).toEqual(expect.arrayContaining(['1 d:_', '1 d:s', '1 e:kept', '2 d:n']));
  expect(await db.schema.plan()).toMatchObject({ steps: [], contradictions: [], unmanaged: [] });
  expect(await db.repository(Now).get({ id: '00001' })).toEqual({
    id: '00001',
    state: 'paid',
    kept: '2',
  });
});

test('a run that was ended goes on where it stopped', async () => {
  await fill(await openWith(Before), 60);
  const db = await openWith(Now);
  const [entity] = compileSchema([Now]).entities;
  const settings = { parallel: 1, batchRows: 10, checkpointRows: 10, checkpointMs: 1 };
  const note = { family: 'd', qualifier: '6e', kind: 'column', codec: 'text', property: 'note' };
  let batches = 0;
  const mortal = withBatch(db.engine, 'shop', async (shop, mutations) => {
    if (++batches > 3) throw new Error('ended');
    return shop.batch(mutations);
  });
  await expect(dropColumn(mortal, entity!, note, settings)).rejects.toThrow('ended');
  const left = (await columns(db))['1 d:n']! / 2;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(60);
  const outcome = await dropColumn(db.engine, entity!, note, settings);
  expect(outcome).toMatchObject({ resumed: true, counters: { dropped: expect.any(Number) } });
  expect((await columns(db))['1 d:n']).toBeUndefined();
  // The stamp is the plan's: its step looks once more, and finds nothing.
  await db.schema.apply({ allow: [`data-loss:${NOTE}`] });
  expect((await db.schema.plan()).steps.map(({ id }) => id)).toEqual([TAGS, MORE]);
});

test('the place may be that of another column then, with another codec', async () => {
  const After = defineEntity({
    name: 'Order',
    table,
    recordType: 1,
    key: [recordType(), part('id')],
    columns: (c) => ({
      state: c.column('d:s', text),
      kept: c.column('e:kept', text).optional(),
      total: c.column('d:n', int64).optional(),
    }),
  });
  await fill(await openWith(Before));
  await expect(openWith(After)).rejects.toThrow('d:n was written as column text');
  const db = await openWith(Now);
  await db.schema.apply({ allow: [`data-loss:${NOTE}`] });
  const orders = (await openWith(After)).repository(After);
  expect((await orders.get({ id: '00001' }))?.total).toBeUndefined();
});

test('a program that writes it still is told, and makes the step due again', async () => {
  const writer = await openWith(Before);
  await fill(writer);
  let writes = true;
  const engine = withBatch(writer.engine, 'shop', async (shop, deletes) => {
    const outcomes = await shop.batch(deletes);
    if (writes) await writer.repository(Before).update({ id: '00001' }, { note: 'again' });
    return outcomes;
  });
  const { schema: tools } = new Database(compileSchema([Now]), engine, 'ignore');
  await expect(tools.apply({ allow: [`data-loss:${NOTE}`] })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  writes = false;
  expect((await tools.plan()).steps.map(({ id }) => id)).toContain(NOTE);
  await tools.apply({ allow: [`data-loss:${NOTE}`] });
  expect((await tools.plan()).steps.map(({ id }) => id)).toEqual([TAGS, MORE]);
  await openWith(Before);
  expect((await (await openWith(Now)).schema.plan()).steps.map(({ id }) => id)).toContain(NOTE);
});

test('the marker that stands among the columns of a Map stays', async () => {
  const bags = defineTable({ name: 'bags', families: { d: {}, e: {} } });
  const base = { name: 'Bag', table: bags, key: [part('id')], marker: 'd' } as const;
  const Full = defineEntity({
    ...base,
    columns: (c) => ({
      name: c.column('e:n', text).optional(),
      things: c.columns('d:', { value: text }),
    }),
  });
  const Empty = defineEntity({ ...base, columns: (c) => ({ name: c.column('e:n', text).optional() }) });
  await (await openWith(Full)).repository(Full).put({ id: 'a', things: new Map([['x', 'y']]) });
  const db = await openWith(Empty);
  await db.schema.apply({ allow: ['data-loss:drop-column:bags/Bag/d:'] });
  const { cells } = await db.engine.table('bags').get(new Get(Buffer.from('a')));
  expect(cells.map(({ qualifier }) => toStringBinary(qualifier))).toEqual(['_']);
  expect(await db.repository(Empty).exists({ id: 'a' })).toBe(true);
});

test('columns that move, that an upgrade reads, and whose family goes, have no such step', async () => {
  const declare = (columns: 'old' | 'new') =>
    defineEntity({
      name: 'Thing',
      table: defineTable({
        name: 'things',
        families: { d: {}, ...(columns === 'old' && { gone: {} }) } as { d: object; gone: object },
      }),
      key: [part('id')],
      columns: (c) => ({
        name:
          columns === 'old'
            ? c.column('d:o', text).optional()
            : c.column('d:n', text, { was: ['d:o'] }).optional(),
        ...(columns === 'old' && { lost: c.column('gone:l', text).optional() }),
      }),
    });
  await openWith(declare('old'));
  const db = await openWith(declare('new'));
  expect((await db.schema.plan()).steps.map(({ id }) => id)).toEqual([
    'drop-family:things/gone',
    'move-columns:things/Thing',
  ]);
  await db.schema.apply({ allow: ['data-loss:drop-family:things/gone'] });
  expect((await db.schema.plan()).steps).toEqual([]);
});
