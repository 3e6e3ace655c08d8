/** Rows of a Parquet file, decoded in pieces of bounded size. */

import type { FileMetaData } from 'hyparquet';
import { CorruptionError } from '../../errors.js';
import { loadReader, naming, type OpenParquet, openParquet, unpackers } from './parquet.js';

export type ParquetItem = Readonly<Record<string, unknown>>;

/** The largest number of rows, and of uncompressed bytes by the footer, that are decoded at a time. */
const ROWS_AT_ONCE = 50_000;
const BYTES_AT_ONCE = 64 << 20;

/** Decodes the rows of one file. */
export interface ParquetDecoder {
  /** The rows from number `first` on; empty after the last. @throws CorruptionError naming the file. */
  rows(first: number): Promise<readonly ParquetItem[]>;
  close(): Promise<void>;
}

/** Decodes in the calling thread. */
export class ParquetRows implements ParquetDecoder {
  private file: OpenParquet | undefined;

  constructor(private readonly path: string) {}

  async rows(first: number): Promise<readonly ParquetItem[]> {
    this.file ??= await openParquet(this.path);
    const { buffer, metadata } = this.file;
    const rowEnd = endOf(metadata, first);
    if (rowEnd <= first) return [];
    const package_ = await loadReader();
    return naming(this.path, async () => {
      const rows = await package_.parquetReadObjects({
        file: buffer,
        metadata,
        rowStart: first,
        rowEnd,
        utf8: false,
        compressors: unpackers(package_),
        parsers: { stringFromBytes: textOfBytes },
      });
      if (rows.length !== rowEnd - first || rows.some((row) => Object.values(row).some(isNone)))
        throw new CorruptionError('it has fewer rows than its footer says, or invalid times');
      return rows;
    });
  }

  async close(): Promise<void> {
    const { file } = this;
    this.file = undefined;
    await file?.handle.close();
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A text as it stands. The package's own parser drops a byte order mark. */
function textOfBytes(bytes: Uint8Array | undefined): string | undefined {
  return bytes && decoder.decode(bytes);
}

/** Stays within one row group, so that no more of each column is decompressed than the group has. */
function endOf({ row_groups }: FileMetaData, first: number): number {
  let end = 0;
  for (const { num_rows, total_byte_size } of row_groups) {
    end += Number(num_rows);
    if (end <= first) continue;
    const bytes = Math.max(1, Number(total_byte_size) / Math.max(1, Number(num_rows)));
    const count = Math.min(ROWS_AT_ONCE, Math.max(1, Math.floor(BYTES_AT_ONCE / bytes)));
    return Math.min(end, first + count);
  }
  return end;
}

/** Absent values are null; undefined marks rows that the footer promises but the file lacks. */
function isNone(value: unknown): boolean {
  return value === undefined || (value instanceof Date && Number.isNaN(value.getTime()));
}
