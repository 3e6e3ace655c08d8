/**
 * Each change that a write sends, of indexes, claims of unique values, copies and summaries, arrives late or twice: when others
 * have taken over what the writer had begun, and have been answered. One step is one row, as on HBase.
 */

import { expect, test } from 'vitest';
import { record } from '../proof/evidence.js';
import type { Delivery } from '../proof/late.js';
import { fromMiddle } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import {
  drained,
  expectExactChecks,
  expectTrueAnswers,
  followed,
  LATE_CASES,
  LATE_WRITES,
  LATER,
  lateEntities,
  petsThere,
  prepareLate,
} from './late-writes.js';

/** @returns whether the write sent as many changes. */
async function deliver(name: string, n: number, mode: Delivery): Promise<boolean> {
  let ahead = 0;
  await using store = await openStepless(() => Date.now() + ahead);
  const { db: other } = await store.program(...lateEntities);
  await prepareLate(other);
  const { db, requests } = await store.late(...lateEntities);
  const { write, rival } = LATE_WRITES[name]!;
  requests.keep(n, mode);
  await write(db).catch((error: { code?: string }) => expect(error.code).toBe('ERR_TIMEOUT'));
  await followed(db);
  if (!requests.hasKept) return false;
  ahead += LATER;
  await rival(other).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONFLICT'));
  await drained(other);
  await expectTrueAnswers(other);
  const pets = await petsThere(other);
  ahead += LATER;
  await requests.deliver();
  ahead += LATER;
  await drained(other);
  await expectTrueAnswers(other);
  expect(await petsThere(other)).toEqual(pets);
  await expectExactChecks(other);
  return true;
}

const STRIDE = fromMiddle(2, 1);

test.each(LATE_CASES)('$name: any change arrives $mode', async ({ name, mode }) => {
  const failed: string[] = [];
  // The middle size delays one change in STRIDE of a write, and other changes in each mode.
  let n = LATE_CASES.findIndex((each) => each.name === name && each.mode === mode) % STRIDE;
  let tried = 0;
  for (; ; n += STRIDE) {
    try {
      if (!(await deliver(name, n, mode))) break;
      tried++;
    } catch (error) {
      failed.push(`change ${n}: ${(error as Error).message}`);
    }
    if (n > 200) throw new Error('The write does not end.');
  }
  expect(failed).toEqual([]);
  const arrived = mode === 'twice' ? 'twice' : 'late';
  record('late-requests', { [`requests that arrived ${arrived}`]: tried });
});
