/** Writes and opens sorted files in memory. */

import { BlockCache, FileHandleCache } from '../../../src/store/cache.js';
import { SeekKey } from '../../../src/store/cursor.js';
import type { WrittenFile } from '../../../src/store/file/footer.js';
import type {
  FileContext,
  SortedFileReaderOptions,
  SortedFileWriterOptions,
} from '../../../src/store/file/options.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import { SortedFileWriter } from '../../../src/store/file/sorted-file-writer.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { ArrayCursor, compareCells, type TestCell } from './cells.js';

export const PATH = '/000007.sst';
export const FILE_NO = 7;

export function context(
  fs = new MemoryFileSystem(),
  cacheBytes = 1 << 24,
): FileContext & { fs: MemoryFileSystem } {
  return { fs, files: new FileHandleCache(fs, 16), cache: new BlockCache(cacheBytes) };
}

export function write(
  fs: MemoryFileSystem,
  cells: readonly TestCell[],
  options: Partial<SortedFileWriterOptions> = {},
  path = PATH,
): WrittenFile {
  const writer = new SortedFileWriter(fs.create(path), {
    fileNo: FILE_NO,
    compression: 'NONE',
    dataBlockEncoding: 'NONE',
    bloomFilter: 'ROW',
    blockSize: 1024,
    ...options,
  });
  const cursor = new ArrayCursor(cells);
  for (cursor.seekToFirst(); cursor.valid; cursor.next()) writer.append(cursor);
  return writer.finish();
}

/** Writes a file of these cells and opens it. */
export function reader(
  cells: readonly TestCell[],
  options: Partial<SortedFileWriterOptions> = {},
  readerOptions: SortedFileReaderOptions = {},
  cacheBytes?: number,
): SortedFileReader {
  const files = context(undefined, cacheBytes);
  write(files.fs, cells, options);
  return SortedFileReader.open(files, PATH, FILE_NO, readerOptions);
}

export function seekKey(row: Uint8Array, qualifier: Uint8Array, timestamp: number, type: number): SeekKey {
  const key = new SeekKey();
  key.row = row;
  key.rowLength = row.length;
  key.qualifier = qualifier;
  key.qualifierLength = qualifier.length;
  key.timestamp = timestamp;
  key.type = type;
  return key;
}

/** The place of the first cell at or after the target in cells that are in order. */
export function expectedSeek(cells: readonly TestCell[], target: SeekKey): number {
  const key: TestCell = {
    row: target.row,
    qualifier: target.qualifier,
    timestamp: target.timestamp,
    type: target.type,
    seq: Number.POSITIVE_INFINITY,
    ttl: 0,
    value: new Uint8Array(0),
  };
  let [from, to] = [0, cells.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compareCells(cells[middle]!, key) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
