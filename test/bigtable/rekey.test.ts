/** Keys cannot be changed beside writers on Bigtable; a job changes them while writers rest (docs/bigtable.md). */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestStore, type TestStore } from '../query/test-database.js';
import { declareLayouts } from '../rekey/copied-keys.js';

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

test('a change of keys is refused before anything is written, and says why', async () => {
  const { from, to } = declareLayouts(1);
  const db = await store.open(from, to);
  const rekey = db.rekey(from, to);
  expect((await rekey.plan()).problems).toEqual([expect.stringContaining('keeps no delete markers')]);
  await expect(rekey.run()).rejects.toMatchObject({
    message: expect.stringContaining('keeps no delete markers'),
  });
  expect(await rekey.status()).toBeUndefined();
  await db.repository(from).put({ a: 'k0', b: 0, x: 'still' } as never);
  await db.close();
});
