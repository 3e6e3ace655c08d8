/** The process that serves a store and connections write the same rows at the same time: what is derived from them agrees. */

import { expect, it, test } from 'vitest';
import { defineEntity, part } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { connect, Database, open } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { connectHBase } from '../../src/hbase/engine.js';
import { substitute } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import { serve } from '../../src/server/server.js';
import type { Engine, Get, Table } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { overriding } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

const PROGRAMS = scaled(1, 20, 200);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const WRITES = { inside: scaled(40, 120, 120), outside: scaled(5, 12, 12) };

const Owner = defineEntity({
  name: 'Owner',
  table: { name: 'owners', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text) }),
});

const Item = defineEntity({
  name: 'Item',
  table: { name: 'items', families: { d: {}, m: {} } },
  key: [part('id')],
  columns: (c) => ({
    state: c.column('d:s', text),
    mail: c.column('d:m', text),
    amount: c.column('d:n', int32),
    owner: c.column('d:o', text),
    ownerName: c.column('d:k', text).optional(),
  }),
  changes: { keep: 86_400_000, marks: 'm' },
  denormalized: [{ from: () => Owner, via: { id: 'owner' }, fields: { ownerName: 'name' } }],
  indexes: { byState: { on: [part('state')] }, byMail: { on: [part('mail')], unique: true } },
  summaries: { perState: { by: ['state'], figures: { rows: 'count', total: { sum: 'amount' } } } },
});

/** Puts, updates and deletes three rows at random. Every refusal leaves the row as it was. */
async function write(
  db: Database,
  random: Random,
  count: number,
  pause: () => Promise<unknown>,
): Promise<void> {
  const items = db.repository(Item);
  const owners = db.repository(Owner);
  for (let i = 0; i < count; i++) {
    const id = random.pick(['a', 'b', 'c']);
    const state = random.pick(['x', 'y']);
    const owner = random.pick(['o1', 'o2']);
    const values = { state, owner, mail: random.pick(['m1', 'm2', 'm3', 'm4']), amount: random.below(9) };
    try {
      const kind = random.below(6);
      if (kind === 0) await items.delete({ id });
      else if (kind === 1) await items.update({ id }, values);
      else if (kind === 2) await items.put({ id, ...values });
      else if (kind === 3) await owners.put({ id: owner, name: `${random.below(1000)}` });
      else if (kind === 4 && random.chance(0.3)) await owners.delete({ id: owner });
      else await items.putMany([{ id, ...values }]);
    } catch (error) {
      const code = error instanceof RowanError ? error.code : undefined;
      if (code !== 'ERR_CONFLICT' && code !== 'ERR_NOT_FOUND') throw error;
    }
    if (random.chance(0.7)) await pause();
  }
}

async function build(db: Database): Promise<void> {
  const summary = db.summary(Item, 'perState');
  if ((await summary.state()) !== 'active') await summary.build();
}

async function verify(db: Database): Promise<void> {
  const right = { missing: 0, stale: 0, extra: 0 };
  expect(await db.index(Item, 'byState').verify()).toMatchObject(right);
  expect(await db.index(Item, 'byMail').verify()).toMatchObject(right);
  expect(await db.summary(Item, 'perState').check()).toMatchObject(right);
  expect(await db.denormalized(Item).check()).toMatchObject({ ...right, pending: 0 });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it.each(Array.from({ length: PROGRAMS }, (_, i) => FIRST + i))('program %i', async (seed) => {
  const fileSystem = new MemoryFileSystem();
  await using inside = await open({
    path: '/store',
    fileSystem,
    background: 'inline',
    entities: [Owner, Item],
  });
  await using server = await serve(inside, { listen: '127.0.0.1:0' });
  const connected = () =>
    connect({ masters: [server.endpoint], user: 'test', pause: 10, retries: 20, entities: [Owner, Item] });
  {
    await using outside = await connected();
    // The first write over a connection gives up the count of before; the second round keeps the one that is built then.
    for (let round = 0; round < 2; round++) {
      const draw = (writer: number) => new Random(seed * 100 + round * 10 + writer);
      await Promise.all([
        write(inside, draw(1), WRITES.inside, turn),
        write(outside, draw(2), WRITES.outside, turn),
        write(outside, draw(3), WRITES.outside, turn),
      ]);
      await build(seed % 2 === 0 ? inside : outside);
    }
  }
  // What follows after the answers of a connection has ended when it is closed.
  await verify(inside);
  await using outside = await connected();
  await verify(outside);
});

/** New rows of it are written in the cheapest way. */
const Plain = defineEntity({
  name: 'Plain',
  table: { name: 'plain', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ state: c.column('d:s', text) }),
  indexes: { byState: { on: [part('state')] } },
});

type Plains = Repository<typeof Plain>;

/** An engine that does something else between reading a row of a table and answering it. */
function reading(engine: Engine, name: string, between: () => Promise<void>): Engine {
  return overriding<Engine>(engine, 'table', (asked: string) => {
    const table = engine.table(asked);
    const get = async (get: Get) => {
      const found = await table.get(get);
      await between();
      return found;
    };
    return asked === name ? overriding<Table>(table, 'get', get) : table;
  });
}

