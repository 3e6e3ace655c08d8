import type { LogCipher } from '../encryption/keys.js';
import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { blockOf, ChunkReader, WAL_KIND } from '../logfile/index.js';
import type { WalSegmentEntry } from '../manifest/index.js';
import { WalRecord, walRecordOf } from '../wal/index.js';
import type { StorePosition } from './reader-protocol.js';

/** Reads the log of a store that another process writes. Reads every record once, and never beyond the length that process reported. */
export class LogTail {
  private readonly record = new WalRecord();
  /** The segment that was read last, and the byte up to which it was read. */
  private segment = 0;
  private offset = 0;
  /** Of the segment that was read last, if it is encrypted. */
  private cipher: LogCipher | undefined;
  /** Bytes until it yields. */
  private left = 0;

  constructor(
    private readonly files: FileSystem,
    private readonly directory: string,
  ) {}

  /**
   * Calls `apply` for each record up to `end` that was not read before, and yields after `bytes` of them each time: the rest is read when
   * the caller goes on. Removed segments held only writes that are in files.
   * @throws CorruptionError naming file and offset; RowanError `ERR_IO` when a segment was removed meanwhile. Some records may have
   *   been applied by then, so the log must be read again from the beginning.
   */
  *read(
    segments: Iterable<WalSegmentEntry>,
    end: StorePosition['log'],
    bytes: number,
    apply: (record: WalRecord) => void,
  ): Generator<undefined, void> {
    this.left = bytes;
    for (const { number } of segments) {
      if (number < this.segment) continue;
      if (number > end.segment) return;
      const from = number === this.segment ? this.offset : 0;
      this.segment = number;
      const length = number === end.segment ? end.length : undefined;
      this.offset = yield* this.readSegment(number, from, length, bytes, apply);
    }
  }

  /** Reads one segment, and returns the byte up to which it was read. */
  private *readSegment(
    number: number,
    from: number,
    length: number | undefined,
    turn: number,
    apply: (record: WalRecord) => void,
  ): Generator<undefined, number> {
    if (length !== undefined && length <= from) return from;
    const path = joinPath(this.directory, walFileName(number));
    const bytes = this.bytesOf(path, blockOf(from), length);
    const reader =
      from === 0
        ? new ChunkReader(bytes, WAL_KIND, number, path, this.files.encryption)
        : ChunkReader.resumed(bytes, from, WAL_KIND, number, path, this.cipher);
    this.cipher = reader.cipher;
    while (reader.next()) {
      walRecordOf(reader, number, this.record);
      apply(this.record);
      this.left -= this.record.length;
      if (this.left > 0) continue;
      yield;
      this.left = turn;
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
