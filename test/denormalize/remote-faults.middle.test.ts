/**
 * Copies where one step is one row, as on HBase: programs that end behind any call, and programs that write sources and rows
 * that hold copies at once.
 */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { fromMiddle } from '../proof/scale.js';
import { openStepless, type SteplessStore } from '../proof/stepless.js';
import { endCopyingAfterCalls, entities, writeAtOnce } from './faults.js';

let store: SteplessStore;
beforeEach(async () => {
  store = await openStepless();
});
afterEach(() => store[Symbol.asyncDispose]());

const program = () => store.program(...entities);

test('a program may end behind any call: check tells exactly what is off, the outbox finds all of it, and repair then nothing', async () => {
  const { db } = await program();
  const { died, off } = await endCopyingAfterCalls(db, program, fromMiddle(3, 1));
  expect(died).toBeGreaterThan(fromMiddle(60, 150));
  // Some of them have left something: else nothing would be proved.
  expect(off).toBeGreaterThan(0);
});

test('writers of sources and of rows at once, in three programs: nothing is off once the outbox is drained', async () => {
  // Not at once: each looks for missing tables.
  const programs = [await program(), await program(), await program()];
  const most = fromMiddle(15, 400);
  await writeAtOnce(
    programs.map(({ db }) => db),
    (writes) => writes < most,
  );
});
