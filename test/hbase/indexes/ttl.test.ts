/** Indexes on HBase of rows that end by themselves. */

import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey, Table, Ttl, text } from '../../../src/index.js';
import { Scan } from '../../../src/table/index.js';
import { openTestDatabase } from '../../query/test-database.js';

@Table({ name: 'indexed_ends', families: { d: {} } })
class Ends {}
@Entity({ table: Ends })
@RowKey(part('id'))
@Index('byName', [part('name')], { include: ['note'] })
class Ending {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byName: ['name'] };
  id!: string;
  @Column('d:n', text) name!: string;
  @Column('d:o', text) note?: string | null;
  @Ttl() expiresIn?: number;
}

test('entries and shadows end with their rows', async () => {
  const db = await openTestDatabase([Ending]);
  const repo = db.repository(Ending);
  await repo.put({ id: 'a', name: 'x', expiresIn: 1500 });
  await repo.put({ id: 'b', name: 'x', expiresIn: 3_600_000 });
  await repo.update({ id: 'a' }, { note: 'n' });
  await repo.update({ id: 'b' }, { name: 'y' });
  await repo.update({ id: 'b' }, { name: 'x', note: 'm' });
  expect((await repo.by('byName').find({ name: 'x' }).all()).map(({ id }) => id)).toEqual(['a', 'b']);
  const raw = async (table: string) => {
    let count = 0;
    for await (const _ of db.engine.table(table).scan(new Scan())) count++;
    return count;
  };
  while ((await raw('indexed_ends')) > 1 || (await raw('indexed_ends_idx')) > 1);
  expect((await repo.by('byName').find({ name: 'x' }).all()).map(({ id }) => id)).toEqual(['b']);
  expect(await repo.get({ id: 'a' })).toBeNull();
  expect(await db.index(Ending, 'byName').verify()).toMatchObject({
    rows: 1,
    valid: 1,
    missing: 0,
    extra: 0,
    stale: 0,
    unverified: 0,
  });
  await repo.put({ id: 'a', name: 'z', expiresIn: 60_000 });
  expect((await repo.by('byName').find({ name: 'z' }).all()).map(({ id }) => id)).toEqual(['a']);
  await db.dispose();
});
