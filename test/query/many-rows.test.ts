import { expect, it } from 'vitest';
import { Column, Entity, Index, part, RowKey, Table } from '../../decorators/index.js';
import { int32 } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import { openTestDatabase } from './test-database.js';

@Table({ name: 'many_rows', families: { d: {} } })
class ManyRows {}

@Entity({ table: ManyRows })
@RowKey(part('group'), part('n', uint32))
@Index('byParity', [part('parity', int32)])
class Indexed {
  declare static readonly key: ['group', 'n'];
  declare static readonly indexes: { byParity: ['parity'] };
  group!: string;
  n!: number;
  @Column('d:p', int32) parity!: number;
}

@Entity({ table: ManyRows })
@RowKey(part('group'), part('n', uint32))
class Row {
  declare static readonly key: ['group', 'n'];
  group!: string;
  n!: number;
  @Column('d:v', int32) value!: number;
}

/** More than are read between two turns of the event loop. */
const ROWS = 9000;

it('reads every row of every range, in order, when there are so many that others get their turn', async () => {
  const db = await openTestDatabase([Row]);
  const rows = db.repository(Row);
  for (const group of ['a', 'b', 'c']) {
    await rows.putMany(Array.from({ length: ROWS }, (_, n) => ({ group, n, value: n })));
  }
  const found = await rows.find({ group: { in: ['a', 'c'] } }).all();
  expect(found.map(({ group, n }) => `${group}${n}`)).toEqual(
    ['a', 'c'].flatMap((group) => Array.from({ length: ROWS }, (_, n) => `${group}${n}`)),
  );
  const limited = await rows
    .find({ group: { in: ['a', 'c'] } })
    .limit(ROWS + 1)
    .all();
  expect(limited.at(-1)).toMatchObject({ group: 'c', n: 0 });
  expect(limited.length).toBe(ROWS + 1);
  await db.dispose();
});

it('lets others have their turn while entries of an index lead to no row that is asked for', async () => {
  const db = await openTestDatabase([Indexed]);
  const rows = db.repository(Indexed);
  await rows.putMany(Array.from({ length: ROWS }, (_, n) => ({ group: 'a', n, parity: 1 })));
  const stop = new AbortController();
  setImmediate(() => stop.abort());
  const none = rows
    .by('byParity')
    .find({ parity: 1 })
    .where((row) => row.not({ parity: 1 }))
    .signal(stop.signal)
    .all();
  await expect(none).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  await db.dispose();
});
