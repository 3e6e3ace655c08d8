import { ensureTable } from '../ddl/index.js';
import { InvalidArgumentError } from '../errors.js';
import { filesIdentity, positionOfRow } from '../job/files/file-position.js';
import { LineFiles } from '../job/files/line-files.js';
import { runJob } from '../job/runner.js';
import { onePhase } from '../job/split-run.js';
import { toolJobName, toolRun } from '../job/table-pass.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../job/types.js';
import { checkTimestamp, describe } from '../table/checks.js';
import {
  Cell,
  CellType,
  CellWithTtl,
  type Engine,
  LATEST_TIMESTAMP,
  MAX_ROW_LENGTH,
  Put,
  Result,
  Scan,
  tableDescriptor,
} from '../table/index.js';

// — The columns of delimited text, and the parsing of its lines.

const ROW_KEY = 'HBASE_ROW_KEY';
const TIMESTAMP = 'HBASE_TS_KEY';
const TTL = 'HBASE_CELL_TTL';
/** Columns that HBase supports and Rowan does not. */
const REFUSED = ['HBASE_CELL_VISIBILITY', 'HBASE_ATTRIBUTES_KEY'];

/** Thrown when a line cannot be read; the message says why. */
export class BadLine extends Error {}

export interface TsvCell {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly value: Uint8Array;
}

export interface TsvLine {
  readonly row: Uint8Array;
  /** Undefined if there is no timestamp column. */
  readonly timestamp: number | undefined;
  /** Milliseconds; undefined if there is no TTL column. */
  readonly ttl: number | undefined;
  readonly cells: readonly TsvCell[];
}

/** The kind of a column of the text. */
export type TsvColumn =
  | { readonly kind: 'row' | 'timestamp' | 'ttl' }
  | { readonly kind: 'cell'; readonly family: string; readonly qualifier: Uint8Array };

export class TsvLayout {
  /** The families of the columns, without duplicates. */
  readonly families: readonly string[];
  private readonly columns: readonly TsvColumn[];
  private readonly separator: number;

  /**
   * Checks columns and separator.
   * @throws InvalidArgumentError for invalid ones.
   */
  constructor(
    columns: readonly string[],
    separator = '\t',
    private readonly skipEmpty: boolean,
  ) {
    const known = tsvColumns(columns);
    this.columns = known.columns;
    this.families = known.families;
    const bytes = Buffer.from(typeof separator === 'string' ? separator : '');
    if (bytes.length !== 1 || separator === '\n' || separator === '\r') {
      throw new InvalidArgumentError(
        `The separator must be one ASCII character other than a line end, not ${JSON.stringify(separator)}.`,
      );
    }
    this.separator = bytes[0]!;
  }

  /**
   * Parses a line.
   * @throws BadLine
   */
  parse(line: Uint8Array): TsvLine {
    const { columns, separator } = this;
    const special: TsvSpecial = {};
    const cells: TsvCell[] = [];
    let start = 0;
    let index = 0;
    for (let at = 0; at <= line.length; at++) {
      if (at < line.length && line[at] !== separator) continue;
      const column = columns[index++];
      if (column === undefined) throw new BadLine('Excessive columns');
      if (column.kind !== 'cell') special[column.kind] = line.subarray(start, at);
      else if (at > start || !this.skipEmpty) {
        cells.push({ family: column.family, qualifier: column.qualifier, value: line.subarray(start, at) });
      }
      start = at + 1;
    }
    // As HBase's ImportTsv: with a wrong separator every line would be a row without cells.
    if (index === 1) throw new BadLine('No delimiter');
    for (; index < columns.length; index++) {
      const { kind } = columns[index]!;
      if (kind !== 'cell') throw new BadLine(`No ${kind}`);
    }
    return tsvLine(special, cells);
  }
}

/** The values of special columns, unparsed. */
export interface TsvSpecial {
  row?: Uint8Array;
  timestamp?: Uint8Array;
  ttl?: Uint8Array;
}

/**
 * Checks and parses the special columns of a line.
 * @throws BadLine without a row, or on an invalid number.
 */
export function tsvLine({ row, timestamp, ttl }: TsvSpecial, cells: readonly TsvCell[]): TsvLine {
  const at = timestamp && numberOf(timestamp, 'timestamp', LATEST_TIMESTAMP - 1);
  const life = ttl && ttl.length > 0 ? numberOf(ttl, 'time to live', Number.MAX_SAFE_INTEGER) : 0;
  if (row === undefined || row.length === 0) throw new BadLine('No row');
  if (row.length > MAX_ROW_LENGTH)
    throw new BadLine(`The row has ${row.length} bytes, more than ${MAX_ROW_LENGTH}`);
  return { row, timestamp: at, ttl: life === 0 ? undefined : life, cells };
}

/** Parses the names of columns, and collects their families. @throws InvalidArgumentError for invalid columns. */
export function tsvColumns(names: readonly string[]): {
  readonly columns: readonly TsvColumn[];
  readonly families: readonly string[];
} {
  if (!Array.isArray(names) || names.length === 0) throw wrong('there are none');
  const columns = names.map(tsvColumn);
  for (const [name, kind] of [
    [ROW_KEY, 'row'],
    [TIMESTAMP, 'timestamp'],
    [TTL, 'ttl'],
  ]) {
    if (columns.filter((column) => column.kind === kind).length > 1) throw wrong(`${name} occurs twice`);
  }
  if (!columns.some(({ kind }) => kind === 'row')) throw wrong(`${ROW_KEY} is missing`);
  const families = [...new Set(columns.flatMap((column) => (column.kind === 'cell' ? [column.family] : [])))];
  if (families.length === 0) throw wrong('no column is written');
  return { columns, families };
}

