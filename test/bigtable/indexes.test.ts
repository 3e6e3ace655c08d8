/** Indexes on Bigtable, whose writers end between any two of their calls. */

import { expect, it } from 'vitest';
import { endWrites } from '../hbase/indexes/dying-writes.js';
import { Person } from '../indexes/entities.js';
import { scaled } from '../proof/scale.js';
import { programsOf } from './programs.js';

const { database, program } = programsOf([Person]);

it('say what the rows say, wherever a writer has ended, and a repair leaves nothing', async () => {
  const deaths = await endWrites(database(), await program(), scaled(6, 1, 1));
  expect(deaths).toBeGreaterThan(scaled(12, 100, 100));
});
