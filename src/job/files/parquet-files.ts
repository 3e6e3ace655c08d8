/** Presents the rows of Parquet files as rows of a table, so that a job reads them like any other source. */

import { UnsupportedError } from '../../errors.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import { loadReader, openParquet, unpackers } from './parquet.js';
import { parquetDecoder } from './parquet-decoder.js';
import type { ParquetDecoder, ParquetItem } from './parquet-rows.js';
import { FileScanner, placeOfRow, rangesOfFiles, rowOfPlace } from './place.js';

/** A row of a Parquet file, with its number in place of a byte offset. */
export class ParquetRow extends Result {
  constructor(
    row: Uint8Array,
    readonly item: ParquetItem,
  ) {
    super(row, []);
  }
}

/** Parquet files as a source; each file is one split. */
export class ParquetFiles implements JobReadable {
  readonly name = 'rows of Parquet files';
  readonly ranges: readonly RowRange[];

  private constructor(
    private readonly paths: readonly string[],
    private readonly timeoutMs: number,
  ) {
    this.ranges = rangesOfFiles(paths.length);
  }

  /**
   * Opens the files.
   * @throws CorruptionError naming an invalid file; UnsupportedError for an unsupported compression, or if the package
   * is missing.
   */
  static async open(paths: readonly string[], timeoutMs: number): Promise<ParquetFiles> {
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
          `${path} is compressed with ${other}, which is not supported here. Supported: ${[...known].join(', ')}. Write the file with one of these.`,
          { details: { file: path, codec: other } },
        );
      }
    }
    return new ParquetFiles(paths, timeoutMs);
  }

  scan(scan: Scan): ResultScanner {
    const { file, offset } = placeOfRow(scan.startRow);
    return new ParquetScanner(
      this.paths[file]!,
      file,
      offset + (scan.includeStartRow ? 0 : 1),
      this.timeoutMs,
    );
  }
}

class ParquetScanner extends FileScanner {
  private readonly decoder: ParquetDecoder;
  private rows: readonly ParquetItem[] = [];
  /** The number of the first of them. */
  private first: number;
  private at = 0;

  constructor(
    path: string,
    private readonly number: number,
    first: number,
    timeoutMs: number,
  ) {
    super(path);
    this.decoder = parquetDecoder(path, timeoutMs);
    this.first = first;
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.at >= this.rows.length) {
      this.first += this.rows.length;
      this.at = 0;
      this.rows = await this.decoder.rows(this.first);
    }
    const item = this.rows[this.at];
    if (item === undefined) return this.finish();
    const place = { file: this.number, offset: this.first + this.at++ };
    return new ParquetRow(rowOfPlace(place), item);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.decoder.close();
  }
}
