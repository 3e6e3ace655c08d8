/** Summaries on a real HBase: programs that end behind any call, and programs that write the same rows and groups at once. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Engine } from '../../../src/table/index.js';
import { Mortal } from '../../proof/dying.js';
import { SCALE, scaled } from '../../proof/scale.js';
import type { Program } from '../../proof/stepless.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { counted, endCountedBehindCalls, writeCountedAtOnce } from '../../summaries/faults.js';
import { connectShared } from '../connect.js';

let db: TestDatabase;
const engines: Engine[] = [];
/** Ends what hangs; the calls of these tests come one after another, however slow each is. */
const timeout = 900_000;

beforeAll(async () => {
  db = await openTestDatabase(counted);
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await db.dispose();
});

async function program(): Promise<Program> {
  const engine = await connectShared();
  engines.push(engine);
  const mortal = new Mortal(engine);
  const own = new Database(compileSchema(counted), mortal.mortal, 'verify');
  await own.ready();
  return { db: own, mortal };
}

test('a program may end behind any call: check tells exactly what is off, and the outbox or a repair ends it', {
  timeout,
}, async () => {
  const { died, off } = await endCountedBehindCalls(db, program, scaled(31, 31, 1));
  expect(died).toBeGreaterThan(scaled(4, 4, 150));
  expect(off).toBeGreaterThan(0);
});

test('writers of the same rows and groups in three programs, while all is counted anew: no figure is off', {
  timeout,
}, async () => {
  const programs = await Promise.all([program(), program(), program()]);
  const most = scaled(4, 4, 0);
  const end = Date.now() + 60_000;
  await writeCountedAtOnce(
    programs.map((one) => one.db),
    (writes) => (SCALE === 'deep' ? Date.now() < end : writes < most),
  );
});
