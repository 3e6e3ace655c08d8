/** Queries by an index on a real HBase beside a program that moves a row again and again, over regions and within one. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import { type Engine, Scan } from '../../../src/table/index.js';
import { FORMS, fill, Job, move } from '../../indexes/moving.js';
import { scaled } from '../../proof/scale.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { connectShared } from '../connect.js';

let db: TestDatabase;
let engine: Engine;

beforeAll(async () => {
  db = await openTestDatabase([Job]);
  engine = await connectShared();
});
afterAll(async () => {
  await engine.close();
  await db.dispose();
});

/** Places of the row, and from which on the next is drawn again. */
const PLACES = [5, 15, 25, 35, 45, 15, 45, 5, 35];
const QUERIES = scaled(8, 40, 200);

async function expectEachOnce(): Promise<void> {
  const writer = new Database(compileSchema([Job]), engine, 'verify');
  await writer.ready();
  const jobs = writer.repository(Job);
  let writing = true;
  let moves = 0;
  const writes = (async () => {
    while (writing) await move(jobs, PLACES[moves++ % PLACES.length]!);
  })();
  for (const [name, form] of Object.entries(FORMS)) {
    for (let i = 0; i < QUERIES; i++) await form(db.repository(Job), `${name}, query ${i}, ${moves} moves`);
  }
  writing = false;
  await writes;
  expect(moves).toBeGreaterThan(QUERIES);
}

test('in one region every form gives each row once, whatever moves', async () => {
  await fill(db.repository(Job), 5);
  await expectEachOnce();
});

test('over many regions likewise', async () => {
  const entries = await db.engine.table('moving_idx').scan(new Scan()).nextBatch(1000);
  for (let i = 3; i < entries.length; i += 4) await db.engine.admin.split('moving_idx', entries[i]!.row);
  await expectEachOnce();
});
