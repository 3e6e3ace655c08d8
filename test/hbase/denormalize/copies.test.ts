/** Copies on a real HBase: programs that end behind any call, and programs that write sources and rows at once. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Engine } from '../../../src/table/index.js';
import { endBehindCalls, entities, writeAtOnce } from '../../denormalize/faults.js';
import { Mortal } from '../../proof/dying.js';
import { SCALE, scaled } from '../../proof/scale.js';
import type { Program } from '../../proof/stepless.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { connectShared } from '../connect.js';

let db: TestDatabase;
const engines: Engine[] = [];

beforeAll(async () => {
  db = await openTestDatabase(entities);
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await db.dispose();
});

async function program(): Promise<Program> {
  const engine = await connectShared();
  engines.push(engine);
  const mortal = new Mortal(engine);
  const own = new Database(compileSchema(entities), mortal.mortal, 'verify');
  await own.ready();
  return { db: own, mortal };
}

test('a program may end behind any call: check tells exactly what is off, the outbox finds all of it, and repair then nothing', async () => {
  const { died, off } = await endBehindCalls(db, program, scaled(25, 5, 1));
  expect(died).toBeGreaterThan(scaled(8, 40, 150));
  expect(off).toBeGreaterThan(0);
});

test('writers of sources and of rows at once, in three programs: nothing is off once the outbox is drained', async () => {
  const programs = await Promise.all([program(), program(), program()]);
  const most = scaled(6, 40, 0);
  const end = Date.now() + 60_000;
  await writeAtOnce(
    programs.map((one) => one.db),
    (writes) => (SCALE === 'deep' ? Date.now() < end : writes < most),
  );
});
