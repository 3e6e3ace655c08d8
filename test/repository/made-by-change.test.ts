/** Entities that come to be by an increment, an append or a mutate, and not by a put. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { Column, Counter, Entity, hash, part, RowKey, Table, timeBucket } from '../../decorators/index.js';
import { date, text } from '../../src/codec/index.js';
import type { Database } from '../../src/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { openMemory } from '../../src/testing/index.js';

@Table({ name: 'hits', families: { d: {} } })
class Hits {}

@Entity({ table: Hits })
@RowKey(hash(['page', 'country'], { bytes: 8 }), timeBucket('at', '1h'), part('host'))
class Hit {
  declare static readonly key: ['page', 'country', 'at', 'host'];
  host!: string;
  @Column('d:p', text) page!: string;
  @Column('d:c', text) country!: string;
  @Column('d:a', date) at!: Date;
  @Column('d:n', text) note?: string | null;
  @Counter('d:h') count?: bigint;
}

let database: Database<EmbeddedEngine>;
beforeEach(async () => {
  database = await openMemory({ entities: [Hit] });
});
afterEach(() => database.close());

const at = new Date(Date.UTC(2026, 0, 1, 7, 30));
const key = { page: '/', country: 'at', at, host: 'h1' };

test.each(['increment', 'append', 'mutate', 'batch'] as const)(
  '%s keeps what the row cannot tell',
  async (way) => {
    const hits = database.repository(Hit);
    if (way === 'increment') await hits.increment(key, { count: 1n });
    else if (way === 'append') await hits.append(key, { note: 'x' });
    else if (way === 'mutate') await hits.mutate(key, (row) => row.set({ note: 'x' }));
    else await hits.batch((batch) => batch.mutate(key, (row) => row.increment({ count: 1n })));
    expect(await hits.get(key)).toMatchObject(key);
    expect(await hits.find({ page: '/', country: 'at' }).all()).toHaveLength(1);
  },
);

test('a change that only deletes makes nothing', async () => {
  const hits = database.repository(Hit);
  await hits.mutate(key, (row) => row.unset('note'));
  expect(await hits.get(key)).toBeNull();
});
