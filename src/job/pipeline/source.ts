import { isUtf8 } from 'node:buffer';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { fromParsed } from '../../mapper/tagged.js';
import { checkOptions, checkPositiveInteger } from '../../table/checks.js';
import { type Engine, type RawRow, type Result, Scan } from '../../table/index.js';
import { AvroFiles, type AvroRow } from '../files/avro-files.js';
import { filesAt, filesIdentity, positionOfRow } from '../files/file-position.js';
import { checkSeparator, csvFields, LineFiles } from '../files/line-files.js';
import { ParquetFiles, type ParquetRow } from '../files/parquet-files.js';
import { planSplits } from '../split-plan.js';
import type { JobReadable, RowRange } from '../types.js';

// — Sources: what a job reads.

/** Rows of a table, or of files presented as one, converted to items. */
export interface JobSource<T> {
  /** Part of the job's signature. */
  readonly signature: string;
  readonly table: string | JobReadable;
  /** Ranges to read; empty for the whole table. For files, each range is one split. */
  readonly ranges: readonly RowRange[];
  scan(): Scan;
  /** Converts a row to an item; null if the row does not belong to the source. */
  load(row: Result): T | null | Promise<T | null>;
  /**
   * The same for a raw row that is reused. If present, it may be called instead; `scan` then requests neither delete
   * markers nor partial rows.
   */
  loadRaw?(row: RawRow): T | null | Promise<T | null>;
}

/** A query whose entities a job can read: `repository.find(...)`. */
export interface JobQuery<T> {
  toSource(): Promise<JobSource<T>>;
}

/** The rows of a table. `scan` selects what is read of them: families, columns, versions, times, a filter. */
export function tableSource(
  table: string,
  scan: () => Scan,
  ranges: readonly RowRange[] = [],
): JobSource<Result> {
  const { families, maxVersions, timeRange, filter, raw } = scan();
  const read = JSON.stringify([
    [...families.keys()],
    maxVersions,
    timeRange.min,
    timeRange.max,
    filter?.kind,
    raw,
  ]);
  return { signature: `table ${table} ${read}`, table, ranges, scan, load: (row) => row };
}

/** Split size for snapshots. */
const SNAPSHOT_SPLIT_BYTES = 256 << 20;

/**
 * Reads a source of tables or entities from another engine than the job's: from an opened checkpoint, so that the input
 * is consistent while the job writes to the original store. The same checkpoint must be open when the job is resumed.
 * `splitBytes`: a region larger than this is divided into several splits; default 256 MiB.
 * @throws InvalidArgumentError, while the job runs, for a source that reads no table.
 */
export function snapshotSource<T>(
  engine: Engine,
  source: JobSource<T> | JobQuery<T>,
  { splitBytes = SNAPSHOT_SPLIT_BYTES }: { readonly splitBytes?: number } = {},
): JobQuery<T> {
  return {
    async toSource() {
      const own = 'toSource' in source ? await source.toSource() : source;
      if (typeof own.table !== 'string') {
        throw new InvalidArgumentError(
          'A snapshot consists of tables: use tableSource(...), or a query of a repository.',
        );
      }
      const table = engine.table(own.table);
      return {
        ...own,
        signature: `snapshot of ${own.signature}`,
        table,
        ranges: await planSplits(engine.admin, table, own.ranges, splitBytes),
      };
    },
  };
}

// — Sources that read files: those written by {@link ndjsonFiles}, `csvFiles` and `avroFiles`, and such files of other
// programs.

/** The file formats that jobs read and write, by file extension. */
export type FileFormatName = 'ndjson' | 'csv' | 'avro' | 'parquet';

export interface CsvSourceOptions {
  /** The names of the columns. Default: the first record of each file. */
  readonly columns?: readonly string[];
  /** The separator, one character. Default `,`. */
  readonly separator?: string;
}

