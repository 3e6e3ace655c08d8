/**
 * Each change that a told write sends arrives late or twice: when others have written the row, when a feed has passed it, or has begun
 * behind it. One step is one row, as on HBase. Whoever is told must have the rows that are there.
 */

import { expect, test } from 'vitest';
import { record } from '../proof/evidence.js';
import type { Delivery } from '../proof/late.js';
import { fromMiddle } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import {
  expectRefused,
  expectReplayed,
  Piece,
  prepareTold,
  Replay,
  storedRows,
  told,
  Ware,
  WRITES,
} from './told.js';

const DELIVERIES: readonly Delivery[] = ['late', 'last', 'twice'];
/** Beyond any time after which a reader passes what is missing, or another takes over. */
const LATER = 120_000;
const STRIDE = fromMiddle(2, 1);
const AT_ONCE = { settledAfter: 0 };

/** What happens before the request arrives. */
interface Meanwhile {
  readonly writes: boolean;
  readonly reads: boolean;
}

/** @returns whether the write sent as many changes. */
async function deliver(
  name: string,
  n: number,
  mode: Delivery,
  { writes, reads }: Meanwhile,
): Promise<boolean> {
  let ahead = 0;
  await using store = await openStepless(() => Date.now() + ahead);
  const { db: other } = await store.program(...told);
  await prepareTold(other);
  const { db, requests } = await store.late(...told);
  requests.keep(n, mode);
  await WRITES[name]!(db).catch((error: { code?: string }) => expect(error.code).toBe('ERR_TIMEOUT'));
  if (!requests.hasKept) return false;
  ahead += LATER;
  const whole = new Replay();
  if (writes) await WRITES[name]!(other).catch(expectRefused);
  if (reads) await expectReplayed(other, whole, 'before it arrives', AT_ONCE);
  const feed = other.watch([Ware, Piece], {}, AT_ONCE);
  await feed.ready();
  const begun = new Replay(await storedRows(other), feed.position, true);
  await feed.close();
  ahead += LATER;
  await requests.deliver();
  ahead += LATER;
  await expectReplayed(other, begun, 'begun before it arrives', AT_ONCE);
  await expectReplayed(other, whole, 'when it has arrived', AT_ONCE);
  await expectReplayed(other, new Replay(), 'from the start', AT_ONCE);
  return true;
}

const CASES = Object.keys(WRITES).flatMap((name) =>
  DELIVERIES.flatMap((mode) =>
    [true, false].flatMap((writes) => [true, false].map((reads) => ({ name, mode, writes, reads }))),
  ),
);

test.each(CASES)(
  '$name: any change arrives $mode; others write: $writes, read: $reads',
  async ({ name, mode, writes, reads }) => {
    const failed: string[] = [];
    let tried = 0;
    const first = CASES.findIndex((each) => each.name === name && each.mode === mode) % STRIDE;
    for (let n = first; ; n += STRIDE) {
      try {
        if (!(await deliver(name, n, mode, { writes, reads }))) break;
        tried++;
      } catch (error) {
        failed.push(`change ${n}: ${(error as Error).message}`);
      }
      if (n > 200) throw new Error('The write does not end.');
    }
    expect(failed).toEqual([]);
    record('late-changes', { [`requests that arrived ${mode === 'twice' ? 'twice' : 'late'}`]: tried });
  },
);
