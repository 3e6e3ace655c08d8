import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { blockOf, ChunkReader, WAL_KIND } from '../logfile/index.js';
import type { WalSegmentEntry } from '../manifest/index.js';
import { WalRecord, walRecordOf } from '../wal/index.js';
import type { Moment } from './lines.js';

/** The log of an open store, read as it grows: each record once, and no byte that its opener does not vouch for. */
export class LogTail {
  private readonly record = new WalRecord();

  constructor(
    private readonly files: FileSystem,
    private readonly directory: string,
    /** The segment that was read last, and up to where. */
    private segment = 0,
    private offset = 0,
  ) {}

  /**
   * Gives each record up to `end` that was not given before to `take`. Segments that are gone had only writes that are in files.
   * @throws CorruptionError naming file and offset; RowanError `ERR_IO` when a segment has been removed meanwhile. Then some
   *   records were given, and the log must be read from the beginning.
   */
  read(segments: Iterable<WalSegmentEntry>, end: Moment['log'], take: (record: WalRecord) => void): void {
    for (const { number } of segments) {
      if (number < this.segment) continue;
      if (number > end.segment) return;
      const from = number === this.segment ? this.offset : 0;
      this.segment = number;
      this.offset = this.readSegment(number, from, number === end.segment ? end.length : undefined, take);
    }
  }

  /** Up to where it was read. */
  private readSegment(
    number: number,
    from: number,
    length: number | undefined,
    take: (record: WalRecord) => void,
  ): number {
    if (length !== undefined && length <= from) return from;
    const path = joinPath(this.directory, walFileName(number));
    const bytes = this.bytesOf(path, blockOf(from), length);
    const reader =
      from === 0
        ? new ChunkReader(bytes, WAL_KIND, number, path)
        : ChunkReader.resumed(bytes, from, WAL_KIND, number, path);
    while (reader.next()) {
      walRecordOf(reader, number, this.record);
      take(this.record);
    }
    const { broken } = reader;
    if (broken !== undefined) throw reader.corruption(broken.reason, broken.offset);
    return reader.goodOffset;
  }

  private bytesOf(path: string, from: number, end: number | undefined): Uint8Array {
    const file = this.files.openRead(path);
    try {
      const length = Math.max(0, Math.min(end ?? file.size, file.size) - from);
      const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
      const count = file.read(bytes, 0, length, from);
      return count === length ? bytes : bytes.subarray(0, count);
    } finally {
      file.close();
    }
  }
}
