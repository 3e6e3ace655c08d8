/** Rules of references, and cells with a timestamp in the future, which the deletes of a rule do not reach. */

import { expect, test } from 'vitest';
import { Column, Entity, part, Reference, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { openMemory, settableClock } from '../../src/testing/index.js';

const families = { d: {} };

@Entity({ table: { name: 'owners', families } })
@RowKey(part('id'))
class Owner {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string | null;
}

@Entity({ table: { name: 'pets', families } })
@RowKey(part('id'))
class Pet {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string | null;
  @Column('d:k', text) keeper?: string | null;
  @Reference(() => Owner, { id: 'keeper' }, { onDelete: 'setNull' }) kept?: Owner | null;
}

@Entity({ table: { name: 'toys', families } })
@RowKey(part('owner'), part('no'))
class Toy {
  declare static readonly key: ['owner', 'no'];
  owner!: string;
  no!: string;
  @Column('d:n', text) name?: string | null;
  @Reference(() => Owner, { id: 'owner' }, { onDelete: 'cascade' }) owned?: Owner | null;
}

async function openFilled(): Promise<{ db: Database; future: { timestamp: number } }> {
  const clock = settableClock();
  const db = await openMemory({ entities: [Owner, Pet, Toy], clock });
  await db.repository(Owner).putMany([{ id: 'ann' }, { id: 'bob' }]);
  return { db, future: { timestamp: clock() + 1000 } };
}

const REFUSED = { code: 'ERR_UNSUPPORTED', message: expect.stringContaining('a future timestamp') };

test('a reference that a rule may clear is not written with a future timestamp; other columns are', async () => {
  const { db, future } = await openFilled();
  const pets = db.repository(Pet);
  await expect(pets.put({ id: 'cat', keeper: 'ann' }, future)).rejects.toMatchObject(REFUSED);
  expect(await pets.get({ id: 'cat' })).toBeNull();
  await pets.put({ id: 'cat', keeper: 'ann', name: 'Tom' });
  await expect(pets.update({ id: 'cat' }, { keeper: 'bob' }, future)).rejects.toMatchObject(REFUSED);
  await pets.update({ id: 'cat' }, { name: 'Tim' }, future);
  await db.repository(Owner).delete({ id: 'ann' });
  const cat = await pets.get({ id: 'cat' });
  expect([cat?.name, cat?.keeper ?? null]).toEqual(['Tim', null]);
  expect(await db.references(Pet).check()).toMatchObject({ dangling: 0 });
  await db.close();
});

test('a row that a rule may delete is not written with a future timestamp', async () => {
  const { db, future } = await openFilled();
  const toys = db.repository(Toy);
  await expect(toys.put({ owner: 'ann', no: '1', name: 'ball' }, future)).rejects.toMatchObject(REFUSED);
  await expect(
    db.batch((batch) => batch.of(Toy).put({ owner: 'ann', no: '1' }), future),
  ).resolves.toMatchObject([{ ok: false, error: REFUSED }]);
  await toys.put({ owner: 'ann', no: '1', name: 'ball' });
  await db.repository(Owner).delete({ id: 'ann' });
  expect(await toys.get({ owner: 'ann', no: '1' })).toBeNull();
  await db.close();
});
