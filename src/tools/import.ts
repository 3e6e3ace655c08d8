import { fromHex } from '../bytes/index.js';
import { ensureTable } from '../ddl/index.js';
import { InvalidArgumentError } from '../errors.js';
import { runJob } from '../job/runner.js';
import { toolJobName, toolRun } from '../job/table-pass.js';
import type { JobOutcome, JobRunOptions } from '../job/types.js';
import { type Engine, Scan, type TableDescriptor, tableDescriptor } from '../table/index.js';
import { type CellSource, cellFilesSource, framesSource } from './cell-frames.js';
import { writeRows } from './copy.js';
import { exportIdentity, readExportManifest } from './manifest.js';

/**
 * Concurrent writes that continue while the next rows are read. Limits the number of concurrent writes. Their order
 * must not matter. Call `drain` before each checkpoint, and `close` at the end of the attempt, so that no write
 * overlaps the next attempt.
 */
class InFlight {
  private readonly running = new Set<Promise<void>>();
  private readonly failures: unknown[] = [];

  constructor(private readonly max: number) {}

  /** Starts a write as soon as one may start. @throws the error of an earlier write. */
  async add(write: () => Promise<void>): Promise<void> {
    while (this.running.size >= this.max) await Promise.race(this.running);
    this.throwIfFailed();
    const running = write()
      .catch((error: unknown) => void this.failures.push(error))
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** Waits for all writes. @throws the error of any of them. */
  async drain(): Promise<void> {
    await this.close();
    this.throwIfFailed();
  }

  /** Waits for all writes and ignores their errors. */
  async close(): Promise<void> {
    await Promise.all(this.running);
  }

  private throwIfFailed(): void {
    if (this.failures.length > 0) throw this.failures[0];
  }
}

// — Imports files of `exportTable`, or of HBase's Export, into a table (HBase Import).

export interface ImportOptions {
  /** The table to write; default: the table that was exported. Required for sequence files. */
  readonly table?: string;
  /**
   * `rowan` (default): a folder written by `exportTable`. `hbase`: sequence files of HBase's Export, or a folder of them.
   */
  readonly format?: 'rowan' | 'hbase';
  /**
   * Whether to create a missing table with the exported families and regions. Default false; not for sequence files.
   */
  readonly create?: boolean;
  /** The job's name, by which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** How many rows are written in one call. */
const ROWS_AT_ONCE = 1000;
/** How many writes of one split may be in progress while the next rows are decompressed. */
const WRITES_AT_ONCE = 4;

/**
 * Imports every cell unchanged. Importing is idempotent, so a resumed job only repeats writes without effect. Counters:
 * `rows`, `cells`.
 * @throws CorruptionError for a damaged file; InvalidArgumentError when the folder has no complete export;
 * UnsupportedError for sequence files with other content; RowanError `ERR_TABLE_NOT_FOUND`.
 */
export async function importTable(
  engine: Engine,
  folder: string,
  options: ImportOptions = {},
): Promise<JobOutcome> {
  const { table, source } = await exportedCells(engine, folder, options);
  await engine.admin.getDescriptor(table);
  const into = engine.table(table);
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('import', table),
      signature: `import ${source.signature} to ${table}`,
      phases: [
        {
          ...source,
          oneSplitEach: true,
          scan: () => new Scan(),
          open: (context) => {
            const writes = new InFlight(WRITES_AT_ONCE);
            return {
              async rows(parts) {
                for (const part of parts) {
                  const rows = await source.rows(part, context);
                  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
                    await writes.add(() => writeRows(into, rows.slice(at, at + ROWS_AT_ONCE)));
                  }
                  context.count('rows', rows.length);
                  context.count(
                    'cells',
                    rows.reduce((sum, each) => sum + each.cells.length, 0),
                  );
                }
              },
              commit: () => writes.drain().then(() => undefined),
              close: () => writes.close(),
            };
          },
        },
      ],
    },
    { ...toolRun(options.run), batchRows: 4 },
  );
}

/** Opens the input and determines the table, which is created if requested. */
async function exportedCells(
  engine: Engine,
  folder: string,
  options: ImportOptions,
): Promise<{ readonly table: string; readonly source: CellSource }> {
  if (options.format === 'hbase') {
    if (options.table === undefined || options.create === true) {
      throw new InvalidArgumentError(
        "Files of HBase's Export do not name their table: create it with its families, and name it.",
      );
    }
    return { table: options.table, source: await cellFilesSource([folder], 'hbase') };
  }
  const manifest = await readExportManifest(folder);
  const exported = manifest.table as unknown as TableDescriptor;
  const table = options.table ?? exported.name;
  if (options.create === true) {
    const { name: _, families, ...rest } = exported;
    await ensureTable(engine.admin, tableDescriptor(table, families, rest), manifest.splits.map(fromHex));
  }
  return { table, source: framesSource(folder, manifest.files, exportIdentity(manifest)) };
}
