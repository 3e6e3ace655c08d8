/** Makes a table like another, where they differ (HBase SyncTable). */

import type { JobOutcome } from '../types.js';
import type { TableOf } from './copy.js';
import { type RepairOptions, repairRows } from './repair.js';
import { compareTables, type VerifyOptions } from './verify.js';

export interface SyncOptions extends VerifyOptions, RepairOptions {}

/**
 * Makes the second table like the first: writes versions that it lacks, and deletes those that the first does not have, each with a
 * marker of exactly that version. Counters: those of `verifyTables`, and `repaired`: rows that differed and are now the same, looked
 * at again after they were written. A row that stays different is hidden by a delete marker of the second table (a major
 * compaction there makes it visible to the next run), or is written to by others.
 * @throws as `verifyTables`.
 */
export function syncTables(first: TableOf, second: TableOf, options: SyncOptions = {}): Promise<JobOutcome> {
  const { puts = true, deletes = true } = options;
  const table = second.engine.table(second.table);
  return compareTables(
    'sync',
    JSON.stringify({ puts, deletes }),
    first,
    second,
    options,
    (differences, context, selection) =>
      repairRows(table, differences, selection, { puts, deletes }).then((rows) =>
        context.count('repaired', rows),
      ),
  );
}
