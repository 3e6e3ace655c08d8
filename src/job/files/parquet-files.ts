/** The rows of Parquet files as rows of a table, so that a job reads them as any other. */

import { CorruptionError, UnsupportedError } from '../../errors.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import { FileScanner } from './file-scanner.js';
import { loadReader, naming, type OpenParquet, openParquet, unpackers } from './parquet.js';
import { placeOfRow, rangesOfFiles, rowOfPlace } from './place.js';

/** Rows that are read at once. */
const ROWS_AT_ONCE = 50_000;

/** A row that is one of a file: its number stands where others have a byte. */
export class ParquetRow extends Result {
  constructor(
    row: Uint8Array,
    readonly item: Readonly<Record<string, unknown>>,
  ) {
    super(row, []);
  }
}

/** Each file is one split. */
export class ParquetFiles implements JobReadable {
  readonly name = 'rows of Parquet files';
  readonly ranges: readonly RowRange[];

  private constructor(private readonly paths: readonly string[]) {
    this.ranges = rangesOfFiles(paths.length);
  }

  /** @throws CorruptionError naming a file that is none; UnsupportedError for one that cannot be unpacked, and without the package. */
  static async open(paths: readonly string[]): Promise<ParquetFiles> {
    const known = new Set(['UNCOMPRESSED', ...Object.keys(unpackers(await loadReader()))]);
    for (const path of paths) {
      const { handle, metadata } = await openParquet(path);
      await handle.close();
      const codecs = metadata.row_groups.flatMap(({ columns }) =>
        columns.map((column) => column.meta_data?.codec),
      );
      const other = codecs.find((codec) => codec !== undefined && !known.has(codec));
      if (other !== undefined) {
        throw new UnsupportedError(
          `${path} is packed by ${other}, and here are: ${[...known].join(', ')}. Write it with one of those.`,
          { details: { file: path, codec: other } },
        );
      }
    }
    return new ParquetFiles(paths);
  }

  scan(scan: Scan): ResultScanner {
    const { file, offset } = placeOfRow(scan.startRow);
    return new ParquetScanner(this.paths[file]!, file, offset + (scan.includeStartRow ? 0 : 1));
  }
}

class ParquetScanner extends FileScanner {
  private file: OpenParquet | undefined;
  private rows: readonly Readonly<Record<string, unknown>>[] = [];
  /** The number of the first of them. */
  private first: number;
  private at = 0;

  constructor(
    path: string,
    private readonly number: number,
    first: number,
  ) {
    super(path);
    this.first = first;
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.at >= this.rows.length) await this.readMore();
    const item = this.rows[this.at];
    if (item === undefined) return this.finish();
    const place = { file: this.number, offset: this.first + this.at++ };
    return new ParquetRow(rowOfPlace(place), item);
  }

  private async readMore(): Promise<void> {
    this.file ??= await openParquet(this.path);
    const { buffer, metadata } = this.file;
    this.first += this.rows.length;
    this.at = 0;
    // Within one group of rows: of each column no more is unpacked than stands in it.
    let end = 0;
    for (const { num_rows } of metadata.row_groups) {
      end += Number(num_rows);
      if (end > this.first) break;
    }
    const rowEnd = Math.min(end, this.first + ROWS_AT_ONCE);
    if (rowEnd <= this.first) {
      this.rows = [];
      return;
    }
    const package_ = await loadReader();
    this.rows = await naming(this.path, async () => {
      const rows = await package_.parquetReadObjects({
        file: buffer,
        metadata,
        rowStart: this.first,
        rowEnd,
        utf8: false,
        compressors: unpackers(package_),
      });
      if (rows.length !== rowEnd - this.first || rows.some((row) => Object.values(row).some(isNone)))
        throw new CorruptionError('it has fewer rows than it is said to have, or times that are none');
      return rows;
    });
  }

  override async close(): Promise<void> {
    await super.close();
    const { file } = this;
    this.file = undefined;
    await file?.handle.close();
  }
}

/** Absent values are null: undefined is what stands in rows that are said to be there, and are not. */
function isNone(value: unknown): boolean {
  return value === undefined || (value instanceof Date && Number.isNaN(value.getTime()));
}
