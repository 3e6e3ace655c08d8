/** A table that loses a family while it is open: reads say so, where they would else find rows without values, or none. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { part, text } from '../../src/index.js';
import type { TableDescriptor } from '../../src/table/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

const families = { d: {}, m: {} };

const Plain = defineEntity({
  name: 'Plain',
  table: defineTable({ name: 'lost_plain', families }),
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text), b: c.column('m:b', text).optional() }),
});
const Indexed = defineEntity({
  name: 'Indexed',
  table: defineTable({ name: 'lost_indexed', families }),
  key: [part('id')],
  indexes: { byA: { on: [part('a')] } },
  columns: (c) => ({ a: c.column('d:a', text), b: c.column('m:b', text).optional() }),
});

const ROWS = [1, 2, 3].map((i) => ({ id: `r${i}`, a: `a${i}`, b: `b${i}` }));

describe.each([
  { Row: Plain, table: 'lost_plain' },
  { Row: Indexed, table: 'lost_indexed' },
])('$table', ({ Row, table }) => {
  let db: TestDatabase;
  let whole: TableDescriptor;
  beforeAll(async () => {
    db = await openTestDatabase([Row]);
    whole = await db.engine.admin.getDescriptor(table);
  });
  afterAll(() => db.dispose());
  beforeEach(() => db.repository(Row).putMany(ROWS));
  afterEach(() => db.engine.admin.modifyTable(whole));

  const lose = (lost: string): Promise<void> =>
    db.engine.admin.modifyTable({ ...whole, families: whole.families.filter(({ name }) => name !== lost) });

  it.each(['d', 'm'])('without %s', async (lost) => {
    const rows = db.repository(Row);
    const said = new RegExp(`able "?${table}\\b.* family "?${lost}\\b`);
    const refuses = (call: Promise<unknown>): Promise<void> =>
      expect(call).rejects.toMatchObject({
        code: 'ERR_NO_SUCH_FAMILY',
        message: expect.stringMatching(said) as string,
      });
    await rows.get({ id: 'r1' });
    await lose(lost);
    await refuses(rows.get({ id: 'r1' }));
    await refuses(rows.getMany([{ id: 'r1' }, { id: 'r2' }]));
    await refuses(rows.find({}, { fullScan: true }).all());
    await refuses(rows.find({ id: 'r1' }).first());
    await refuses(rows.put({ id: 'r4', a: 'a', b: 'b' }));
  });
});

it('entries of rows that cannot be read stay', async () => {
  const db = await openTestDatabase([Indexed]);
  const { admin } = db.engine;
  const rows = db.repository(Indexed);
  await rows.putMany(ROWS);
  const whole = await admin.getDescriptor('lost_indexed');
  await admin.modifyTable({ ...whole, families: whole.families.filter(({ name }) => name === 'd') });
  await expect(rows.find({}).where({ a: 'a1' }).all()).rejects.toMatchObject({ code: 'ERR_NO_SUCH_FAMILY' });
  await admin.modifyTable(whole);
  expect(await rows.find({}).where({ a: 'a1' }).all()).toEqual([{ id: 'r1', a: 'a1' }]);
  await db.dispose();
});