test.each<[string, string | undefined, (plains: Plains) => Promise<unknown>]>([
  ['a row', 'x', (plains) => plains.put({ id: 'a', state: 'y' })],
  ['no row', undefined, (plains) => plains.put({ id: 'a', state: 'y' })],
  ['no row, one of many', undefined, (plains) => plains.putMany([{ id: 'a', state: 'y' }])],
])(
  'a connection that has read %s begins anew when the serving process has written it since',
  async (_, before, writeAgain) => {
    const fileSystem = new MemoryFileSystem();
    await using inside = await open({ path: '/store', fileSystem, background: 'inline', entities: [Plain] });
    await using server = await serve(inside, { listen: '127.0.0.1:0' });
    const plains = inside.repository(Plain);
    if (before !== undefined) await plains.put({ id: 'a', state: before });
    const engine = await connectHBase({ masters: [server.endpoint], user: 'test', pause: 10 });
    let reads = 0;
    const slow = reading(engine, 'plain', async () => {
      if (reads++ === 0) await writeAgain(plains);
    });
    await using outside = new Database(compileSchema([Plain]), slow, 'verify');
    await outside.ready();
    await outside.repository(Plain).put({ id: 'a', state: 'z' });
    expect(reads).toBeGreaterThan(1);
    expect(await plains.get({ id: 'a' })).toMatchObject({ state: 'z' });
    expect(await inside.index(Plain, 'byState').verify()).toMatchObject({ missing: 0, stale: 0, extra: 0 });
  },
);

const Word = defineEntity({
  name: 'Word',
  table: { name: 'words_of', families: { d: {} } },
  key: [substitute('word', 'words')],
  columns: (c) => ({ a: c.column('d:a', text) }),
  indexes: { byA: { on: [part('a')] } },
  summaries: { perA: { by: ['a'], figures: { rows: 'count' } } },
});

test('jobs over rows of a connection that has read no text of their keys load the texts', async () => {
  const entities = [Word];
  const inside = await open({
    path: '/words',
    entities,
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
  });
  const server = await serve(inside as never, { listen: '127.0.0.1:0' });
  await inside.repository(Word).putMany(['x', 'y'].map((word) => ({ word, a: 'a' })));
  const counted = { rows: 2, missing: 0, stale: 0, extra: 0 };
  for (const run of [
    (db: Database) => db.index(Word, 'byA').verify(),
    (db: Database) => db.summary(Word, 'perA').build(),
  ]) {
    const db = await connect({ masters: [server.endpoint], user: 'test', pause: 10, entities });
    expect(await run(db)).toMatchObject(counted);
    await db.close();
  }
  await server.close();
  await inside.close();
});

const Named = defineEntity({
  name: 'Named',
  table: { name: 'names', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional() }),
});

const Copied = defineEntity({
  name: 'Copied',
  table: { name: 'copied', families: { d: {} } },
  key: [substitute('word', 'copied_words')],
  columns: (c) => ({ of: c.column('d:o', text), name: c.column('d:k', text).optional() }),
  denormalized: [{ from: () => Named, via: { id: 'of' }, fields: { name: 'name' } }],
});

test('copies follow a connection into rows whose keys have texts that it has not read', async () => {
  const entities = [Named, Copied];
  await using inside = await open({
    path: '/copied',
    entities,
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
  });
  await using server = await serve(inside, { listen: '127.0.0.1:0' });
  await using outside = await connect({ masters: [server.endpoint], user: 'test', pause: 10, entities });
  await outside.repository(Named).put({ id: 'r', name: 'a' });
  await inside.repository(Copied).put({ word: 'w', of: 'r' });
  for (const name of ['b', undefined]) {
    await outside.repository(Named).replace({ id: 'r', ...(name && { name }) });
    expect((await inside.repository(Copied).get({ word: 'w' }))?.name).toBe(name);
  }
});

const Counted = defineEntity({
  name: 'Counted',
  table: { name: 'counted', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text) }),
  summaries: { perA: { by: ['a'], figures: { rows: 'count' } } },
});

const PER_A = [Counted, 'perA'] as const;

test('a check over a connection leaves a count in use that only the serving process has made', async () => {
  const entities = [Counted];
  const fileSystem = new MemoryFileSystem();
  await using inside = await open({ path: '/counted', entities, fileSystem, background: 'inline' });
  await using server = await serve(inside, { listen: '127.0.0.1:0' });
  await using outside = await connect({ masters: [server.endpoint], user: 'test', pause: 10, entities });
  for (const id of ['x', 'y']) {
    await inside.repository(Counted).put({ id, a: 'a' });
    const right = { groups: 1, valid: 1, stale: 0, missing: 0, extra: 0 };
    expect(await outside.summary(...PER_A).check()).toMatchObject(right);
    for (const db of [inside, outside]) expect(await db.summary(...PER_A).state()).toBe('active');
  }
});

test('a check that meets the first write over a connection says nothing of the count that it gives up', async () => {
  const entities = [Counted];
  const fileSystem = new MemoryFileSystem();
  await using inside = await open({ path: '/counted', entities, fileSystem, background: 'inline' });
  await using server = await serve(inside, { listen: '127.0.0.1:0' });
  await inside.repository(Counted).put({ id: 'x', a: 'a' });
  const options = { masters: [server.endpoint], user: 'test', pause: 10 };
  await using writer = await connect({ ...options, entities });
  const written = reading(await connectHBase(options), 'counted', async () => {
    await writer.repository(Counted).put({ id: 'y', a: 'a' });
    await writer.summary(...PER_A).drain();
  });
  await using outside = new Database(compileSchema(entities), written, 'verify');
  await outside.ready();
  const none = { groups: 0, valid: 0, stale: 0, missing: 0, extra: 0 };
  expect(await outside.summary(...PER_A).check()).toMatchObject(none);
  expect(await inside.summary(...PER_A).state()).toBe('disabled');
});
