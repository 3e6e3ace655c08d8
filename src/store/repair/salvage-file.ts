/** Copies the intact blocks of a damaged sorted file to a new file. */

import { compareBytes, toStringBinary } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { BlockCache, FileHandleCache } from '../cache.js';
import { ON_DAMAGE } from '../encoding/data-block.js';
import type { SortedFileCursor } from '../file/sorted-file-cursor.js';
import { SortedFileReader } from '../file/sorted-file-reader.js';
import { SortedFileWriter } from '../file/sorted-file-writer.js';
import { fileEntry } from '../file/store-file.js';
import { type FileSystem, joinPath, sortedFileName } from '../fs/index.js';
import type { FileEntry } from '../manifest/index.js';

interface SalvagedFile {
  /** The new file, on the disk. */
  readonly file: FileEntry;
  /** The losses, as sentences about rows. */
  readonly lost: readonly string[];
}

/**
 * Copies the cells of every intact block of a sorted file to a new one with number `number`. After a lost block, the row in which it
 * ends is skipped: its first cells may be lost, among them markers that hide the others, so none of its cells is
 * kept.
 * @returns undefined when nothing can be saved: its footer, metadata or index are damaged, or all of its blocks.
 * @throws RowanError `ERR_IO`.
 */
export function salvageSortedFile(
  files: FileSystem,
  directory: string,
  damaged: FileEntry,
  number: number,
): SalvagedFile | undefined {
  const handles = new FileHandleCache(files, 1);
  const path = joinPath(directory, sortedFileName(number));
  let writer: SortedFileWriter | undefined;
  try {
    const reader = SortedFileReader.open(
      { files: handles, cache: new BlockCache(0) },
      joinPath(directory, sortedFileName(damaged.number)),
      damaged.number,
      damaged.bulkSeq === undefined ? {} : { seq: damaged.bulkSeq },
    );
    const { meta } = reader;
    writer = new SortedFileWriter(files.create(path), {
      fileNo: number,
      compression: meta.compression,
      dataBlockEncoding: meta.encoding,
      bloomFilter: meta.bloomFilter,
      blockSize: meta.blockSize,
    });
    const lost = new Copy(reader.cursor({ cacheBlocks: false }), writer).run();
    reader.close();
    if (writer.cells > 0) {
      const { meta: facts, size, footerCrc } = writer.finish();
      files.syncDirectory(directory);
      return { file: fileEntry(facts, size, footerCrc, undefined), lost };
    }
  } catch (error) {
    if (!isDamage(error)) {
      writer?.abandon();
      throw error;
    }
  } finally {
    handles.closeAll();
  }
  if (writer !== undefined) {
    writer.abandon();
    files.unlink(path);
  }
  return undefined;
}

/** Whether an error comes from the damage, not from the disk during the repair. */
function isDamage(error: unknown): boolean {
  return error instanceof RowanError && error.code !== 'ERR_IO' && error.code !== 'ERR_ENCRYPTION';
}

class Copy {
  private readonly lost: string[] = [];
  /** The last row that was copied or skipped. */
  private row: Uint8Array | undefined;
  /** The run of unreadable blocks before the cursor; undefined when there is none. */
  private gap: { readonly after: Uint8Array | undefined; readonly why: string } | undefined;

  constructor(
    private readonly cursor: SortedFileCursor,
    private readonly writer: SortedFileWriter,
  ) {}

  run(): string[] {
    let more = this.move(() => this.cursor.seekToFirst());
    while (more) {
      if (this.gap !== undefined) more = this.skipRow();
      if (more && this.gap === undefined) more = this.copyCell();
    }
    if (this.gap !== undefined) this.recordLoss(undefined);
    return this.lost;
  }

  private copyCell(): boolean {
    try {
      this.writer.append(this.cursor);
    } catch (error) {
      // Its checksum is valid, but it is out of order.
      if (!isDamage(error)) throw error;
      this.note(error);
      return this.move(() => this.cursor.nextBlock());
    }
    this.row = this.currentRow();
    return this.move(() => this.cursor.next());
  }

  /** Skips the first row after a gap: moves to the first cell of the next row. */
  private skipRow(): boolean {
    const row = this.currentRow();
    let more = true;
    while (more && compareBytes(this.currentRow(), row) === 0) {
      const before = this.gap;
      more = this.move(() => this.cursor.next());
      // Another gap: start again after it.
      if (this.gap !== before) return more;
    }
    this.row = row;
    if (more) this.recordLoss(this.currentRow());
    return more;
  }

  /** Moves the cursor, skipping unreadable blocks. */
  private move(step: () => boolean): boolean {
    for (let next = step; ; next = () => this.cursor.nextBlock()) {
      try {
        return next();
      } catch (error) {
        if (!isDamage(error)) throw error;
        this.note(error);
      }
    }
  }

  private note(error: unknown): void {
    this.gap = {
      after: this.gap === undefined ? this.row : this.gap.after,
      why: (error as Error).message.replace(ON_DAMAGE, ''),
    };
  }

  private recordLoss(next: Uint8Array | undefined): void {
    const { after, why } = this.gap!;
    const from = after === undefined ? 'the first row' : `row ${toStringBinary(after)}`;
    const to = next === undefined ? 'the last' : `before row ${toStringBinary(next)}`;
    this.lost.push(`from ${from} to ${to}: ${why}`);
    this.gap = undefined;
  }

  private currentRow(): Uint8Array {
    const { key, rowOffset, rowLength } = this.cursor;
    return key.slice(rowOffset, rowOffset + rowLength);
  }
}
