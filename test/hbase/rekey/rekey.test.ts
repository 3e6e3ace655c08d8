/** Keys that are changed on a real HBase while eight writers go on (docs/rekey.md). */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { scaled } from '../../proof/scale.js';
import { openTestStore, type TestStore } from '../../query/test-database.js';
import { changeUnderWriters, declareLayouts } from '../../rekey/copied-keys.js';
import { SUMMARIES } from '../../rekey/figures.js';
import { CHANGES, FeedEnd } from '../../rekey/reader.js';

const SEEDS = scaled(1, 2, 10);
const PATIENCE = 900_000;

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  'keys are changed under writers, pauses and aborts, and nothing is lost: seed %i',
  async (seed) => {
    const layouts = declareLayouts(seed, { ...CHANGES, summaries: SUMMARIES });
    const db = await store.open(layouts.from, layouts.to, FeedEnd);
    await changeUnderWriters(db, layouts, db.rekey(layouts.from, layouts.to), seed);
    await db.close();
  },
  PATIENCE,
);

test(
  'a program that knows nothing of it is kept from the old table by the servers',
  async () => {
    const { from, to } = declareLayouts(100, { summaries: SUMMARIES });
    const db = await store.open(from, to);
    const other = await store.open(from);
    const row = { a: 'k', b: 1, x: 'before' } as never;
    await other.repository(from).put(row);
    const rekey = db.rekey(from, to);
    await rekey.run();
    await other.repository(from).put({ a: 'k', b: 2, x: 'meanwhile' } as never);
    await other.repository(from).delete({ a: 'k', b: 1 } as never);
    expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over', differences: { rows: 1 } });
    await expect(other.repository(from).put(row)).rejects.toMatchObject({ code: 'ERR_READONLY' });
    // Not there in the old table: it may be in the new one.
    for (const b of [1, 2]) {
      const deleted = other.repository(from).delete({ a: 'k', b } as never);
      await expect(deleted).rejects.toMatchObject({ code: 'ERR_READONLY' });
    }
    const found = await db
      .repository(to)
      .find({} as never, { fullScan: true })
      .all();
    expect(found).toMatchObject([{ b: 2, x: 'meanwhile' }]);
    await other.close();
    await db.close();
  },
  PATIENCE,
);
