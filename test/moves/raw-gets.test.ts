/** A raw get shows cells as they are stored, also where columns are moving, and moves none. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { filters, Get, Put, type Table } from '../../src/table/index.js';
import { bothEngines } from '../proof/stepless.js';

const Thing = defineEntity({
  name: 'Thing',
  table: defineTable({ name: 'things', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text, { was: ['d:name'] }).optional() }),
}) as unknown as KeyedClass;

test.each(Object.entries(bothEngines([Thing])))('a raw get of a moved column, %s', async (_, opened) => {
  const { db, close } = await opened();
  const stored: Table = db.engine.table('things');
  await stored.put(new Put('a').addColumn('d', 'name', 'Ann'));
  const view = db['wiring'].source.viewOf(stored);
  const columns = async (get: Get) =>
    (await view.get(get)).cells.map(({ qualifier }) => Buffer.from(qualifier).toString());
  const filter = filters.singleColumnValue('d', 'n', 'EQUAL', 'Ann');
  expect(await columns(new Get('a'))).toEqual(['n']);
  expect(await columns(new Get('a').setRaw(true))).toEqual(['name']);
  expect(await columns(new Get('a').setRaw(true).setFilter(filter))).toEqual(['name']);
  const [raw, declared] = await view.getAll([new Get('a').setRaw(true), new Get('a')]);
  expect([raw, declared].map((row) => Buffer.from(row!.cells[0]!.qualifier).toString())).toEqual([
    'name',
    'n',
  ]);
  expect((await stored.get(new Get('a'))).cells).toHaveLength(1);
  await close();
});
