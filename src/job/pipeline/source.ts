import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { fromTagged } from '../../mapper/tagged.js';
import { checkOptions, checkPositiveInteger } from '../../table/checks.js';
import { type Engine, type RawRow, type Result, Scan } from '../../table/index.js';
import { AvroFiles, type AvroRow } from '../files/avro-files.js';
import { checkSeparator, csvFields, LineFiles } from '../files/line-files.js';
import { ParquetFiles, type ParquetRow } from '../files/parquet-files.js';
import { filesAt, filesIdentity, placeOfRow } from '../files/place.js';
import { planSplits } from '../split-plan.js';
import type { JobReadable, RowRange } from '../types.js';

/** What a job reads. */

/** Rows of a table, or of what looks like one, made into items. */
export interface JobSource<T> {
  /** Part of the job's signature. */
  readonly signature: string;
  readonly table: string | JobReadable;
  /** Empty: the whole table. Of what is no table each range is one split. */
  readonly ranges: readonly RowRange[];
  scan(): Scan;
  /** Null: the row is none of the source's. */
  load(row: Result): T | null | Promise<T | null>;
  /**
   * The same of a row that is filled again for the next one: where it is there it may be called instead, and `scan` asks for neither
   * delete markers nor parts of rows.
   */
  loadRaw?(row: RawRow): T | null | Promise<T | null>;
}

/** A query whose entities a job can read: `repository.find(...)`. */
export interface JobQuery<T> {
  toSource(): Promise<JobSource<T>>;
}

/** The rows of a table as they are. `scan` says what is read of them: families, columns, versions, times, a filter. */
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

/** Bytes of a split of a snapshot. */
const SNAPSHOT_SPLIT_BYTES = 256 << 20;

/**
 * A source of tables or entities, read from another engine than the job's: from a checkpoint that was opened, so that all that is read is of
 * one moment, while the job writes to the store that the checkpoint is of. It has to be open, and the same, when the job is gone on with.
 * `splitBytes`: a region larger than this is cut into several splits; default 256 MiB.
 * @throws InvalidArgumentError, in the job, for a source that reads no table.
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
          'A snapshot has tables: give tableSource(...), or a query of a repository.',
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

/** Files as sources: what {@link ndjsonFiles}, `csvFiles` and `avroFiles` write, and such files of other programs. */

/** The formats of files that jobs read and write, by the ends of their names. */
export type FileFormatName = 'ndjson' | 'csv' | 'avro' | 'parquet';

export interface CsvSourceOptions {
  /** The names of the columns. Default: the first record of each file has them. */
  readonly columns?: readonly string[];
  /** One character between fields. Default `,`. */
  readonly separator?: string;
}

export interface ParquetSourceOptions {
  /** Milliseconds that decoding 50,000 rows or 64 MiB may take; then the file counts as damaged. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** What decoding a piece of Parquet may take, ms. */
const DECODING_MS = 60_000;

/** An item of a file, where it begins and how it can be read. */
export interface FileItem {
  readonly path: string;
  /** The byte at which its line, or the block that it stands in, begins; of Parquet the number of the row, from 0. */
  readonly offset: number;
  /** The same for people: "byte 14", "row 3". */
  readonly place: string;
  /** @throws InvalidArgumentError, SyntaxError when it is none. */
  read(): unknown;
}

/**
 * The lines of JSON of files, or of the folder that `ndjsonFiles` wrote.
 * A line that is no JSON ends the job with its file and byte.
 */
export function ndjsonSource(paths: readonly string[]): JobQuery<unknown> {
  return reading(() => fileItems('ndjson', paths));
}

/**
 * The records of files of CSV (RFC 4180), or of the folder that `csvFiles` wrote, as objects of texts by the names of the columns;
 * fields that a record does not have are left out. A record that is none ends the job with its file and byte.
 */
export function csvSource(
  paths: readonly string[],
  options: CsvSourceOptions = {},
): JobQuery<Record<string, string>> {
  return reading(() => fileItems('csv', paths, options));
}

/**
 * The values of Avro container files, or of the folder that `avroFiles` wrote, as each file's own schema says.
 */
export function avroSource<T = unknown>(paths: readonly string[]): JobQuery<T> {
  return reading(() => fileItems('avro', paths));
}

/**
 * The rows of Parquet files (packed by Snappy, gzip or Brotli, with Zstandard where Node has it), or of the folder that `parquetFiles`
 * wrote, as objects by the names of the columns: whole numbers of 64 bits are bigints, timestamps Dates, JSON its values. The package
 * hyparquet has to be installed. Files are decoded in a thread of their own, which is ended when a damaged page keeps it busy.
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
      `What begins at ${place} of ${path} cannot be read: ${(cause as Error).message}`,
      {
        cause,
        details: { file: path, offset },
      },
    );
  }
}

/** The items of files, not yet read; null for what is none: empty lines, the names of columns. @throws InvalidArgumentError, CorruptionError for those that cannot be read. */
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
      // No more than timers take.
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
    return text.trim() === '' ? null : () => fromTagged(JSON.parse(text) as JsonValue);
  });
}

async function csvItems(paths: readonly string[], options: CsvSourceOptions): Promise<JobSource<FileItem>> {
  const separator = checkSeparator(options.separator ?? ',');
  const lines = await LineFiles.open(paths, { quoted: true });
  const columnsOf: (readonly string[])[] = [];
  for (const range of lines.ranges)
    columnsOf.push(options.columns ?? (await namesOf(lines, range, separator)));
  const format = `csv ${JSON.stringify([separator, options.columns])}`;
  return itemsOf(format, paths, lines, (row) => {
    const { file, offset } = placeOfRow(row.row);
    const text = offset === 0 ? withoutMark(textOf(row)) : textOf(row);
    if (text === '' || (offset === 0 && options.columns === undefined)) return null;
    return () => recordOf(columnsOf[file]!, csvFields(text, separator));
  });
}

async function namesOf(lines: LineFiles, { start, stop }: RowRange, separator: string): Promise<string[]> {
  const scanner = lines.scan(new Scan().withStartRow(start).withStopRow(stop));
  try {
    const first = await scanner.next();
    return first === undefined ? [] : csvFields(withoutMark(textOf(first)), separator);
  } finally {
    await scanner.close();
  }
}

function recordOf(columns: readonly string[], fields: readonly string[]): Record<string, string> {
  if (fields.length > columns.length) {
    throw new InvalidArgumentError(`It has ${fields.length} fields for ${columns.length} columns.`);
  }
  return Object.fromEntries(fields.map((field, at) => [columns[at]!, field]));
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
      const { file, offset } = placeOfRow(row.row);
      return {
        path: paths[file]!,
        offset,
        place: `${format === 'parquet' ? 'row' : 'byte'} ${offset}`,
        read,
      };
    },
  };
}

function textOf({ cells }: Result): string {
  const { value } = cells[0]!;
  return Buffer.from(value.buffer, value.byteOffset, value.length).toString();
}

/** Without the byte order mark that some programs begin files with. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}