export interface ParquetSourceOptions {
  /** Time limit, in ms, for decoding 50,000 rows or 64 MiB, after which the file counts as damaged. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** Default time limit for decoding a piece of Parquet, in ms. */
const DECODING_MS = 60_000;

/** An item of a file, with its position and a function that parses it. */
export interface FileItem {
  readonly path: string;
  /** The byte offset of its line, or of its block; for Parquet the number of the row, from 0. */
  readonly offset: number;
  /** The position for people: "byte 14", "row 3". */
  readonly place: string;
  /**
   * Parses the item.
   * @throws InvalidArgumentError, SyntaxError when it is invalid.
   */
  read(): unknown;
}

/**
 * Reads JSON lines from files, or from a folder written by `ndjsonFiles`. An invalid line fails the job with its file
 * and byte.
 */
export function ndjsonSource(paths: readonly string[]): JobQuery<unknown> {
  return reading(() => fileItems('ndjson', paths));
}

/**
 * Reads CSV records (RFC 4180) from files, or from a folder written by `csvFiles`, as objects of strings by column
 * name; fields missing in a record are omitted. An invalid record fails the job with its file and byte.
 */
export function csvSource(
  paths: readonly string[],
  options: CsvSourceOptions = {},
): JobQuery<Record<string, string>> {
  return reading(() => fileItems('csv', paths, options));
}

/** Reads the values of Avro container files, or of a folder written by `avroFiles`, by each file's own schema. */
export function avroSource<T = unknown>(paths: readonly string[]): JobQuery<T> {
  return reading(() => fileItems('avro', paths));
}

/**
 * Reads the rows of Parquet files (compressed with Snappy, gzip or Brotli, or Zstandard where Node supports it), or of
 * a folder written by `parquetFiles`, as objects by column name: 64-bit integers are bigints, timestamps Dates, JSON
 * its values. Requires the package hyparquet. Files are decoded in a separate thread, which is terminated if a damaged
 * page blocks it.
 *
 * @throws InvalidArgumentError for a wrong option.
 */
export function parquetSource<T = Readonly<Record<string, unknown>>>(
  paths: readonly string[],
  options: ParquetSourceOptions = {},
): JobQuery<T> {
  checkOptions('parquetSource', options, { timeoutMs: true });
  checkPositiveInteger(options.timeoutMs ?? DECODING_MS, 'timeoutMs');
  return reading(() => fileItems('parquet', paths, options));
}

function reading<T>(open: () => Promise<JobSource<FileItem>>): JobQuery<T> {
  return {
    async toSource() {
      const source = await open();
      const { signature, table, ranges } = source;
      return {
        signature,
        table,
        ranges,
        scan: () => source.scan(),
        load(row) {
          const item = source.load(row) as FileItem | null;
          return item === null ? null : readOrSay<T>(item);
        },
      };
    },
  };
}

function readOrSay<T>(item: FileItem): T {
  try {
    return item.read() as T;
  } catch (cause) {
    const { path, offset, place } = item;
    throw new InvalidArgumentError(
      `The item at ${place} of ${path} cannot be read: ${(cause as Error).message}`,
      {
        cause,
        details: { file: path, offset },
      },
    );
  }
}

/**
 * The items of files, not yet parsed; null for empty lines and lines of column names. @throws InvalidArgumentError,
 * CorruptionError for files that cannot be read.
 */
export async function fileItems(
  format: FileFormatName,
  given: readonly string[],
  options: CsvSourceOptions & ParquetSourceOptions = {},
): Promise<JobSource<FileItem>> {
  const paths = await filesAt(given, format);
  const source = await itemsIn(format, paths, options);
  return { ...source, signature: `${source.signature} of ${await filesIdentity(paths)}` };
}

async function itemsIn(
  format: FileFormatName,
  paths: readonly string[],
  options: CsvSourceOptions & ParquetSourceOptions,
): Promise<JobSource<FileItem>> {
  switch (format) {
    case 'ndjson':
      return ndjsonItems(paths, await LineFiles.open(paths));
    case 'csv':
      return csvItems(paths, options);
    case 'parquet': {
      // Limited to the longest delay of a timer.
      const files = await ParquetFiles.open(paths, Math.min(options.timeoutMs ?? DECODING_MS, 2 ** 31 - 1));
      return itemsOf('parquet', paths, files, (row) => () => (row as ParquetRow).item);
    }
    default: {
      const files = await AvroFiles.open(paths);
      return itemsOf('avro', paths, files, (row) => () => (row as AvroRow).item);
    }
  }
}

function ndjsonItems(paths: readonly string[], lines: LineFiles): JobSource<FileItem> {
  return itemsOf('ndjson', paths, lines, (row) => {
    const text = textOf(row);
    if (text.trim() === '') return null;
    return () => {
      checkUtf8(row);
      return fromParsed(JSON.parse(text) as JsonValue);
    };
  });
}

async function csvItems(paths: readonly string[], options: CsvSourceOptions): Promise<JobSource<FileItem>> {
  const separator = checkSeparator(options.separator ?? ',');
  const lines = await LineFiles.open(paths, { quoted: true });
  const columnsOf: (readonly string[])[] = [];
  for (const range of lines.ranges)
    columnsOf.push(options.columns ?? (await namesOf(paths, lines, range, separator)));
  const format = `csv ${JSON.stringify([separator, options.columns])}`;
  return itemsOf(format, paths, lines, (row) => {
    const { file, offset } = positionOfRow(row.row);
    const text = textOf(row);
    if (text === '' || (offset === 0 && options.columns === undefined)) return null;
    return () => {
      checkUtf8(row);
      return recordOf(columnsOf[file]!, csvFields(text, separator));
    };
  });
}

/** The names in the first record of a file. @throws InvalidArgumentError, naming the file, if they cannot be those of columns. */
async function namesOf(
  paths: readonly string[],
  lines: LineFiles,
  { start, stop }: RowRange,
  separator: string,
): Promise<string[]> {
  const scanner = lines.scan(new Scan().withStartRow(start).withStopRow(stop));
  try {
    const first = await scanner.next();
    if (first === undefined) return [];
    checkUtf8(first);
    return checkNames(csvFields(textOf(first), separator));
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const path = paths[positionOfRow(start).file]!;
    throw new InvalidArgumentError(
      `The first record of ${path} does not name the columns: ${error.message}`,
      { cause: error, details: { file: path, offset: 0 } },
    );
  } finally {
    await scanner.close();
  }
}

/** Spreadsheets end records with empty fields: several columns may have no name. */
function checkNames(names: string[]): string[] {
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) < at);
  if (twice !== undefined)
    throw new InvalidArgumentError(`"${twice}" occurs twice, and the values of one would be lost.`);
  if (names.some((name) => name.includes('\r')))
    throw new InvalidArgumentError('It has a carriage return. End lines with \\n or \\r\\n.');
  return names;
}

