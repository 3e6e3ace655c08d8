/**
 * Each change that a change of keys by copies sends, of copies, of its record and of its jobs, arrives late or twice: when another program
 * has gone on with it or begun it anew, has cut over, and the new layout is written. What was acknowledged is there, and nothing else.
 */

import { expect, test } from 'vitest';
import { record } from '../proof/evidence.js';
import type { Delivery } from '../proof/late.js';
import { fromMiddle } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { declareLate, deliverLate } from './late-copies.js';

const DELIVERIES: readonly Delivery[] = ['late', 'last', 'twice'];
/** Beyond any time after which somebody takes over. */
const LATER = 60_000;
/** The middle size delays one change in STRIDE. */
const STRIDE = fromMiddle(23, 1);

async function deliver(n: number, mode: Delivery, isBegunAnew: boolean): Promise<boolean> {
  const layouts = declareLate();
  let ahead = 0;
  await using store = await openStepless(() => Date.now() + ahead);
  const { db: other } = await store.program(layouts.From, layouts.To);
  const programs = {
    other,
    late: () => store.late(layouts.From, layouts.To),
    tick: () => {
      ahead += 5;
    },
    later: () => {
      ahead += LATER;
    },
  };
  // The store is closed behind it.
  return await deliverLate(programs, layouts, n, mode, isBegunAnew);
}

const CASES = DELIVERIES.flatMap((mode) => [false, true].map((isBegunAnew) => ({ mode, isBegunAnew })));

test.each(CASES)('any change arrives $mode; begun anew: $isBegunAnew', async ({ mode, isBegunAnew }) => {
  const failed: string[] = [];
  let tried = 0;
  for (let n = 0; ; n += STRIDE) {
    try {
      if (!(await deliver(n, mode, isBegunAnew))) break;
      tried++;
    } catch (error) {
      failed.push(`change ${n}: ${(error as Error).message}`);
    }
    if (n > 500) throw new Error(`It does not end: ${failed[0]}`);
  }
  expect(failed).toEqual([]);
  record('late-rekey', { [`requests that arrived ${mode === 'twice' ? 'twice' : 'late'}`]: tried });
});
