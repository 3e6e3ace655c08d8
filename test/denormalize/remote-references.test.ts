/** Referential rules where one step is one row, as on HBase. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { Delete } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless, type SteplessStore } from '../proof/stepless.js';
import { Call, Contract, endDeletesAfterCalls, Member, nameWhileDeleted, ruled } from './rules.js';

let store: SteplessStore;
beforeEach(async () => {
  store = await openStepless();
});
afterEach(() => store[Symbol.asyncDispose]());

const program = () => store.program(...ruled);

test('what is named must be there, and is kept, taken along or forgotten as its rule says', async () => {
  const { db } = await program();
  const members = db.repository(Member);
  await expect(members.put({ id: 'a', bossId: 'nobody' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  expect(await members.get({ id: 'a' })).toBeNull();
  await members.putMany([{ id: 'root' }, { id: 'other' }]);
  await members.put({ id: 'a', bossId: 'root' });
  await db.repository(Contract).put({ no: 1, memberId: 'root' });
  await db.repository(Call).put({ memberId: 'a', at: 1, helperId: 'other' });
  const kept = members.delete({ id: 'root' });
  await expect(kept).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  await expect(kept).rejects.toThrow("onDelete: 'restrict'");
  await members.delete({ id: 'other' });
  expect(await db.repository(Call).get({ memberId: 'a', at: 1 })).toMatchObject({ version: 2 });
  expect((await db.repository(Call).get({ memberId: 'a', at: 1 }))?.helperId).toBeUndefined();
  await db.repository(Contract).update({ no: 1 }, { memberId: null });
  await members.delete({ id: 'root' });
  expect(await members.get({ id: 'a' })).toBeNull();
  expect(await db.repository(Call).get({ memberId: 'a', at: 1 })).toBeNull();
});

test('repair does what the rules say, and leaves what they do not say anything of', async () => {
  const { db } = await program();
  await db.repository(Member).putMany([{ id: 'a' }, { id: 'b' }]);
  await db.repository(Contract).put({ no: 1, memberId: 'a' });
  await db.repository(Call).putMany([
    { memberId: 'a', at: 1 },
    { memberId: 'b', at: 1, helperId: 'a' },
  ]);
  await db.engine.table('rule_people').delete(new Delete('a'));
  expect(await db.references(Call).check()).toEqual({ rows: 2, valid: 2, dangling: 2 });
  expect(await db.references(Call).repair()).toEqual({
    rows: 2,
    valid: 2,
    dangling: 2,
    repaired: 2,
    ahead: 0,
  });
  expect(await db.references(Call).repair()).toEqual({
    rows: 1,
    valid: 2,
    dangling: 0,
    repaired: 0,
    ahead: 0,
  });
  expect(await db.references(Contract).repair()).toEqual({
    rows: 1,
    valid: 0,
    dangling: 1,
    repaired: 0,
    ahead: 0,
  });
});

test('a program may end behind any call of a delete: what is off is told, and the outbox or a repair ends it', async () => {
  const { db } = await program();
  const { died, off } = await endDeletesAfterCalls(db, program, scaled(31, 4, 1));
  expect(died).toBeGreaterThan(scaled(4, 20, 100));
  expect(off).toBeGreaterThan(0);
});

test('who names while what is named is deleted is taken along, or forgets it', async () => {
  const one = await program();
  const two = await program();
  await nameWhileDeleted(one.db, two.db, scaled(3, 15, 400));
});
