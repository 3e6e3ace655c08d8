/** Rows whose indexed column has bytes that its codec cannot read, as another program wrote them: they can be replaced and deleted. */

import { describe, expect, it } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { Repository } from '../../src/repository/index.js';
import { Put, Scan } from '../../src/table/index.js';
import { bothEngines } from '../proof/stepless.js';

const Task = defineEntity({
  name: 'Task',
  table: defineTable({ name: 'unreadable', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({
    due: c.column('d:u', int32).optional(),
    state: c.column('d:s', text).optional(),
    no: c.column('d:n', int32).optional(),
  }),
  indexes: {
    byDue: { on: [part('due')] },
    byState: { on: [part('state')] },
    byNo: { on: [part('no')], unique: true },
  },
});
type Tasks = Repository<typeof Task>;

const ENGINES = bothEngines([Task]);

const WRITES: Readonly<Record<string, (tasks: Tasks) => Promise<unknown>>> = {
  put: (tasks) => tasks.put({ id: 'a', due: 7, state: 'done', no: 2 }),
  putMany: (tasks) => tasks.putMany([{ id: 'a', due: 7, state: 'done', no: 2 }]),
  replace: (tasks) => tasks.replace({ id: 'a', due: 7, state: 'done', no: 2 }),
  update: (tasks) => tasks.update({ id: 'a' }, { due: 7, state: 'done', no: 2 }),
};

describe.each(Object.entries(ENGINES))('%s', (_, open) => {
  async function withUnreadableRow(run: (tasks: Tasks, db: Database) => Promise<void>): Promise<void> {
    const { db, close } = await open();
    try {
      const tasks = db.repository(Task);
      await tasks.put({ id: 'a', due: 5, state: 'open', no: 1 });
      const rows = db.engine.table('unreadable');
      const { row } = (await rows.scan(new Scan()).next())!;
      await rows.put(
        new Put(row).addColumn('d', 'u', Buffer.from('no')).addColumn('d', 'n', Buffer.from('0')),
      );
      await run(tasks, db);
    } finally {
      await close();
    }
  }

  it.each(Object.keys(WRITES))('a %s replaces the value, and the indexes follow', async (write) => {
    await withUnreadableRow(async (tasks, db) => {
      await expect(tasks.get({ id: 'a' })).rejects.toMatchObject({ code: 'ERR_CODEC' });
      await WRITES[write]!(tasks);
      expect(await tasks.get({ id: 'a' })).toMatchObject({ due: 7, state: 'done', no: 2 });
      const found = [
        tasks.by('byDue').find({ due: 7 }),
        tasks.by('byState').find({ state: 'done' }),
        tasks.by('byNo').find({ no: 2 }),
      ];
      for (const query of found) expect((await query.all()).map(({ id }) => id)).toEqual(['a']);
      // The state could be read, so that its former entry is gone; those of the values before the other program are for repair.
      expect(await tasks.by('byState').find({ state: 'open' }).all()).toEqual([]);
      for (const name of ['byDue', 'byState', 'byNo'] as const) {
        await db.index(Task, name).repair();
        expect(await db.index(Task, name).verify()).toMatchObject({
          valid: 1,
          missing: 0,
          extra: 0,
          stale: 0,
        });
      }
      expect(await tasks.by('byDue').find({ due: 5 }).all()).toEqual([]);
      await tasks.insert({ id: 'b', no: 1 });
    });
  });

  it('it can be deleted', async () => {
    await withUnreadableRow(async (tasks, db) => {
      await tasks.delete({ id: 'a' });
      expect(await tasks.exists({ id: 'a' })).toBe(false);
      expect(await tasks.by('byState').find({ state: 'open' }).all()).toEqual([]);
      for (const name of ['byDue', 'byState', 'byNo'] as const) await db.index(Task, name).repair();
      expect(await db.index(Task, 'byDue').verify()).toMatchObject({ rows: 0, extra: 0 });
    });
  });

  it('a value that is to be written must still be one that an entry can hold', async () => {
    await withUnreadableRow(async (tasks) => {
      await expect(tasks.put({ id: 'a', due: 0.5 })).rejects.toMatchObject({ code: 'ERR_CODEC' });
    });
  });
});
