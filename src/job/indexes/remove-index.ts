/** The end of an index that is declared no more. */

import { fromHex } from '../../bytes/index.js';
import { retireIndex } from '../../ddl/index.js';
import type { Engine } from '../../table/index.js';
import type { JobOutcome, JobRunOptions } from '../types.js';
import { dropEntries } from './drop-entries.js';

/** Removes the entries of an index, and what the metadata of its table keeps of it. Counters: `removed`. */
export async function removeIndex(
  engine: Engine,
  indexTable: string,
  id: string,
  run?: JobRunOptions,
): Promise<JobOutcome> {
  // Should this be cut off: a declaration that comes back must not trust the entries that are left.
  await retireIndex(engine.admin, indexTable, id, true);
  const outcome = await dropEntries(engine, indexTable, fromHex(id), run);
  await retireIndex(engine.admin, indexTable, id, false);
  return outcome;
}
