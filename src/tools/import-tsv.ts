import { ensureTable } from '../ddl/index.js';
import { InvalidArgumentError } from '../errors.js';
import { LineFiles } from '../job/files/line-files.js';
import { filesIdentity, placeOfRow } from '../job/files/place.js';
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

/** What the columns of a delimited text mean, and how a line of it is read. */

const ROW_KEY = 'HBASE_ROW_KEY';
const TIMESTAMP = 'HBASE_TS_KEY';
const TTL = 'HBASE_CELL_TTL';
/** Known to HBase, without meaning here. */
const REFUSED = ['HBASE_CELL_VISIBILITY', 'HBASE_ATTRIBUTES_KEY'];

/** A line cannot be read; the message says why. */
export class BadLine extends Error {}

export interface TsvCell {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly value: Uint8Array;
}

export interface TsvLine {
  readonly row: Uint8Array;
  /** Undefined where the columns have none. */
  readonly timestamp: number | undefined;
  /** Milliseconds; undefined where the columns have none. */
  readonly ttl: number | undefined;
  readonly cells: readonly TsvCell[];
}

/** What a column of the text is. */
export type TsvColumn =
  | { readonly kind: 'row' | 'timestamp' | 'ttl' }
  | { readonly kind: 'cell'; readonly family: string; readonly qualifier: Uint8Array };

export class TsvLayout {
  /** Of the columns, each once. */
  readonly families: readonly string[];
  private readonly columns: readonly TsvColumn[];
  private readonly separator: number;

  /** @throws InvalidArgumentError for columns and separators that cannot be. */
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
        `A separator is one character of ASCII that ends no line, not ${JSON.stringify(separator)}.`,
      );
    }
    this.separator = bytes[0]!;
  }

  /** @throws BadLine */
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
    for (; index < columns.length; index++) {
      const { kind } = columns[index]!;
      if (kind !== 'cell') throw new BadLine(`No ${kind}`);
    }
    return tsvLine(special, cells);
  }
}

/** What a line says beside its cells, as it stands there. */
export interface TsvSpecial {
  row?: Uint8Array;
  timestamp?: Uint8Array;
  ttl?: Uint8Array;
}

/** @throws BadLine when it has no row, or a number that is none. */
export function tsvLine({ row, timestamp, ttl }: TsvSpecial, cells: readonly TsvCell[]): TsvLine {
  const at = timestamp && numberOf(timestamp, 'timestamp', LATEST_TIMESTAMP - 1);
  const life = ttl && ttl.length > 0 ? numberOf(ttl, 'time to live', Number.MAX_SAFE_INTEGER) : 0;
  if (row === undefined || row.length === 0) throw new BadLine('No row');
  if (row.length > MAX_ROW_LENGTH) throw new BadLine(`A row of ${row.length} bytes`);
  return { row, timestamp: at, ttl: life === 0 ? undefined : life, cells };
}

/** The columns that texts name, and their families, each once. @throws InvalidArgumentError for columns that cannot be. */
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
    if (columns.filter((column) => column.kind === kind).length > 1)
      throw wrong(`${name} stands there twice`);
  }
  if (!columns.some(({ kind }) => kind === 'row')) throw wrong(`${ROW_KEY} is missing`);
  const families = [...new Set(columns.flatMap((column) => (column.kind === 'cell' ? [column.family] : [])))];
  if (families.length === 0) throw wrong('no column is written');
  return { columns, families };
}

/** The column that a text names. @throws InvalidArgumentError for one that cannot be. */
export function tsvColumn(text: string): TsvColumn {
  if (typeof text !== 'string') throw wrong(`${describe(text)} is no text`);
  if (text === ROW_KEY) return { kind: 'row' };
  if (text === TIMESTAMP) return { kind: 'timestamp' };
  if (text === TTL) return { kind: 'ttl' };
  if (REFUSED.includes(text)) throw wrong(`${text} is not supported`);
  const [family, ...rest] = text.split(':');
  if (family === undefined || family === '') throw wrong(`"${text}" names no family`);
  return { kind: 'cell', family, qualifier: Buffer.from(rest.join(':')) };
}

function numberOf(field: Uint8Array, what: string, most: number): number {
  const text = Buffer.from(field).toString('latin1');
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value <= most) return value;
  throw new BadLine(`"${text.slice(0, 40)}" is no ${what}`);
}

function wrong(why: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `The columns of importtsv cannot be: ${why}. Write ${ROW_KEY} and family:qualifier, with commas between, one for each ` +
      'column of the text.',
  );
}

/** Reads delimited text into a table (HBase ImportTsv), with HBase's options. */

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
      : new CellWithTtl(row, family, qualifier, timestamp, CellType.Put, value, ttl),
  );
  return new Result(row, cells);
}
