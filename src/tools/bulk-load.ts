import { ensureTable } from '../ddl/index.js';
import { InvalidArgumentError } from '../errors.js';
import { ROW_MIGRATORS } from '../features/registry.js';
import { type BulkFolder, BulkTarget, loadPhase, rowOfItem } from '../job/bulk/bulk-load.js';
import { filesIdentity } from '../job/files/file-position.js';
import { LineFiles } from '../job/files/line-files.js';
import { type FileFormatName, fileItems } from '../job/pipeline/source.js';
import { runJob } from '../job/runner.js';
import { onePhase } from '../job/split-run.js';
import { toolJobName, toolRun } from '../job/table-pass.js';
import type { JobOutcome, JobPhase, JobReadable, JobRunOptions, SplitContext } from '../job/types.js';
import type { EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import { type Delete, type Engine, type Put, type Result, Scan, tableDescriptor } from '../table/index.js';
import { type CellSource, cellFilesSource, framesSource } from './cell-frames.js';
import { entityOf } from './entity-files.js';
import { entityFormat } from './entity-formats.js';
import { checkFamilies, rowOfLine, TsvLayout, TsvLines, type TsvOptions } from './import-tsv.js';
import { type ItemColumns, ItemRows, namedColumns, positionedColumns } from './item-columns.js';
import { exportIdentity, readExportManifest } from './manifest.js';

// — The input of a bulk load: files of each format as rows of cells.

/**
 * `rowan`: folders written by `exportTable`; `hbase`: sequence files of HBase's Export; `hfile`: HFiles; `tsv`: delimited text; `csv`: CSV records; `ndjson`: JSON objects, one per line. For entities `ndjson`, `csv`, `avro` and `parquet`, as `exportEntities` writes them.
 */
export type BulkFormat = 'rowan' | 'hbase' | 'hfile' | 'tsv' | FileFormatName;

/** How CSV records and NDJSON objects become cells. */
export interface BulkItemOptions extends Omit<TsvOptions, 'columns'> {
  /**
   * For CSV: one column for each field, as for `tsv`; default: the first record of each file. For NDJSON:
   * `property=column`, or only the column if the property has its name; default: each property has the name of its
   * column.
   */
  readonly columns?: readonly string[];
}

/** Gives the mutations that storing entities would make: a repository. */
export interface MutationMaker {
  readonly entityName: string;
  mutationsOf(entities: readonly object[]): Promise<readonly (readonly (Put | Delete)[])[]>;
}

export interface BulkReadOptions {
  readonly format: BulkFormat;
  /** Required for `tsv`: what its columns are. */
  readonly tsv?: TsvOptions;
  /** For `csv` and `ndjson`. */
  readonly items?: BulkItemOptions;
  /**
   * Set if the files hold entities. Hooks after a put do not run, and entities that need more than their own cells are
   * refused with `ERR_UNSUPPORTED`. Of `items` only `separator`, `timestamp`, `skipBadLines` and `onBadLine` apply.
   */
  readonly entities?: { readonly target: MutationMaker; readonly schema: EntitySchema };
  /** For text formats: whether to create a missing table with the families of the columns. Default false. */
  readonly create?: boolean;
}

/** An opened input. */
interface BulkReading extends Pick<JobPhase, 'ranges'> {
  readonly signature: string;
  readonly table: JobReadable | string;
  readonly before: readonly JobPhase[];
  /** Creates, for one split, the function that converts rows of the source to rows of cells. */
  rowsIn(context: SplitContext): Promise<(rows: readonly Result[]) => Promise<readonly Result[]>>;
}

/**
 * Opens the input.
 * @throws InvalidArgumentError for an unknown format or invalid columns; errors of the file readers.
 */
function bulkReading(
  engine: Engine,
  table: string,
  paths: readonly string[],
  options: BulkReadOptions,
): Promise<BulkReading> {
  const { format, entities } = options;
  if (entities !== undefined) return readEntities(engine, paths, options, entities);
  switch (format) {
    case 'tsv':
      return readLines(engine, table, paths, options);
    case 'csv':
    case 'ndjson':
      return readItems(engine, table, paths, format, options);
    case 'rowan':
      return readExport(paths);
    case 'hbase':
    case 'hfile':
      return cellFilesSource(paths, format).then(readingCells);
    case 'avro':
    case 'parquet':
      throw new InvalidArgumentError(`A bulk load reads ${format} only for entities: name the entity.`);
    default:
      throw new InvalidArgumentError(
        `A bulk load reads rowan, hbase, hfile, tsv, csv, ndjson, avro or parquet, not ${describe(format)}.`,
      );
  }
}

async function readExport(paths: readonly string[]): Promise<BulkReading> {
  const [folder, ...others] = paths as readonly [string, ...string[]];
  if (others.length > 0) throw new InvalidArgumentError('A bulk load reads one folder of `rowan export`.');
  const manifest = await readExportManifest(folder);
  return readingCells(framesSource(folder, manifest.files, exportIdentity(manifest)));
}

function readingCells(source: CellSource): BulkReading {
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

async function readLines(
  engine: Engine,
  table: string,
  paths: readonly string[],
  { tsv, create }: BulkReadOptions,
): Promise<BulkReading> {
  if (tsv === undefined)
    throw new InvalidArgumentError('A bulk load of delimited text needs the columns of the text.');
  const { columns, separator, timestamp, skipEmptyColumns } = tsv;
  const layout = new TsvLayout(columns, separator, skipEmptyColumns === true);
  const lines = await LineFiles.open(paths, { bytes: true });
  if (create === true) await makeTable(engine, table, layout.families);
  await checkFamilies(engine, table, layout.families);
  return {
    signature: `tsv ${JSON.stringify([paths, columns, separator, timestamp, skipEmptyColumns])} of ${await filesIdentity(paths)}`,
    table: lines,
    ranges: lines.ranges,
    before: [onePhase(() => timestamp ?? engine.now())],
    async rowsIn(context) {
      const began = await beginningOf(context);
      const lines = new TsvLines(layout, paths, context, tsv);
      return async (rows) => lines.read(rows).map((line) => rowOfLine(line, began));
    },
  };
}

async function readItems(
  engine: Engine,
  table: string,
  paths: readonly string[],
  format: 'csv' | 'ndjson',
  { items = {}, create }: BulkReadOptions,
): Promise<BulkReading> {
  const { columns, separator, timestamp, skipEmptyColumns } = items;
  const given: ItemColumns | undefined =
    columns && (format === 'csv' ? positionedColumns(columns) : namedColumns(columns));
  if (create === true) {
    if (given === undefined) {
      throw new InvalidArgumentError('Creating the table requires its families: name the columns.');
    }
    await makeTable(engine, table, given.families);
  }
  const families = new Set((await engine.admin.getDescriptor(table)).families.map(({ name }) => name));
  if (given !== undefined) await checkFamilies(engine, table, given.families);
  const source = await fileItems(format, paths, {
    ...(separator === undefined ? {} : { separator }),
    ...(format === 'csv' && columns !== undefined ? { columns } : {}),
  });
  return {
    ...source,
    signature: `${source.signature} ${JSON.stringify([columns, separator, timestamp, skipEmptyColumns])}`,
    before: [onePhase(() => timestamp ?? engine.now())],
    async rowsIn(context) {
      const rows = new ItemRows(source, given, families, await beginningOf(context), context, items);
      return async (read) => rows.rows(read);
    },
  };
}

async function readEntities(
  engine: Engine,
  paths: readonly string[],
  { format, items = {} }: BulkReadOptions,
  { target, schema }: NonNullable<BulkReadOptions['entities']>,
): Promise<BulkReading> {
  const { separator, timestamp, skipBadLines = true, onBadLine } = items;
  // Throws if the format is not one of entities.
  const read = entityFormat(format as FileFormatName, schema, separator);
  // Entities that cannot be bulk loaded are refused before anything is read.
  await target.mutationsOf([]);
  const migratorsOf = await Promise.all(ROW_MIGRATORS.map((load) => load()));
  const migrators = migratorsOf.flatMap((migratorOf) => migratorOf(engine, schema) ?? []);
  const source = await fileItems(
    format as FileFormatName,
    paths,
    separator === undefined ? {} : { separator },
  );
  return {
    ...source,
    signature: `entities ${schema.name} ${source.signature} ${JSON.stringify([separator, timestamp])}`,
    before: [onePhase(() => timestamp ?? engine.now())],
    async rowsIn(context) {
      const began = await beginningOf(context);
      const badLineOptions = { skipBadLines, ...(onBadLine === undefined ? {} : { onBadLine }) };
      return async (rows) => {
        const found = rows.flatMap((row) =>
          entityOf(row, source, read, schema.name, context, badLineOptions),
        );
        const loaded: Result[] = [];
        const changes = await target.mutationsOf(found);
        // Records that the loaded rows have the declared layout.
        const written = changes.flatMap(([first]) => first?.row ?? []);
        for (const migrate of migrators) await migrate(written);
        for (const mutations of changes) {
          for (const mutation of mutations) {
            context.count('cells', mutation.cells.length);
            loaded.push(rowOfItem(mutation, began));
          }
        }
        context.count('entities', found.length);
        return loaded;
      };
    },
  };
}

async function makeTable(engine: Engine, table: string, families: readonly string[]): Promise<void> {
  const declared = Object.fromEntries(families.map((family) => [family, {}]));
  await ensureTable(engine.admin, tableDescriptor(table, declared));
}

/** The timestamp of cells without one: the same for all workers and attempts. */
async function beginningOf(context: SplitContext): Promise<number> {
  const [began] = (await context.workOf(0)).values();
  return began as number;
}

// — Loads files into a table, bypassing WAL and memstore (HBase `importtsv.bulk.output`, `completebulkload`).

export interface BulkLoadToolOptions extends BulkFolder, BulkReadOptions {
  /** The job's name, by which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** Each checkpoint ends a sorted run, so checkpoints are rare. */
const LONG_RUNS: JobRunOptions = { checkpointRows: 500_000, checkpointMs: 60_000 };

/**
 * Reads files, sorts their cells in `options.folder`, and loads them at once; until then the table is unchanged. Of
 * several cells at the same place the last one of the last file is loaded. A resumed job repeats only what it had not
 * sorted yet, and loads once. Counters: `rows`, `lines` or `entities`, `cells`, `files`, `file bytes`.
 * @throws InvalidArgumentError for invalid files or columns; CorruptionError, UnsupportedError naming a file that
 * cannot be read; RowanError `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_FAMILY`. Nothing is loaded then.
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
