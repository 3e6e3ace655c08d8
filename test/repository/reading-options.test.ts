/** Options of reads said once. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Column, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import type { Get } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';

@Table({ name: 'read_options', families: { d: { versions: 3, keepDeletedCells: 'TRUE' } } })
class ReadOptionsTable {}

@Entity({ table: ReadOptionsTable })
@RowKey(part('id'))
class Item {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string;
}

let database: Database<EmbeddedEngine>;
beforeEach(async () => {
  database = await openMemory({ entities: [Item] });
  await database.repository(Item).put({ id: 'a', name: 'one' }, { timestamp: 1000 });
  await database.repository(Item).put({ id: 'a', name: 'two' }, { timestamp: 2000 });
});
afterEach(() => database.close());

test('hold for every read, and a call goes before them', async () => {
  const ended = AbortSignal.abort();
  const reader = database.repository(Item).reading({ signal: ended, cacheBlocks: false });
  for (const call of [
    () => reader.get({ id: 'a' }),
    () => reader.getMany([{ id: 'a' }]),
    () => reader.exists({ id: 'a' }),
    () => reader.find({ id: 'a' }).all(),
    () => reader.asOf(1500).get({ id: 'a' }),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  }
  const going = new AbortController().signal;
  expect(await reader.get({ id: 'a' }, { signal: going })).toMatchObject({ name: 'two' });
  expect(await reader.asOf(1500).get({ id: 'a' }, { signal: going })).toMatchObject({ name: 'one' });
  expect(await reader.find({ id: 'a' }, { signal: going }).all()).toHaveLength(1);
  const table = database.engine.table('read_options');
  const get = vi.spyOn(table, 'get');
  await reader.get({ id: 'a' }, { signal: going });
  expect((get.mock.calls[0]![0] as Get).cacheBlocks).toBe(false);
});

test('are held to what they may be when they are said', () => {
  const items = database.repository(Item);
  expect(() => items.reading({ consistency: 'SOME' as never })).toThrow(/"STRONG" or "TIMELINE"/);
  expect(() => items.reading({ cacheBlocks: 1 as never })).toThrow(/cacheBlocks is true or false/);
  expect(() => items.reading({ limit: 1 } as never)).toThrow(/no option "limit"/);
  expect(() => items.reading(null as never)).toThrow(/the options are null/);
});
