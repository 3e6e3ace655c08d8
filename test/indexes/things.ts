/** Things before and after they have indexes, for tests of what comes later. */

import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';

const table = defineTable({ name: 'things', families: { d: {} } });
const columns = (c: Parameters<Parameters<typeof defineEntity>[0]['columns']>[0]) => ({
  color: c.column('d:c', text).optional(),
  size: c.column('d:s', int32).optional(),
});

/** As a program without indexes declares it. */
export const Plain = defineEntity({ name: 'Thing', table, key: [part('id')], columns });
export const Thing = defineEntity({
  name: 'Thing',
  table,
  key: [part('id')],
  columns,
  indexes: {
    byColor: { on: [part('color')], include: ['size'] },
    bySize: { on: [part('size', int32)], unique: true },
  },
});

/** Puts things with the numbers `from` to `to`, which it leaves out: every third is blue, the others are red. */
export async function fillPlain(db: Database, from: number, to: number): Promise<void> {
  const list = Array.from({ length: to - from }, (_, i) => ({
    id: `t${from + i}`,
    color: (from + i) % 3 ? 'red' : 'blue',
    size: from + i,
  }));
  await db.repository(Plain).putMany(list as never);
}
