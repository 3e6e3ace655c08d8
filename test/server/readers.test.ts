/** What a user who may only read can do over a connection: reads, checks and jobs, of which nothing is recorded. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Column, Entity, index, rowKey, summary } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { type ConnectOptions, connect, type Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { secretAuthenticator } from '../../src/hbase/security/delegation-token.js';
import { csvFiles, entitySink, ndjsonFiles, several, type Tagged } from '../../src/job/index.js';
import { WriterRecords } from '../../src/repository/remote/writer-records.js';
import type { ServedUsers } from '../../src/server/security/users.js';
import { Scan, type Table } from '../../src/table/index.js';
import { countRows, exportEntities, exportTable, hashTable, importTable } from '../../src/tools/index.js';
import { Served } from './served.js';

@Entity({ table: { name: 'things', families: { d: {} } } })
class Thing {
  static readonly key = rowKey('id');
  static readonly indexes = { byColor: index('color') };
  static readonly summaries = { perColor: summary({ by: ['color'], figures: { things: 'count' } }) };
  id!: string;
  @Column('d:c', text) color?: string | null;
}

const users = {
  owner: { secret: 'owner-secret-0123456789', admin: true },
  reader: { secret: 'reader-secret-0123456', read: ['*'] },
} satisfies ServedUsers;

let served: Served;
let owner: Database;
let reader: Database;
const events: string[] = [];

const as = (user: keyof typeof users, more: Partial<ConnectOptions> = {}): Promise<Database> =>
  connect({
    masters: [served.endpoint],
    authenticator: secretAuthenticator(user, users[user].secret),
    entities: [Thing],
    ...more,
  });

beforeEach(async () => {
  served = await Served.start({ users });
  owner = await as('owner', { tables: 'create' });
  await owner.repository(Thing).putMany([
    { id: 'a', color: 'red' },
    { id: 'b', color: 'blue' },
  ]);
  await owner.summary(Thing, 'perColor').drain();
  events.length = 0;
  reader = await as('reader', { tables: 'verify', onEvent: ({ kind }) => events.push(kind) });
});
afterEach(async () => {
  await reader.close();
  await owner.close();
  await served[Symbol.asyncDispose]();
});

const jobs = async (): Promise<number> => {
  if (!(await served.store.admin.tableExists('rowan_jobs'))) return 0;
  let rows = 0;
  for await (const _ of served.store.table('rowan_jobs').scan(new Scan())) rows++;
  return rows;
};
const refused = { code: 'ERR_SECURITY' };

test.each(['with', 'without'])(
  'an index is verified, and rows are counted, %s a table of jobs',
  async (has) => {
    if (has === 'with') await owner.index(Thing, 'byColor').verify();
    const before = await jobs();
    expect(before > 0).toBe(has === 'with');
    const index = reader.index(Thing, 'byColor');
    for (let turn = 0; turn < 2; turn++)
      expect(await index.verify()).toMatchObject({ rows: 2, valid: 2, missing: 0, extra: 0 });
    expect((await countRows(reader.engine, 'things')).counters).toEqual({ rows: 2 });
    expect(await jobs()).toBe(before);
    await expect(index.repair()).rejects.toMatchObject(refused);
  },
);

test('a job without a sink runs, again and again, and one that writes is refused', async () => {
  const seen: string[] = [];
  const from = () => reader.job('seen').from(reader.repository(Thing).find({}, { fullScan: true }));
  for (let turn = 0; turn < 2; turn++)
    await from()
      .map(({ id }) => void seen.push(id))
      .run();
  expect(seen.sort()).toEqual(['a', 'a', 'b', 'b']);
  await expect(
    from()
      .to(entitySink(reader.repository(Thing)))
      .run(),
  ).rejects.toMatchObject(refused);
  expect(await jobs()).toBe(0);
});

test('tables are exported and hashed, and entities exported, into files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-readers-'));
  try {
    const query = reader.repository(Thing).find({}, { fullScan: true });
    for (let turn = 0; turn < 2; turn++) {
      const { engine } = reader;
      expect((await exportTable(engine, 'things', join(folder, 'cells'))).counters['rows']).toBe(2);
      const hbase = { format: 'hbase' } as const;
      expect((await exportTable(engine, 'things', join(folder, 'hbase'), hbase)).counters['rows']).toBe(2);
      expect((await hashTable(engine, 'things', join(folder, 'hashes'))).counters['rows']).toBe(2);
      const files = { lines: ndjsonFiles(join(folder, 'lines')), csv: csvFiles(folder, { columns: ['id'] }) };
      await reader
        .job('files')
        .from(query)
        .map<number, Tagged<typeof files>>((item, emit) => emit(0, { to: 'lines', item }))
        .to(several(files))
        .run();
      expect(
        readFileSync(join(folder, 'lines', 'part-00000.ndjson'), 'utf8').match(/"id":"."/g),
      ).toHaveLength(2);
      const schema = reader.schema.entity(Thing);
      const entities = await exportEntities(engine, query as never, schema, join(folder, 'entities'));
      expect(entities.counters).toEqual({ entities: 2 });
    }
    await importTable(served.store, join(folder, 'cells'), { table: 'copied', create: true });
    expect((await countRows(served.store, 'copied')).counters).toEqual({ rows: 2 });
    const mixed = { lines: ndjsonFiles(folder), things: entitySink(reader.repository(Thing)) };
    await expect(
      reader
        .job('mixed')
        .from(query)
        .map<number, Tagged<typeof mixed>>((item, emit) => emit(0, { to: 'lines', item }))
        .to(several(mixed))
        .run(),
    ).rejects.toMatchObject(refused);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a check of a summary says that it counts into tables, and what it needs', async () => {
  await expect(reader.summary(Thing, 'perColor').check()).rejects.toMatchObject({
    ...refused,
    message: expect.stringMatching(/counts all rows .* as a user who may write/),
  });
  expect(await owner.summary(Thing, 'perColor').check()).toMatchObject({ rows: 2, stale: 0 });
});

test('a refused write is no failed background write', async () => {
  const things = reader.repository(Thing);
  await expect(things.put({ id: 'c', color: 'red' })).rejects.toMatchObject(refused);
  await expect(things.insert({ id: 'c', color: 'red' })).rejects.toMatchObject(refused);
  await expect(things.delete({ id: 'a' })).rejects.toMatchObject(refused);
  await reader.close();
  expect(events).not.toContain('outbox');
});

test('a record that was never stored is not removed', async () => {
  vi.useFakeTimers();
  try {
    const calls: string[] = [];
    const failed: RowanError[] = [];
    const refuse = (name: string) => async () => {
      calls.push(name);
      throw new RowanError('ERR_SECURITY', name);
    };
    const records = new WriterRecords({
      table: { put: refuse('put'), delete: refuse('delete') } as unknown as Table,
      row: Uint8Array.of(1),
      family: 'd',
      entity: 'Thing',
      now: () => 1,
      onFailure: (error) => failed.push(error),
      catchUp: async () => 0,
    });
    await expect(records.covered()).rejects.toMatchObject(refused);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([calls, failed]).toEqual([['put'], []]);
    await expect(records.covered()).rejects.toMatchObject(refused);
    await records.end();
    expect([calls, failed]).toEqual([['put', 'put'], []]);
  } finally {
    vi.useRealTimers();
  }
});
