/** Where one step is one row: rows of before their entity had an index are written while a column of theirs moves. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { part } from '../../src/key/index.js';
import { openStepless } from '../proof/stepless.js';

const table = defineTable({ name: 'things', families: { d: {} } });

const Before = defineEntity({
  name: 'Thing',
  table,
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:0', text).optional(), b: c.column('d:b', text).optional() }),
});

const After = defineEntity({
  name: 'Thing',
  table,
  key: [part('id')],
  columns: (c) => ({
    a: c.column('d:A', text, { was: ['d:0'] }).optional(),
    b: c.column('d:b', text).optional(),
  }),
  indexes: { byB: { on: [part('b', text)] } },
});

test('each way of writing goes by the marker, and by no cell that may stand elsewhere', async () => {
  await using store = await openStepless();
  const ids = ['1', '2', '3', '4'];
  const { db: before } = await store.program(Before);
  await before.repository(Before).putMany(ids.map((id) => ({ id, a: 'x', b: 'y' })));
  const { db } = await store.program(After);
  await db.index(After, 'byB').build();
  const things = db.repository(After);
  await things.put({ id: '1', b: 'z' });
  await things.replace({ id: '2', b: 'z' });
  await things.update({ id: '3' }, { b: 'z' });
  await things.upsert({ id: '4', b: 'z' }, { b: 'z' });
  expect(await things.by('byB').find({ b: 'z' }).all()).toEqual([
    { id: '1', a: 'x', b: 'z' },
    { id: '2', a: undefined, b: 'z' },
    { id: '3', a: 'x', b: 'z' },
    { id: '4', a: 'x', b: 'z' },
  ]);
});
