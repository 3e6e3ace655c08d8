/** Referential rules on a real HBase: programs that end behind any call of a delete, and names given to what is being deleted. */

import { expect, test } from 'vitest';
import {
  Call,
  Contract,
  endDeletesAfterCalls,
  Member,
  nameWhileDeleted,
  ruled,
} from '../../denormalize/rules.js';
import { scaled } from '../../proof/scale.js';
import { programsOf } from './programs.js';

const { database, program } = programsOf(ruled);
/** Ends what hangs; the calls of these tests come one after another, however slow each is. */
const timeout = 900_000;

test('what is named is kept, taken along or forgotten as its rule says', { timeout }, async () => {
  const members = database().repository(Member);
  const calls = database().repository(Call);
  await expect(members.put({ id: 'a', bossId: 'nobody' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  await members.putMany([{ id: 'root' }, { id: 'other' }]);
  await members.put({ id: 'a', bossId: 'root' });
  await database().repository(Contract).put({ no: 1, memberId: 'root' });
  await calls.put({ memberId: 'a', at: 1, helperId: 'other' });
  await expect(members.delete({ id: 'root' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  expect(await members.get({ id: 'a' })).toMatchObject({ bossId: 'root' });
  await members.delete({ id: 'other' });
  const forgetting = await calls.get({ memberId: 'a', at: 1 });
  expect(forgetting).toMatchObject({ version: 2 });
  expect(forgetting?.helperId).toBeUndefined();
  await database().repository(Contract).update({ no: 1 }, { memberId: null });
  await members.delete({ id: 'root' });
  expect(await members.get({ id: 'a' })).toBeNull();
  expect(await calls.get({ memberId: 'a', at: 1 })).toBeNull();
});

test('a program may end behind any call of a delete: what is off is told, the outbox ends it, and repair then does nothing', {
  timeout,
}, async () => {
  const { died, off } = await endDeletesAfterCalls(database(), program, scaled(21, 4, 1));
  expect(died).toBeGreaterThan(scaled(4, 20, 100));
  expect(off).toBeGreaterThan(0);
});

test('who names while what is named is deleted is taken along, or forgets it', { timeout }, async () => {
  await nameWhileDeleted((await program()).db, (await program()).db, scaled(4, 20, 200));
});
