/** Loads files into a table past log and memory (HBase `importtsv.bulk.output`, `completebulkload`). */

import { InvalidArgumentError } from '../../errors.js';
import { type Engine, Scan } from '../../table/index.js';
import { type BulkFolder, BulkTarget, loadPhase } from '../bulk/bulk-load.js';
import { runJob } from '../runner.js';
import type { JobOutcome, JobPhase, JobRunOptions } from '../types.js';
import { type BulkReading, type BulkReadOptions, bulkReading } from './bulk-reading.js';
import { toolJobName, toolRun } from './selection.js';

export interface BulkLoadToolOptions extends BulkFolder, BulkReadOptions {
  /** The job's name, under which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** Each checkpoint ends a run of what is sorted: they are made long. */
const LONG_RUNS: JobRunOptions = { checkpointRows: 500_000, checkpointMs: 60_000 };

/**
 * Reads files, sorts their cells through `options.folder`, and loads them at once; the table is seen unchanged until then. Of cells of
 * the same place the last of the last file is loaded. A resumed job reads again what it had not sorted yet, and loads once.
 * Counters: `rows`, `lines` or `entities`, `cells`, `files`, `file bytes`.
 * @throws InvalidArgumentError for files or columns that cannot be; CorruptionError, UnsupportedError naming a file that cannot be read;
 * RowanError `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_FAMILY`: nothing is loaded then.
 */
export async function bulkLoadFiles(
  engine: Engine,
  table: string,
  paths: readonly string[],
  options: BulkLoadToolOptions,
): Promise<JobOutcome> {
  if (paths.length === 0) throw new InvalidArgumentError('A bulk load needs a file to read.');
  const target = new BulkTarget(engine, table, options);
  const reading = await bulkReading(engine, table, paths, options);
  await engine.admin.getDescriptor(table);
  const name = options.name ?? toolJobName('bulkload', table);
  return runJob(
    engine,
    {
      name,
      signature: `${target.signature}: ${reading.signature}`,
      phases: [
        ...reading.before,
        sortingPhase(target, reading),
        loadPhase((kept, context) => target.load(kept, context), reading.before.length),
      ],
      finish: (run) => target.dispose(name, run),
    },
    { ...toolRun(options.run), ...LONG_RUNS, ...options.run },
  );
}

function sortingPhase(target: BulkTarget, reading: BulkReading): JobPhase {
  return {
    table: reading.table,
    ranges: reading.ranges,
    oneSplitEach: true,
    scan: () => new Scan(),
    async open(context) {
      const runs = await target.runs(context);
      const read = await reading.rowsIn(context);
      return {
        rows: async (rows) => runs.add(await read(rows)),
        commit: () => runs.commit(),
      };
    },
  };
}