/** Parses the name of a column. @throws InvalidArgumentError for an invalid one. */
export function tsvColumn(text: string): TsvColumn {
  if (typeof text !== 'string') throw wrong(`${describe(text)} is not a string`);
  if (text === ROW_KEY) return { kind: 'row' };
  if (text === TIMESTAMP) return { kind: 'timestamp' };
  if (text === TTL) return { kind: 'ttl' };
  if (REFUSED.includes(text)) throw wrong(`${text} is not supported`);
  const [family, ...rest] = text.split(':');
  if (family === undefined || family === '') throw wrong(`"${text}" names no family`);
  return { kind: 'cell', family, qualifier: Buffer.from(rest.join(':')) };
}

function numberOf(field: Uint8Array, what: string, max: number): number {
  const text = Buffer.from(field).toString('latin1');
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value <= max) return value;
  throw new BadLine(`"${text.slice(0, 40)}" is not a valid ${what}`);
}

function wrong(why: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Invalid columns for importtsv: ${why}. Write ${ROW_KEY} and family:qualifier, separated by commas, one for each ` +
      'column of the text.',
  );
}

// — Imports delimited text into a table (HBase ImportTsv), with HBase's options.

/** How lines become cells. */
export interface TsvOptions {
  /** One for each column of the text: `HBASE_ROW_KEY`, `family:qualifier`, `HBASE_TS_KEY`, `HBASE_CELL_TTL`. */
  readonly columns: readonly string[];
  /** The separator, one character; default: tab. */
  readonly separator?: string;
  /** The timestamp in ms of all cells in lines without `HBASE_TS_KEY`; default: the start of the job. */
  readonly timestamp?: number;
  /**
   * Whether invalid lines are counted (`bad lines`) and skipped; if false, the first one ends the job. Default true.
   */
  readonly skipBadLines?: boolean;
  /** Whether empty columns write no cell, instead of a cell with an empty value. Default false. */
  readonly skipEmptyColumns?: boolean;
  /** Called for each invalid line. When a job is resumed, lines after the last checkpoint are reported again. */
  readonly onBadLine?: (bad: {
    readonly file: string;
    readonly offset: number;
    readonly why: string;
  }) => void;
}

export interface ImportTsvOptions extends TsvOptions {
  /** Whether to only count what would be written. Default false. */
  readonly dryRun?: boolean;
  /** Whether to create a missing table with the families of the columns. Default false. */
  readonly create?: boolean;
  /** The job's name, by which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/**
 * Imports the lines of text files. Counters: `lines`, `cells`, `bad lines`.
 * @throws InvalidArgumentError for invalid columns, unreadable files, and an invalid line unless they are skipped;
 * RowanError `ERR_TABLE_NOT_FOUND`.
 */
export async function importTsv(
  engine: Engine,
  table: string,
  files: readonly string[],
  options: ImportTsvOptions,
): Promise<JobOutcome> {
  const layout = new TsvLayout(options?.columns, options?.separator, options?.skipEmptyColumns === true);
  // Checked here, so that no job is started that could never finish.
  if (options.timestamp !== undefined) checkTimestamp(options.timestamp);
  if (!Array.isArray(files) || files.length === 0)
    throw new InvalidArgumentError('importtsv needs a file to read.');
  const lines = await LineFiles.open(files, { bytes: true });
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
        // Every worker and attempt gives cells the same timestamp.
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

/**
 * Checks that the table has these families.
 * @throws InvalidArgumentError naming the missing ones.
 */
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

/** Parses rows that are lines, and skips or reports invalid ones. Counters: `lines`, `cells`, `bad lines`. */
export class TsvLines {
  constructor(
    private readonly layout: TsvLayout,
    private readonly files: readonly string[],
    private readonly context: SplitContext,
    private readonly options: TsvOptions,
  ) {}

  /** Returns the lines that write cells. */
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
      const { file, offset } = positionOfRow(place);
      const path = this.files[file]!;
      if (this.options.skipBadLines === false) {
        throw new InvalidArgumentError(
          `The line at byte ${offset} of ${path} cannot be read: ${error.message}. Correct it, or skip bad lines.`,
          { details: { file: path, offset } },
        );
      }
      this.context.count('bad lines');
      this.options.onBadLine?.({ file: path, offset, why: error.message });
      return undefined;
    }
  }
}

/** A line as a put, with `timestamp` if it has none. */
function putOfLine(line: TsvLine, timestamp: number): Put {
  const put = new Put(line.row, line.timestamp ?? timestamp);
  for (const { family, qualifier, value } of line.cells) put.addColumn(family, qualifier, value);
  return put.setTtl(line.ttl);
}

/** A line as a row of cells, with `otherwise` as timestamp if it has none. */
export function rowOfLine(line: TsvLine, otherwise: number): Result {
  const { row, ttl, timestamp = otherwise } = line;
  const cells = line.cells.map(({ family, qualifier, value }) =>
    ttl === undefined
      ? new Cell(row, family, qualifier, timestamp, CellType.Put, value)
      : new CellWithTtl(row, family, qualifier, timestamp, CellType.Put, value, ttl),
  );
  return new Result(row, cells);
}
