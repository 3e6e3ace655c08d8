/** A table as a sink that is filled by files (HBase `HFileOutputFormat2`). */

import type { Engine, Put, Result } from '../../table/index.js';
import { type BulkFolder, BulkTarget, rowOfItem } from '../bulk/bulk-load.js';
import type { Sink } from './sink.js';

/**
 * Puts, and rows with their cells, into a table past log and memory: each split sorts its own in `options.folder`, and when all are done
 * they are loaded at once. The table is seen unchanged until then. Neither observers nor indexes are told.
 * @throws InvalidArgumentError without a folder; UnsupportedError for an engine without bulk loads.
 */
export function bulkLoad(engine: Engine, table: string, options: BulkFolder): Sink<Put | Result> {
  const target = new BulkTarget(engine, table, options);
  return {
    signature: target.signature,
    async open(context) {
      const runs = await target.runs(context);
      return {
        async write(items) {
          const now = engine.now();
          await runs.add(items.map((item) => rowOfItem(item, now)));
        },
        commit: () => runs.commit(),
      };
    },
    complete: (kept, context) => target.load(kept, context),
    dispose: (job, run) => target.dispose(job, run),
  };
}
