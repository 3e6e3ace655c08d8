/** A disabled table is named when a database is opened, not at its first query. */

import { afterAll, expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { part, text } from '../../src/index.js';
import { openTestStore } from '../query/test-database.js';

const entity = (name: string) =>
  defineEntity({
    name,
    table: defineTable({ name: `disabled_${name}`, families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ a: c.column('d:a', text) }),
  });
const One = entity('one');
const Two = entity('two');

const store = openTestStore();
afterAll(() => store.dispose());

it('is told when a database is opened, by its name', async () => {
  const db = await store.open(One, Two);
  await db.engine.admin.disableTable('disabled_two');
  await db.close();
  const refused = {
    code: 'ERR_TABLE_DISABLED',
    message: expect.stringContaining('"disabled_two"') as string,
    details: { table: 'disabled_two', tables: ['disabled_two'] },
  };
  await expect(store.openChecked(One, Two)).rejects.toMatchObject(refused);
  await expect(store.open(One, Two)).rejects.toMatchObject(refused);
  const other = await store.openChecked(One);
  await other.engine.admin.enableTable('disabled_two');
  await other.close();
  await (await store.openChecked(One, Two)).close();
});
