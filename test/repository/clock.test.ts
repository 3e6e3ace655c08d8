/** What repositories reckon by is the clock of the engine. */

import { expect, test } from 'vitest';
import { Column, CreatedAt, Entity, part, RowKey, Table, Ttl, UpdatedAt } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { openMemory, settableClock } from '../../src/testing/index.js';

@Table({ name: 'sessions', families: { d: {} } })
class Sessions {}

@Entity({ table: Sessions })
@RowKey(part('id'))
class Session {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:u', text) user?: string;
  @Column('d:t', text) theme?: string;
  @CreatedAt('d:c') createdAt?: Date;
  @UpdatedAt('d:m') updatedAt?: Date;
  @Ttl() expiresIn?: number;
}

const MINUTE = 60_000;

test('stamps and times to live follow the clock that the database was opened with', async () => {
  const clock = settableClock(new Date(Date.UTC(2001, 0, 1)));
  const database = await openMemory({ entities: [Session], clock });
  const sessions = database.repository(Session);
  const start = clock();
  await sessions.insert({ id: 'a', user: 'ann', theme: 'light', expiresIn: 10 * MINUTE });
  await sessions.insert({ id: 'b', user: 'bob', theme: 'light', expiresIn: 10 * MINUTE });
  clock.advance(5 * MINUTE);
  await sessions.update({ id: 'a' }, { theme: 'dark' });
  await sessions.update({ id: 'b' }, { expiresIn: 20 * MINUTE });
  expect(await sessions.get({ id: 'a' })).toMatchObject({
    createdAt: new Date(start),
    updatedAt: new Date(start + 5 * MINUTE),
  });
  clock.advance(4 * MINUTE);
  expect(await sessions.get({ id: 'a' })).toMatchObject({ user: 'ann', theme: 'dark' });
  clock.advance(2 * MINUTE);
  expect(await sessions.get({ id: 'a' })).toBeNull();
  expect(await sessions.exists({ id: 'a' })).toBe(false);
  clock.advance(13 * MINUTE);
  expect(await sessions.get({ id: 'b' })).toMatchObject({ user: 'bob', theme: 'light' });
  clock.advance(2 * MINUTE);
  expect(await sessions.get({ id: 'b' })).toBeNull();
  await database.close();
});
