/** The requests of each method of a repository on a real HBase, look-ups of regions aside. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { Database } from '../../src/database.js';
import type { HBaseEvent } from '../../src/hbase/observe/observer.js';
import { int53, part, text } from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import { connectShared } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

const name = uniqueTable('methods');
const Row = defineEntity({
  name: 'Row',
  table: defineTable({ name, families: { d: {} } }),
  key: [part('group'), part('id')],
  columns: (c) => ({
    size: c.column('d:s', int53),
    state: c.column('d:t', text),
    body: c.column('d:b', text).optional(),
    hits: c.counter('d:h').optional(),
  }),
});
const Indexed = defineEntity({
  name: 'Indexed',
  table: defineTable({ name: `${name}_i`, families: { d: {} } }),
  key: [part('id')],
  indexes: { byState: { on: [part('state')] } },
  columns: (c) => ({ size: c.column('d:s', int53), state: c.column('d:t', text) }),
});

/** The RPC methods of the requests since the last look. */
let sent: string[] = [];
let db: Database;
let rows: Repository<typeof Row>;
let indexed: Repository<typeof Indexed>;

const BODY = 'x'.repeat(1000);
const row = (id: string) => ({ group: 'g', id, size: 1, state: 'open', body: BODY });
const many = (from: string) =>
  Array.from({ length: 100 }, (_, i) => row(`${from}${String(i).padStart(3, '0')}`));

beforeAll(async () => {
  const onEvent = (event: HBaseEvent): void => {
    if (event.kind === 'slowCall' && !/hbase:meta|rowan_/.test(event.what)) sent.push(event.method);
  };
  const engine = await connectShared({ slowCall: 0, onEvent });
  db = new Database(compileSchema([Row, Indexed]), engine, 'create');
  await db.ready();
  rows = db.repository(Row);
  indexed = db.repository(Indexed);
  await rows.putMany(many('a'));
  await indexed.putMany([0, 1, 2].map((i) => ({ id: `i${i}`, size: i, state: 'open' })));
  await db.index(Indexed, 'byState').repair();
});
afterAll(async () => {
  for (const table of [name, `${name}_i`, `${name}_i_idx`]) await dropTable(db.engine, table);
  await db.close();
});

const key = (id: string) => ({ group: 'g', id });

/** A call, with the requests that it takes one after the other or at once. */
const CALLS: readonly (readonly [string, () => Promise<unknown>, string])[] = [
  ['get', () => rows.get(key('a000')), 'Get'],
  ['exists', () => rows.exists(key('a000')), 'Get'],
  ['getMany of 3', () => rows.getMany(['a000', 'a001', 'zz'].map(key)), 'Multi'],
  ['getMany of 100', () => rows.getMany(many('a')), 'Multi Multi Multi Multi'],
  ['find: first', () => rows.find({ group: 'g' }).first(), 'Scan'],
  ['find: the first page', () => rows.find({ group: 'g' }).page({ size: 10 }), 'Scan'],
  ['find: a key', () => rows.find(key('a000')).all(), 'Get'],
  ['find: all', () => rows.find({ group: 'g' }).all(), 'Scan'],
  ['find: count', () => rows.find({ group: 'g' }).count(), 'Scan'],
  ['find: exists', () => rows.find({ group: 'g' }).exists(), 'Scan'],
  ['put', () => rows.put(row('p')), 'Mutate'],
  ['putMany of 100', () => rows.putMany(many('m')), 'Multi'],
  ['insert', () => rows.insert(row('n')), 'Mutate'],
  ['insertMany of 100', () => rows.insertMany(many('n')), Array(8).fill('Multi').join(' ')],
  ['update', () => rows.update(key('p'), { size: 2 }), 'Mutate'],
  ['upsert of a new row', () => rows.upsert(row('u'), { size: 2 }), 'Mutate'],
  ['upsert of a stored row', () => rows.upsert(row('u'), { size: 2 }), 'Mutate Mutate'],
  ['replace', () => rows.replace(row('u')), 'Multi'],
  ['increment', () => rows.increment(key('p'), { hits: 1n }), 'Multi'],
  ['append', () => rows.append(key('p'), { body: 'y' }), 'Multi'],
  ['mutate', () => rows.mutate(key('p'), (of) => of.set({ size: 3 })), 'Mutate'],
  ['check that holds', () => rows.check(key('p'), { size: 3 }).update({ size: 4 }), 'Mutate'],
  ['check that fails', () => rows.check(key('p'), { size: 3 }).update({ size: 4 }), 'Mutate Get'],
  ['delete', () => rows.delete(key('p')), 'Mutate'],
  ['deleteMany of 100', () => rows.deleteMany(many('n')), 'Multi'],
  ['deletePrefix of 100', () => rows.deletePrefix({ group: 'g', id: { startsWith: 'm' } }), 'Scan Multi'],
  ['an index: all', () => indexed.by('byState').find({ state: 'open' }).all(), 'Scan Multi'],
  [
    'an index: its own columns',
    () => indexed.by('byState').find({ state: 'open' }).select('state').all(),
    'Scan',
  ],
  ['an index: count', () => indexed.by('byState').find({ state: 'open' }).count(), 'Scan'],
  ['an index: update beside it', () => indexed.update({ id: 'i0' }, { size: 2 }), 'Mutate'],
];

it.each(CALLS)('%s', async (_, call, requests) => {
  sent = [];
  await call();
  expect(sent.join(' ')).toBe(requests);
});
