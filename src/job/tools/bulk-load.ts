/** Loads files into a table past log and memory (HBase `importtsv.bulk.output`, `completebulkload`). */

import { ensureTable } from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { type Engine, type Result, Scan, tableDescriptor } from '../../table/index.js';
import { type BulkFolder, BulkTarget, loadPhase, rowOfItem } from '../bulk/bulk-load.js';
import { LineFiles } from '../files/line-files.js';
import { onePhase } from '../nothing.js';
import { runJob } from '../runner.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext } from '../types.js';
import { type CellSource, cellFilesSource } from './cell-source.js';
import { EXPORT_FOLDER, type ExportManifest } from './export.js';
import { framesSource } from './frame-files.js';
import { checkFamilies, type TsvOptions, TsvPuts } from './import-tsv.js';
import { readManifest } from './manifest.js';
import { toolJobName, toolRun } from './selection.js';
import { TsvLayout } from './tsv-layout.js';

/** `rowan`: folders of `exportTable`; `hbase`: sequence files of HBase's Export; `hfile`: HFiles; `tsv`: delimited text. */
export type BulkFormat = 'rowan' | 'hbase' | 'hfile' | 'tsv';

export interface BulkLoadToolOptions extends BulkFolder {
  readonly format: BulkFormat;
  /** Of `tsv`, which has to be given them: what its columns are. */
  readonly tsv?: TsvOptions;
  /** Of `tsv`: makes the table, with the families of the columns, when it is not there. Default false. */
  readonly create?: boolean;
  /** The job's name, under which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** Each checkpoint ends a run of what is sorted: they are made long. */
const LONG_RUNS: JobRunOptions = { checkpointRows: 500_000, checkpointMs: 60_000 };

/**
 * Reads files, sorts their cells through `options.folder`, and loads them at once; the table is seen unchanged until then. Of cells of
 * the same place the last of the last file is loaded. A resumed job reads again what it had not sorted yet, and loads once.
 * Counters: `rows` or `lines`, `cells`, `files`, `file bytes`.
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
  const reading = await readingOf(engine, table, paths, options);
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

/** What is read, and what is to be known before. */
interface Reading extends Pick<CellSource, 'signature' | 'table' | 'ranges'> {
  readonly before: readonly JobPhase[];
  /** What makes rows of cells out of the rows of the readable, in one split. */
  rowsIn(context: SplitContext): Promise<(rows: readonly Result[]) => Promise<readonly Result[]>>;
}

function sortingPhase(target: BulkTarget, reading: Reading): JobPhase {
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

function readingOf(
  engine: Engine,
  table: string,
  paths: readonly string[],
  options: BulkLoadToolOptions,
): Promise<Reading> {
  switch (options.format) {
    case 'tsv':
      return linesOf(engine, table, paths, options);
    case 'rowan':
      return exportOf(paths);
    case 'hbase':
    case 'hfile':
      return cellFilesSource(paths, options.format).then(readingCells);
    default:
      throw new InvalidArgumentError(
        `A bulk load reads rowan, hbase, hfile or tsv, not ${describe(options.format)}.`,
      );
  }
}

async function exportOf(paths: readonly string[]): Promise<Reading> {
  const [folder, ...others] = paths as readonly [string, ...string[]];
  if (others.length > 0) throw new InvalidArgumentError('A bulk load reads one folder of `rowan export`.');
  const { files } = await readManifest<ExportManifest>(folder, EXPORT_FOLDER);
  return readingCells(framesSource(folder, files));
}

function readingCells(source: CellSource): Reading {
  return {
    ...source,
    before: [],
    rowsIn: async (context) => async (parts) => {
      const rows: Result[] = [];
      for (const part of parts) rows.push(...(await source.rows(part, context)));
      context.count('rows', rows.length);
      for (const { cells } of rows) context.count('cells', cells.length);
      return rows;
    },
  };
}

async function linesOf(
  engine: Engine,
  table: string,
  paths: readonly string[],
  { tsv, create }: BulkLoadToolOptions,
): Promise<Reading> {
  if (tsv === undefined) throw new InvalidArgumentError('A bulk load of delimited text needs its columns.');
  const { columns, separator, timestamp, skipEmptyColumns } = tsv;
  const layout = new TsvLayout(columns, separator, skipEmptyColumns === true);
  const lines = await LineFiles.open(paths);
  if (create === true) {
    const families = Object.fromEntries(layout.families.map((family) => [family, {}]));
    await ensureTable(engine.admin, tableDescriptor(table, families));
  }
  await checkFamilies(engine, table, layout.families);
  return {
    signature: `tsv ${JSON.stringify([paths, columns, separator, timestamp, skipEmptyColumns])}`,
    table: lines,
    ranges: lines.ranges,
    before: [onePhase(() => timestamp ?? engine.now())],
    async rowsIn(context) {
      const [began] = (await context.workOf(0)).values();
      const puts = new TsvPuts(layout, paths, began as number, context, tsv);
      return async (rows) => puts.puts(rows).map((put) => rowOfItem(put, began as number));
    },
  };
}
