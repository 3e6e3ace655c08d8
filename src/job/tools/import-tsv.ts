/** Reads delimited text into a table (HBase ImportTsv), with HBase's options. */

import { ensureTable } from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { checkTimestamp } from '../../table/checks.js';
import {
  Cell,
  CellType,
  EndingCell,
  type Engine,
  Put,
  Result,
  Scan,
  tableDescriptor,
} from '../../table/index.js';
import { LineFiles } from '../files/line-files.js';
import { filesIdentity, placeOfRow } from '../files/place.js';
import { onePhase } from '../nothing.js';
import { runJob } from '../runner.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../types.js';
import { toolJobName, toolRun } from './selection.js';
import { BadLine, TsvLayout, type TsvLine } from './tsv-layout.js';

/** What the lines are made into. */
export interface TsvOptions {
  /** One for each column of the text: `HBASE_ROW_KEY`, `family:qualifier`, `HBASE_TS_KEY`, `HBASE_CELL_TTL`. */
  readonly columns: readonly string[];
  /** One character; default: tab. */
  readonly separator?: string;
  /** Of all cells of lines without `HBASE_TS_KEY`, in milliseconds; default: when the job was begun. */
  readonly timestamp?: number;
  /** Lines that cannot be read are counted (`bad lines`) and passed over; false: the first ends the job. Default true. */
  readonly skipBadLines?: boolean;
  /** An empty column writes no cell; false: a cell without bytes. Default false. */
  readonly skipEmptyColumns?: boolean;
  /** Called for each line that cannot be read; those behind the last checkpoint come again when a job is resumed. */
  readonly onBadLine?: (bad: {
    readonly file: string;
    readonly offset: number;
    readonly why: string;
  }) => void;
}

export interface ImportTsvOptions extends TsvOptions {
  /** Only counts what would be written. Default false. */
  readonly dryRun?: boolean;
  /** Makes the table, with the families of the columns, when it is not there. Default false. */
  readonly create?: boolean;
  /** The job's name, under which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/**
 * Imports the lines of text files. Counters: `lines`, `cells`, `bad lines`.
 * @throws InvalidArgumentError for columns that cannot be, files that cannot be read, and a bad line unless they are skipped;
 * RowanError `ERR_TABLE_NOT_FOUND`.
 */
export async function importTsv(
  engine: Engine,
  table: string,
  files: readonly string[],
  options: ImportTsvOptions,
): Promise<JobOutcome> {
  const layout = new TsvLayout(options?.columns, options?.separator, options?.skipEmptyColumns === true);
  // Before a job is begun that could never end.
  if (options.timestamp !== undefined) checkTimestamp(options.timestamp);
  if (!Array.isArray(files) || files.length === 0)
    throw new InvalidArgumentError('importtsv needs a file to read.');
  const lines = await LineFiles.open(files);
  if (options.create === true && options.dryRun !== true) {
    const families = Object.fromEntries(layout.families.map((family) => [family, {}]));
    await ensureTable(engine.admin, tableDescriptor(table, families));
  }
  if (options.dryRun !== true) await checkFamilies(engine, table, layout.families);
  const { columns, separator, timestamp, skipEmptyColumns, dryRun } = options;
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('importtsv', table),
      signature: `importtsv ${table} ${JSON.stringify([files, columns, separator, timestamp, skipEmptyColumns, dryRun])} of ${await filesIdentity(files)}`,
      phases: [
        // Every worker and every attempt gives cells the same timestamp.
        onePhase(() => options.timestamp ?? engine.now()),
        {
          table: lines,
          ranges: lines.ranges,
          oneSplitEach: true,
          scan: () => new Scan(),
          open: async (context) => {
            const [began] = (await context.workOf(0)).values();
            const lines = new TsvLines(layout, files, context, options);
            const into = engine.table(table);
            return {
              async rows(rows) {
                const puts = lines.read(rows).map((line) => putOfLine(line, began as number));
                if (puts.length > 0 && options.dryRun !== true) await into.putAll(puts);
              },
            };
          },
        },
      ],
    },
    toolRun(options.run),
  );
}

/** @throws InvalidArgumentError naming families that the table does not have. */
export async function checkFamilies(
  engine: Engine,
  table: string,
  families: readonly string[],
): Promise<void> {
  const known = (await engine.admin.getDescriptor(table)).families.map(({ name }) => name);
  const missing = families.filter((family) => !known.includes(family));
  if (missing.length === 0) return;
  throw new InvalidArgumentError(
    `Table "${table}" has no family "${missing.join('", "')}". It has: ${known.join(', ')}.`,
  );
}

/** The lines that can be read of rows that are lines. Counters: `lines`, `cells`, `bad lines`. */
export class TsvLines {
  constructor(
    private readonly layout: TsvLayout,
    private readonly files: readonly string[],
    private readonly context: SplitContext,
    private readonly options: TsvOptions,
  ) {}

  /** Those that write something. */
  read(rows: readonly Result[]): TsvLine[] {
    const lines: TsvLine[] = [];
    let cells = 0;
    for (const { row, cells: only } of rows) {
      const line = this.parse(row, only[0]!.value);
      if (line === undefined || line.cells.length === 0) continue;
      cells += line.cells.length;
      lines.push(line);
    }
    this.context.count('lines', rows.length);
    if (cells > 0) this.context.count('cells', cells);
    return lines;
  }

  private parse(place: Uint8Array, bytes: Uint8Array): TsvLine | undefined {
    try {
      return this.layout.parse(bytes);
    } catch (error) {
      if (!(error instanceof BadLine)) throw error;
      const { file, offset } = placeOfRow(place);
      const path = this.files[file]!;
      if (this.options.skipBadLines === false) {
        throw new InvalidArgumentError(
          `The line at byte ${offset} of ${path} cannot be read: ${error.message}. Mend it, or let bad lines be skipped.`,
          { details: { file: path, offset } },
        );
      }
      this.context.count('bad lines');
      this.options.onBadLine?.({ file: path, offset, why: error.message });
      return undefined;
    }
  }
}

/** A line as a put; of `timestamp` where it says none. */
function putOfLine(line: TsvLine, timestamp: number): Put {
  const put = new Put(line.row, line.timestamp ?? timestamp);
  for (const { family, qualifier, value } of line.cells) put.addColumn(family, qualifier, value);
  return put.setTtl(line.ttl);
}

/** A line as a row of cells, likewise. */
export function rowOfLine(line: TsvLine, otherwise: number): Result {
  const { row, ttl, timestamp = otherwise } = line;
  const cells = line.cells.map(({ family, qualifier, value }) =>
    ttl === undefined
      ? new Cell(row, family, qualifier, timestamp, CellType.Put, value)
      : new EndingCell(row, family, qualifier, timestamp, CellType.Put, value, ttl),
  );
  return new Result(row, cells);
}
