/** Empties an index. */

import { EMPTY_BYTES, prefixEnd, toHex } from '../../bytes/index.js';
import { notePrefix } from '../../indexes/index.js';
import { deleteOf } from '../../repository/index.js';
import { type Engine, Scan } from '../../table/index.js';
import { runJob } from '../runner.js';
import { toolJobName } from '../tools/selection.js';
import type { JobOutcome, JobPhase, JobRunOptions } from '../types.js';

/** Removes every entry of an index, by its id, and the notes about entries. */
export async function dropEntries(
  engine: Engine,
  tableName: string,
  id: Uint8Array,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const table = engine.table(tableName);
  const phase: JobPhase = {
    table: tableName,
    ranges: [id, notePrefix(id)].map((start) => ({ start, stop: prefixEnd(start) ?? EMPTY_BYTES })),
    scan: () => new Scan().setCacheBlocks(false),
    open: (context) => ({
      async rows(rows) {
        await table.batch(rows.map(({ row }) => deleteOf(row)));
        context.count('removed', rows.length);
      },
    }),
  };
  const name = toolJobName('index-drop', toHex(id));
  // Entries may have been written since an earlier run, where it stood.
  return runJob(engine, { name, signature: tableName, phases: [phase] }, { restart: true, ...run });
}
