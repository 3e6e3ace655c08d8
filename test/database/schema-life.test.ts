/** Applying plans: under a lock, with a history, by several at once and by those that are killed. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { type AvroSchema, avroCodec, text } from '../../src/codec/index.js';
import type { SchemaTools } from '../../src/database/schema-tools.js';
import { Database, open } from '../../src/database.js';
import { ControlTable, controlTableDescriptor, LOCK_ROW } from '../../src/ddl/apply/control-table.js';
import { compileSchema } from '../../src/mapper/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { type FamilyOptions, Put } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

let fileSystem: MemoryFileSystem;
let engine: EmbeddedEngine;

beforeEach(async () => {
  fileSystem = new MemoryFileSystem();
  engine = await openEmbedded('/store', { fileSystem, background: 'inline', automatic: false });
});
afterEach(() => engine.close());

function noteIn(families: Record<string, FamilyOptions>, column = 'd:t') {
  return defineEntity({
    name: 'Note',
    table: defineTable({ name: 'ns:notes', families }),
    key: [part('id')],
    columns: (c) => ({ text: c.column(column as never, text) }),
  });
}

function toolsOf(...entities: ReturnType<typeof noteIn>[]): SchemaTools {
  const schema = compileSchema(entities);
  return new Database(schema, engine).schema;
}

const control = (): ControlTable => new ControlTable(engine.table(controlTableDescriptor().name));

describe('apply', () => {
  it('makes what is missing, keeps data while it alters, and drops only what is named', async () => {
    await toolsOf(noteIn({ d: { versions: 3 }, old: {} })).apply();
    await engine.table('ns:notes').put(new Put('r').addColumn('old', 'q', 'v').addColumn('d', 'q', 'v'));
    const next = toolsOf(noteIn({ d: { versions: 3, compression: 'GZ' }, more: {} }));
    const { done, held } = await next.apply();
    expect(done.map(({ id }) => id)).toEqual([
      'add-family:ns:notes/more',
      'compression:ns:notes/d',
      'compact:ns:notes/d',
    ]);
    expect(held.map(({ id }) => id)).toEqual(['drop-family:ns:notes/old']);
    const families = async (): Promise<string[]> =>
      (await engine.admin.getDescriptor('ns:notes')).families.map(({ name }) => name);
    expect(await families()).toEqual(['d', 'more', 'old']);
    await next.apply({ allow: ['data-loss:drop-family:ns:notes/old'] });
    expect(await families()).toEqual(['d', 'more']);
    expect(await next.apply()).toMatchObject({ done: [], held: [], entry: undefined });
  });

  it('does nothing at all while there is a contradiction', async () => {
    await toolsOf(noteIn({ d: {} })).apply();
    const Other = defineEntity({
      name: 'Note',
      table: defineTable({ name: 'ns:notes', families: { d: {}, more: {} } }),
      key: [part('id'), part('second')],
      columns: (c) => ({ text: c.column('d:t', text) }),
    });
    const schema = compileSchema([Other]);
    const tools = new Database(schema, engine).schema;
    await expect(tools.apply()).rejects.toThrow(/Nothing was applied:\nTable "ns:notes": Note: its row keys/);
    expect((await engine.admin.getDescriptor('ns:notes')).families).toHaveLength(1);
  });

  it('takes only the plan that was looked at', async () => {
    const tools = toolsOf(noteIn({ d: {} }));
    const { checksum } = await tools.plan();
    await toolsOf(noteIn({ d: { versions: 2 } })).apply();
    await expect(tools.apply({ expect: checksum })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    const now = await tools.plan();
    await tools.apply({ expect: now.checksum });
  });

  it('says which steps need each other, and alters nothing then', async () => {
    await toolsOf(noteIn({ d: { versions: 5, minVersions: 3, ttl: 60 } })).apply();
    const tools = toolsOf(noteIn({ d: { versions: 2, minVersions: 1, ttl: 60 } }));
    await expect(tools.apply({ allow: ['data-loss:versions:ns:notes/d'] })).rejects.toThrow(/minVersions/);
    expect((await engine.admin.getDescriptor('ns:notes')).families[0]).toMatchObject({ versions: 5 });
    expect((await tools.history()).at(-1)).toMatchObject({ state: 'failed', steps: [], intact: true });
    await tools.apply({ allow: ['data-loss:versions:ns:notes/d', 'data-loss:minVersions:ns:notes/d'] });
    expect((await tools.plan()).steps).toEqual([]);
  });

  it.each([
    { leaseMs: 0 },
    { leaseMs: Number.NaN },
    { lockWaitMs: -1 },
    { alow: [] },
    { prune: true, extra: 1 },
  ])('refuses %j', async (options) => {
    await expect(toolsOf(noteIn({ d: {} })).apply(options as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  });

  it('registers Avro schemas, and tells those that do not fit', async () => {
    const withSchema = (schema: AvroSchema) =>
      compileSchema([
        defineEntity({
          name: 'Doc',
          table: defineTable({ name: 'docs', families: { d: {} } }),
          key: [part('id')],
          columns: (c) => ({ body: c.column('d:b', avroCodec(schema)) }),
        }),
      ]);
    const fields = (...names: string[]): AvroSchema => ({
      type: 'record',
      name: 'Body',
      fields: names.map((name) => ({ name, type: 'string' as const })),
    });
    const first = new Database(withSchema(fields('a')), engine).schema;
    expect((await first.apply()).done.map(({ id }) => id)).toContain('register-schema:docs/d:b');
    expect((await first.plan()).steps).toEqual([]);
    const second = new Database(withSchema(fields('a', 'b')), engine).schema;
    expect((await second.plan()).contradictions).toMatchObject([{ table: 'docs', message: /backward/ }]);
  });
});

describe('several at once', () => {
  it('one applies, the others find it done', async () => {
    const tools = Array.from({ length: 6 }, () => toolsOf(noteIn({ d: { versions: 2 }, more: {} })));
    const outcomes = await Promise.all(tools.map((each) => each.apply({ leaseMs: 60_000 })));
    expect(outcomes.filter(({ entry }) => entry !== undefined)).toHaveLength(1);
    expect(await tools[0]!.history()).toMatchObject([{ number: 1, state: 'done', intact: true }]);
  });

  it('who is dead is waited for no longer than the lease, and his entry is marked', async () => {
    const tools = toolsOf(noteIn({ d: {} }));
    await tools.apply();
    const [entry] = await tools.history();
    const lock = await control().read(LOCK_ROW);
    await control().change(LOCK_ROW, lock, { owner: 'the dead', beat: 7 });
    const { intact: _, ...running } = { ...entry!, state: 'running' as const };
    const row = Buffer.from('7000000001', 'hex');
    await control().change(row, await control().read(row), running);
    const next = toolsOf(noteIn({ d: { versions: 2 } }));
    await expect(next.apply({ lockWaitMs: 0 })).rejects.toMatchObject({
      code: 'ERR_LOCKED',
      retryable: true,
      message: expect.stringContaining('the dead'),
    });
    await next.apply({ leaseMs: 100 });
    expect(await next.history()).toMatchObject([
      { number: 1, state: 'abandoned', intact: true },
      { number: 2, state: 'done', intact: true },
    ]);
  });

  it('who lost the lock does no further step', async () => {
    await toolsOf(noteIn({ d: {} })).apply();
    const next = toolsOf(noteIn({ d: { compression: 'GZ' } }));
    // Another one takes the lock over while no sign of life can be given.
    let taken: Promise<void> | undefined;
    const lost = next.apply({
      leaseMs: 100,
      onStep: () => {
        taken = engine
          .table(controlTableDescriptor().name)
          .put(new Put(LOCK_ROW).addColumn('c', 'v', '{"owner":"another one","beat":99}'));
        const end = performance.now() + 150;
        while (performance.now() < end);
      },
    });
    await expect(lost).rejects.toMatchObject({ code: 'ERR_LOCKED' });
    await taken;
    expect((await next.history()).at(-1)).toMatchObject({ state: 'failed', intact: true });
  });

  it('who lost the lock while a table was disabled leaves it as another one has altered it since', async () => {
    await toolsOf(noteIn({ d: {} })).apply();
    const next = toolsOf(
      defineEntity({
        name: 'Note',
        table: defineTable({ name: 'ns:notes', families: { d: {} }, regionReplication: 2 }),
        key: [part('id')],
        columns: (c) => ({ text: c.column('d:t', text) }),
      }),
    );
    const { admin } = engine;
    const disableTable = admin.disableTable.bind(admin);
    admin.disableTable = async (table) => {
      await disableTable(table);
      await engine
        .table(controlTableDescriptor().name)
        .put(new Put(LOCK_ROW).addColumn('c', 'v', '{"owner":"another one","beat":99}'));
      const live = await admin.getDescriptor(table);
      await admin.modifyTable({ ...live, families: live.families.map((each) => ({ ...each, versions: 7 })) });
      const end = performance.now() + 150;
      while (performance.now() < end);
    };
    await expect(next.apply({ leaseMs: 100, allow: ['offline'] })).rejects.toMatchObject({
      code: 'ERR_LOCKED',
    });
    expect(await admin.getDescriptor('ns:notes')).toMatchObject({
      regionReplication: 1,
      families: [{ versions: 7 }],
    });
    expect(await admin.isTableEnabled('ns:notes')).toBe(true);
  });
});

describe('history', () => {
  it('tells entries that were changed or removed', async () => {
    for (const versions of [1, 2, 3, 4]) await toolsOf(noteIn({ d: { versions } })).apply();
    const tools = toolsOf(noteIn({ d: {} }));
    const intact = async (): Promise<boolean[]> => (await tools.history()).map((entry) => entry.intact);
    expect(await intact()).toEqual([true, true, true, true]);
    const row = Buffer.from('7000000002', 'hex');
    const kept = await control().read<object>(row);
    await control().change(row, kept, { ...kept!.value, by: 'nobody' });
    expect(await intact()).toEqual([true, false, true, true]);
  });

  it('is empty where nothing was applied, and makes no table by looking', async () => {
    expect(await toolsOf(noteIn({ d: {} })).history()).toEqual([]);
    expect(await engine.admin.listTables()).toEqual([]);
  });
});

describe('check', () => {
  it('holds the declarations against a snapshot, without a table of either', async () => {
    const text = toolsOf(noteIn({ d: { versions: 3 } })).snapshot();
    expect(await toolsOf(noteIn({ d: { versions: 3 } })).check(text)).toMatchObject({
      same: true,
      steps: [],
    });
    const less = await toolsOf(noteIn({ d: {} })).check(text);
    expect(less).toMatchObject({ same: false, steps: [{ id: 'versions:ns:notes/d', class: 'data-loss' }] });
    const gone = await toolsOf(noteIn({ d: { versions: 3 } })).check(text.replaceAll('ns:notes', 'ns:gone'));
    expect(gone).toMatchObject({ same: false, undeclared: ['ns:gone'], steps: [{ kind: 'create-table' }] });
    expect(await engine.admin.listTables()).toEqual([]);
  });

  it('keeps the Avro schemas of the snapshot before, with which values may have been written', async () => {
    const withSchema = (name: string) =>
      compileSchema([
        defineEntity({
          name: 'Note',
          table: defineTable({ name: 'notes', families: { d: {} } }),
          key: [part('id')],
          columns: (c) => ({
            body: c.column(
              'd:b',
              avroCodec({ type: 'record', name: 'Body', fields: [{ name, type: 'string', default: '' }] }),
            ),
          }),
        }),
      ]);
    const [a, b] = ['a', 'b'].map((name) => new Database(withSchema(name), engine).schema);
    const first = a!.snapshot();
    expect((await b!.check(first)).steps).toMatchObject([{ kind: 'register-schema' }]);
    const both = b!.snapshot(first);
    expect(await b!.check(both)).toMatchObject({ same: true });
    // The earlier one asks nothing of the tables, and is not what was declared last.
    expect(await a!.check(both)).toMatchObject({
      same: false,
      steps: [],
      contradictions: [],
      differences: [{ table: 'notes', path: ['entities', 'Note', 'columns', 'body', 'schema'] }],
    });
  });

  it.each([
    undefined,
    5,
    'no JSON',
    'null',
    '{"format":2}',
    '{"format":1,"tables":[null]}',
    '{"format":1,"tables":[{"name":"a b"}]}',
  ])('tells what is no snapshot: %j', async (text) => {
    const tools = toolsOf(noteIn({ d: {} }));
    await expect(tools.check(text as string)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    await expect(tools.check(tools.snapshot(), { prun: true } as object)).rejects.toThrow('prun');
  });
});

it('an open database plans and applies its own schema', async () => {
  const Note = noteIn({ d: {}, more: {} });
  await toolsOf(noteIn({ d: {} })).apply();
  await engine.close();
  const database: Database = await open({ path: '/store', fileSystem, entities: [Note], tables: 'ignore' });
  try {
    expect((await database.schema.plan()).steps.map(({ id }) => id)).toEqual(['add-family:ns:notes/more']);
    await database.schema.apply();
    await database.createTables();
    expect(database.schema.entities[0]!.name).toBe('Note');
    expect((await database.schema.history()).length).toBe(2);
  } finally {
    await database.close();
  }
});
