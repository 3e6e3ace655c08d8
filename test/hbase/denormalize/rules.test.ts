/** Referential rules on a real HBase: programs that end behind any call of a delete, and names given to what is being deleted. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Engine } from '../../../src/table/index.js';
import {
  Call,
  Contract,
  endDeletesBehindCalls,
  Member,
  nameWhileDeleted,
  ruled,
} from '../../denormalize/rules.js';
import { Mortal } from '../../proof/dying.js';
import { scaled } from '../../proof/scale.js';
import type { Program } from '../../proof/stepless.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { connectShared } from '../connect.js';

let db: TestDatabase;
const engines: Engine[] = [];
/** Ends what hangs; the calls of these tests come one after another, however slow each is. */
const timeout = 900_000;

beforeAll(async () => {
  db = await openTestDatabase(ruled);
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await db.dispose();
});

async function program(): Promise<Program> {
  const engine = await connectShared();
  engines.push(engine);
  const mortal = new Mortal(engine);
  const own = new Database(compileSchema(ruled), mortal.mortal, 'verify');
  await own.ready();
  return { db: own, mortal };
}

test('what is named is kept, taken along or forgotten as its rule says', { timeout }, async () => {
  const members = db.repository(Member);
  const calls = db.repository(Call);
  await expect(members.put({ id: 'a', bossId: 'nobody' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  await members.putMany([{ id: 'root' }, { id: 'other' }]);
  await members.put({ id: 'a', bossId: 'root' });
  await db.repository(Contract).put({ no: 1, memberId: 'root' });
  await calls.put({ memberId: 'a', at: 1, helperId: 'other' });
  await expect(members.delete({ id: 'root' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  expect(await members.get({ id: 'a' })).toMatchObject({ bossId: 'root' });
  await members.delete({ id: 'other' });
  const forgetting = await calls.get({ memberId: 'a', at: 1 });
  expect(forgetting).toMatchObject({ version: 2 });
  expect(forgetting?.helperId).toBeUndefined();
  await db.repository(Contract).update({ no: 1 }, { memberId: null });
  await members.delete({ id: 'root' });
  expect(await members.get({ id: 'a' })).toBeNull();
  expect(await calls.get({ memberId: 'a', at: 1 })).toBeNull();
});

test('a program may end behind any call of a delete: what is off is told, the outbox ends it, and repair then does nothing', {
  timeout,
}, async () => {
  const { died, off } = await endDeletesBehindCalls(db, program, scaled(21, 4, 1));
  expect(died).toBeGreaterThan(scaled(4, 20, 100));
  expect(off).toBeGreaterThan(0);
});

test('who names while what is named is deleted is taken along, or forgets it', { timeout }, async () => {
  await nameWhileDeleted((await program()).db, (await program()).db, scaled(4, 20, 200));
});
