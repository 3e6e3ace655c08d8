/** Entities that come to be by an increment, an append or a mutate, and not by a put. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Column,
  Counter,
  Entity,
  hash,
  part,
  RowKey,
  Table,
  timeBucket,
  Validate,
} from '../../decorators/index.js';
import { date, text } from '../../src/codec/index.js';
import type { Database } from '../../src/index.js';
import type { RowBuilder } from '../../src/repository/index.js';
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

describe('checks of properties', () => {
  const atMost = (most: number) => ({
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: async (value: unknown) => {
        const size = typeof value === 'string' ? value.length : Number(value);
        return size <= most ? { value } : { issues: [{ message: `more than ${most}` }] };
      },
    },
  });

  @Entity({ table: { name: 'limited', families: { d: {} } } })
  @RowKey(part('id'))
  class Limited {
    declare static readonly key: ['id'];
    id!: string;
    @Validate(atMost(3)) @Column('d:n', text) note?: string | null;
    @Validate(atMost(3)) @Counter('d:c') count?: bigint;
    @Counter('d:f') free?: bigint;
    @Column('d:o', text) other?: string | null;
  }

  test('hold for every way of writing', async () => {
    const db = await openMemory({ entities: [Limited] });
    const rows = db.repository(Limited);
    const id = { id: 'a' };
    await rows.put({ ...id, note: 'abc' });
    const set = (row: RowBuilder<typeof Limited>) => row.set({ note: 'abcd' });
    const ways: (() => Promise<unknown>)[] = [
      () => rows.put({ ...id, note: 'abcd' }),
      () => rows.update(id, { note: 'abcd' }),
      () => rows.mutate(id, set),
      () => rows.mutate(id, (row) => row.set({ other: 'x' }).set({ note: 'abcd' })),
      () => rows.check(id, { note: 'abc' }).mutate(set),
      () => rows.append(id, { note: 'd' }),
      () => rows.increment(id, { count: 9n }),
      () => rows.mutate(id, (row) => row.increment({ count: 9n })),
      () => rows.batch((batch) => batch.mutate(id, set)),
      () => rows.batch((batch) => batch.mutate(id, set), { atomic: true }),
      () => db.transaction((tx) => tx.repository(Limited).mutate(id, set)),
    ];
    for (const way of ways) {
      await expect(way(), String(way)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
      expect(await rows.get(id)).toEqual({ id: 'a', note: 'abc' });
    }
    // What is absent is not checked, and what has no check is free.
    await rows.mutate(id, (row) => row.unset('note').increment({ free: 9n }));
    expect(await rows.get(id)).toMatchObject({ free: 9n });
    await rows.mutate(id, (row) => row.set({ note: 'abc' }));
    expect(await rows.get(id)).toMatchObject({ note: 'abc', free: 9n });
    await db.close();
  });
});
