/** Copies on a real HBase: programs that end behind any call, and programs that write sources and rows at once. */

import { expect, test } from 'vitest';
import { endCopyingAfterCalls, entities, writeAtOnce } from '../../denormalize/faults.js';
import { SCALE, scaled } from '../../proof/scale.js';
import { programsOf } from './programs.js';

const { database, program } = programsOf(entities);

test('a program may end behind any call: check tells exactly what is off, the outbox finds all of it, and repair then nothing', async () => {
  const { died, off } = await endCopyingAfterCalls(database(), program, scaled(25, 5, 1));
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