function recordOf(columns: readonly string[], fields: readonly string[]): Record<string, string> {
  if (fields.length > columns.length) {
    throw new InvalidArgumentError(
      `It has ${fields.length} fields, but there are ${columns.length} columns.`,
    );
  }
  const record: Record<string, string> = {};
  for (let at = 0; at < fields.length; at++) {
    const name = columns[at]!;
    if (name === '__proto__') return Object.fromEntries(fields.map((field, i) => [columns[i]!, field]));
    record[name] = fields[at]!;
  }
  return record;
}

function itemsOf(
  format: string,
  paths: readonly string[],
  files: JobReadable & { readonly ranges: readonly RowRange[] },
  reader: (row: Result) => (() => unknown) | null,
): JobSource<FileItem> {
  return {
    signature: `${format} ${JSON.stringify(paths)}`,
    table: files,
    ranges: files.ranges,
    scan: () => new Scan(),
    load(row) {
      const read = reader(row);
      if (read === null) return null;
      const { file, offset } = positionOfRow(row.row);
      return {
        path: paths[file]!,
        offset,
        place: `${format === 'parquet' ? 'row' : 'byte'} ${offset}`,
        read,
      };
    },
  };
}

/** The text of a line. The byte order mark with which some programs begin files is none of it. */
function textOf({ row, cells }: Result): string {
  const { value } = cells[0]!;
  const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString();
  return text.startsWith('\ufeff') && positionOfRow(row).offset === 0 ? text.slice(1) : text;
}

/** Decoding replaces what is not UTF-8, which would change values. @throws InvalidArgumentError */
function checkUtf8({ cells }: Result): void {
  if (isUtf8(cells[0]!.value)) return;
  throw new InvalidArgumentError(
    'It is not UTF-8: convert the file, as with iconv -f WINDOWS-1252 -t UTF-8.',
  );
}
