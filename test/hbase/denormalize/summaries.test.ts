/** Summaries on a real HBase: programs that end behind any call, and programs that write the same rows and groups at once. */

import { expect, test } from 'vitest';
import { SCALE, scaled } from '../../proof/scale.js';
import { counted, endCountedAfterCalls, writeCountedAtOnce } from '../../summaries/faults.js';
import { programsOf } from './programs.js';

const { database, program } = programsOf(counted);
/** Ends what hangs; the calls of these tests come one after another, however slow each is. */
const timeout = 900_000;

test('a program may end behind any call: check tells exactly what is off, and the outbox or a repair ends it', {
  timeout,
}, async () => {
  const { died, off } = await endCountedAfterCalls(database(), program, scaled(23, 23, 1));
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
