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

/** Writes that go on while the next rows are read. */

/**
 * Bounds how many there are at once. For writes whose order does not matter; `settle` belongs before each checkpoint, `close` at the
 * end of the attempt, so that none of it goes on beside the next.
 */
export class InFlight {
  private readonly running = new Set<Promise<void>>();
  private readonly failures: unknown[] = [];

  constructor(private readonly most: number) {}

  /** Begins a write as soon as there is room. @throws what an earlier one threw. */
  async add(write: () => Promise<void>): Promise<void> {
    while (this.running.size >= this.most) await Promise.race(this.running);
    this.throwIfFailed();
    const running = write()
      .catch((error: unknown) => void this.failures.push(error))
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** Waits for all. @throws what one of them threw. */
  async settle(): Promise<void> {
    await this.close();
    this.throwIfFailed();
  }

  /** Waits for all, whatever their ends. */
  async close(): Promise<void> {
    await Promise.all(this.running);
  }

  private throwIfFailed(): void {
    if (this.failures.length > 0) throw this.failures[0];
  }
}

/** Reads what `exportTable` wrote, or HBase's Export, into a table (HBase Import). */

export interface ImportOptions {
  /** The table to write to; default: the one that was exported. Of sequence files it has to be given. */
  readonly table?: string;
  /** `rowan` (default): a folder of `exportTable`. `hbase`: sequence files of HBase's Export, one or a folder of them. */
  readonly format?: 'rowan' | 'hbase';
  /** Makes the table with the exported families and regions when it is not there. Default false; not of sequence files. */
  readonly create?: boolean;
  /** The job's name, under which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** Rows that are written in one call. */
const ROWS_AT_ONCE = 1000;
/** Writes of one split that wait for the disk or the network while the next rows are unpacked. */
const WRITES_AT_ONCE = 4;

/**
 * Imports every cell as it was. What is imported twice is there once, so a resumed job changes nothing that was done. Counters:
 * `rows`, `cells`.
 * @throws CorruptionError when a file is not what was written; InvalidArgumentError when the folder holds no whole export;
 * UnsupportedError for sequence files of other things; RowanError `ERR_TABLE_NOT_FOUND`.
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
              commit: () => writes.settle().then(() => undefined),
              close: () => writes.close(),
            };
          },
        },
      ],
    },
    { ...toolRun(options.run), batchRows: 4 },
  );
}

/** What is to be imported, and into what; the table is made if it is to be. */
export async function exportedCells(
  engine: Engine,
  folder: string,
  options: ImportOptions,
): Promise<{ readonly table: string; readonly source: CellSource }> {
  if (options.format === 'hbase') {
    if (options.table === undefined || options.create === true) {
      throw new InvalidArgumentError(
        "Files of HBase's Export do not say of which table they are: make it with its families, and name it.",
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
