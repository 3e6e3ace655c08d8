import { compareBytes } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import type { FileEntry } from '../manifest/index.js';
import type { ReadHint } from '../scan/store-read.js';
import type { FileMeta } from './footer.js';
import type { SortedFileCursor } from './sorted-file-cursor.js';
import type { SortedFileReader } from './sorted-file-reader.js';

/** An open sorted file, shared by the store versions and, after a split, the regions that use it. */
export class StoreFile {
  private references = 0;
  private reused: SortedFileCursor | undefined;

  constructor(
    readonly fileNo: number,
    readonly path: string,
    /** The sequence number of all cells of a bulk-loaded file. */
    readonly seq: number | undefined,
    readonly reader: SortedFileReader,
    /** Bytes on the disk. */
    readonly size: number,
    /** Called when the file is no longer retained. */
    private readonly onReleased: (file: StoreFile) => void,
  ) {}

  get meta(): FileMeta {
    return this.reader.meta;
  }

  /** Its entry in the MANIFEST. */
  entry(): FileEntry {
    return fileEntry(this.meta, this.size, this.reader.footerCrc, this.seq);
  }

  retain(): void {
    this.references++;
  }

  release(): void {
    if (--this.references === 0) this.onReleased(this);
  }

  /** Whether the file has rows outside [startKey, endKey), because it is shared with another region since a split. */
  isReference(startKey: Uint8Array, endKey: Uint8Array): boolean {
    const { firstRow, lastRow } = this.meta;
    return compareBytes(firstRow, startKey) < 0 || (endKey.length > 0 && compareBytes(lastRow, endKey) >= 0);
  }

  /** Whether it may have rows from `first` to `last`, both included. */
  spans(first: Uint8Array, last: Uint8Array): boolean {
    const { firstRow, lastRow } = this.meta;
    return compareBytes(firstRow, last) <= 0 && compareBytes(first, lastRow) <= 0;
  }

  /** Whether every cell has expired, so that the file can be dropped unread (R26). */
  isExpired(oldestUnexpired: number): boolean {
    return this.meta.maxTimestamp < oldestUnexpired;
  }

  /** A shared cursor for point reads, each of which ends before the next begins. */
  get pointCursor(): SortedFileCursor {
    this.reused ??= this.reader.cursor({});
    return this.reused;
  }

  /**
   * A cursor, or undefined when nothing in the file can matter for the read (R56-R58).
   * @param ofAll the share of this file in the rows that are read
   */
  openCursor(hint: ReadHint, ofAll = 1): CellCursor | undefined {
    const meta = this.meta;
    const isOutside = meta.maxTimestamp < hint.minTimestamp || meta.minTimestamp >= hint.maxTimestamp;
    if (isOutside && (this.seq ?? meta.maxSeq) <= (hint.writtenAfter ?? Number.MAX_SAFE_INTEGER))
      return undefined;
    if (hint.row !== null) {
      if (compareBytes(hint.row, meta.firstRow) < 0 || compareBytes(hint.row, meta.lastRow) > 0)
        return undefined;
    } else {
      if (hint.stopRow !== null && compareBytes(meta.firstRow, hint.stopRow) > 0) return undefined;
      if (hint.startRow !== null && compareBytes(meta.lastRow, hint.startRow) < 0) return undefined;
    }
    const rows = hint.rows === undefined ? undefined : hint.rows * ofAll;
    return this.reader.cursor({ cacheBlocks: hint.cacheBlocks, rows });
  }
}

/** Sorts oldest first, the order of a family's files. */
export function byAge(a: FileEntry, b: FileEntry): number {
  return (a.bulkSeq ?? a.maxSeq) - (b.bulkSeq ?? b.maxSeq) || a.number - b.number;
}

/** The MANIFEST's entry of a file. */
export function fileEntry(
  meta: FileMeta,
  size: number,
  footerCrc: number,
  bulkSeq: number | undefined,
): FileEntry {
  return {
    number: meta.fileNo,
    size,
    footerCrc,
    bulkSeq,
    cells: meta.cells,
    deletes: meta.deletes,
    firstKey: meta.firstRow,
    lastKey: meta.lastRow,
    minTimestamp: meta.minTimestamp,
    maxTimestamp: meta.maxTimestamp,
    minSeq: bulkSeq ?? meta.minSeq,
    maxSeq: bulkSeq ?? meta.maxSeq,
  };
}
