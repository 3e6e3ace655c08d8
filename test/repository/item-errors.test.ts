/** Errors of calls that take many say which one it was. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { BeforePut, Column, Entity, part, RowKey, Table, Version } from '../../decorators/index.js';
import { int32, text, uint32 } from '../../src/codec/index.js';
import type { Database } from '../../src/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { openMemory } from '../../src/testing/index.js';

@Table({ name: 'plain_items', families: { d: {} } })
class PlainItems {}

@Entity({ table: PlainItems })
@RowKey(part('id', uint32))
class Plain {
  declare static readonly key: ['id'];
  id!: number;
  @Column('d:n', text) name?: string;
}

@Table({ name: 'hooked_items', families: { d: {} } })
class HookedItems {}

@Entity({ table: HookedItems })
@RowKey(part('id', uint32))
class Hooked {
  declare static readonly key: ['id'];
  id!: number;
  @Column('d:n', text) name?: string;
  @Version('d:v', int32) version?: number;
  @BeforePut() trim(): void {
    if (this.name === 'bad') throw new Error('of the hook');
  }
}

let database: Database<EmbeddedEngine>;
beforeEach(async () => {
  database = await openMemory({ entities: [Plain, Hooked] });
});
afterEach(() => database.close());

const wrong = (doing: string, index: number) => ({
  message: expect.stringMatching(new RegExp(`^${doing}, item ${index}: `)) as string,
  details: expect.objectContaining({ item: index }) as object,
});
const good = { id: 1, name: 'a' };

test.each([
  ['a wrong key', { id: -1, name: 'a' }, 'ERR_KEY'],
  ['a wrong value', { id: 1, name: 7 }, 'ERR_CODEC'],
  ['no object', 'x', 'ERR_INVALID_ARGUMENT'],
])('putMany with %s', async (_, bad, code) => {
  for (const target of [Plain, Hooked] as const) {
    const entities = [good, { id: 2, name: 'b' }, bad];
    const call = database.repository(target as typeof Plain).putMany(entities as never);
    await expect(call).rejects.toMatchObject({ code, ...wrong('putMany', 2) });
    expect(await database.repository(target as typeof Plain).get({ id: 1 })).toBeNull();
  }
});

test('putMany of a version that is not the stored one; what a hook throws is left as it is', async () => {
  const hooked = database.repository(Hooked);
  await hooked.put({ id: 2, name: 'stored' } as Hooked);
  await expect(hooked.putMany([good, { id: 2, name: 'b' }] as Hooked[])).rejects.toMatchObject({
    code: 'ERR_CONFLICT',
    ...wrong('putMany', 1),
  });
  await expect(hooked.putMany([{ id: 3, name: 'bad' } as Hooked])).rejects.toThrow(/^of the hook$/);
});

test('getMany and batch', async () => {
  const plain = database.repository(Plain);
  await expect(plain.getMany([{ id: 1 }, { id: 1.5 }])).rejects.toMatchObject({
    code: 'ERR_KEY',
    ...wrong('getMany', 1),
  });
  await expect(plain.getMany([{ id: 1 }, undefined as never])).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    ...wrong('getMany', 1),
  });
  await expect(plain.batch((batch) => batch.delete({ id: 1 }).put({ id: -1 }))).rejects.toMatchObject({
    code: 'ERR_KEY',
    ...wrong('batch', 1),
  });
});
