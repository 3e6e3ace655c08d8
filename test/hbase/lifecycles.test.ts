/** The lives of `test/moves/lifecycles.test.ts` on a real HBase: declarations that change, and every way of writing and reading. */

import { expect, test } from 'vitest';
import { leadLives } from '../moves/lifecycles/life.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { openTestStore } from '../query/test-database.js';

const PROGRAMS = scaled(2, 6, 60);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const RELEASES = 4;

test.each(Array.from({ length: PROGRAMS }, (_, index) => FIRST + index))(
  'a life of releases keeps every value: program %i',
  async (seed) => {
    const store = openTestStore();
    try {
      await leadLives([seed], RELEASES, () => ({
        clock: undefined,
        hasTransactions: false,
        countsWhatEnds: false,
        open: (entities) => store.open(...entities),
      }));
      record('lifecycles-hbase', { programs: 1, releases: RELEASES });
    } finally {
      await store.dispose();
    }
    expect(seed).toBeGreaterThan(0);
  },
);
