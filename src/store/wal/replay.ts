import { crc32 } from '../../bytes/index.js';
import { type FileSystem, joinPath, walFileName, walTemporaryName } from '../fs/index.js';
import {
  ChunkReader,
  discardLog,
  FILE_HEADER_END,
  judgeBreak,
  logCorruption,
  readLog,
  readUint32,
  readUint48,
  WAL_KIND,
} from '../logfile/index.js';
import { type ClosedSegment, RECORD_HEADER_SIZE } from './wal-options.js';

/** A segment as the MANIFEST names it. The one that was written to last has no length and crc yet. */
export interface SegmentToRead {
  readonly number: number;
  readonly closed?: { readonly length: number; readonly crc: number } | undefined;
}

/** A record of the log. One object for all; its bytes are those of the call only. */
export class WalRecord {
  segment = 0;
  /** Where it begins in the file of its segment. */
  fileOffset = 0;
  firstSeq = 0;
  count = 0;
  payload: Uint8Array = new Uint8Array(0);
  offset = 0;
  length = 0;
}

/** A torn end that was found: bytes that were never synced, of writes that were never acknowledged as durable. */
export interface TornTail {
  readonly file: string;
  readonly offset: number;
  /** How many bytes are dropped. */
  readonly bytes: number;
}

export interface ReplayResult {
  readonly records: number;
  readonly bytes: number;
  readonly torn: TornTail | undefined;
  /** What the MANIFEST is to record of the segments that were open, once they are repaired. */
  readonly closed: readonly ClosedSegment[];
  /** What those segments are to be on the disk ({@link repairSegment}). */
  readonly repairs: readonly SegmentRepair[];
}

/** The good part of a segment that was open, as it was read. */
export interface SegmentRepair {
  readonly number: number;
  readonly bytes: Uint8Array;
}

export interface ReplayOptions {
  /** Makes the segment on the disk as `closed` says ({@link repairSegment}). Default true. */
  readonly repair?: boolean;
}

/**
 * Gives every record of the segments, in order, to `onRecord`. A segment of which the MANIFEST does not say yet that it is
 * closed has an END if the log has gone on in the next; else it may have a torn end, and nothing was written to any
 * after it. Nothing on the disk is changed before all records were read and taken.
 *
 * @throws CorruptionError naming file and offset when a segment is missing, or its bytes are not those that were
 *   written; a record before the damage may have been given out by then.
 */
export function replayWal(
  files: FileSystem,
  directory: string,
  segments: readonly SegmentToRead[],
  onRecord: (record: WalRecord) => void,
  options: ReplayOptions = {},
): ReplayResult {
  const record = new WalRecord();
  let records = 0;
  let size = 0;
  let torn: TornTail | undefined;
  /** The first segment that was never ended, and where. */
  let last: { readonly path: string; readonly end: number } | undefined;
  const closed: ClosedSegment[] = [];
  const repairs: SegmentRepair[] = [];
  for (const segment of segments) {
    const path = joinPath(directory, walFileName(segment.number));
    const bytes = readLog(files, path);
    const read = new SegmentReader(bytes, segment, path, record);
    while (read.next()) {
      if (last !== undefined) throw neverEnded(last, path);
      records++;
      onRecord(record);
    }
    if (last !== undefined && (read.ended || read.torn !== undefined)) throw neverEnded(last, path);
    size += read.goodEnd;
    if (segment.closed !== undefined) continue;
    torn ??= read.torn;
    closed.push(read.summary());
    repairs.push({ number: segment.number, bytes: bytes.subarray(0, read.goodEnd) });
    if (!read.ended) last ??= { path, end: read.goodEnd };
  }
  if (options.repair !== false) for (const each of repairs) repairSegment(files, directory, each);
  return { records, bytes: size, torn, closed, repairs };
}

/** The log went on, and so the disk had all of the segment that it came from. */
function neverEnded({ path, end }: { readonly path: string; readonly end: number }, next: string): Error {
  return logCorruption(WAL_KIND, path, `its end is missing, for "${next}" has what came after it`, end);
}

/**
 * Makes the good part of an open segment true of the disk. After a sync that failed, the system's cache may
 * hold bytes that the disk never got, and call them written: so they are written once more, to a file of their own,
 * which takes the place of the old one when it is safe.
 */
export function repairSegment(files: FileSystem, directory: string, { number, bytes }: SegmentRepair): void {
  const path = joinPath(directory, walFileName(number));
  const temporary = joinPath(directory, walTemporaryName(number));
  if (files.exists(temporary)) files.unlink(temporary);
  const file = files.create(temporary);
  try {
    file.write(bytes, 0, bytes.length);
    file.sync();
  } catch (error) {
    discardLog(files, file);
    throw error;
  }
  file.close();
  files.rename(temporary, path);
  files.syncDirectory(directory);
}

/** The record that `reader` stands at, taken apart into `record`. @throws CorruptionError when it is none. */
export function walRecordOf(reader: ChunkReader, segment: number, record: WalRecord): void {
  if (reader.length < RECORD_HEADER_SIZE)
    throw reader.corruption('a record is shorter than its header', reader.recordStart);
  record.segment = segment;
  record.fileOffset = reader.recordStart;
  record.firstSeq = readUint48(reader.payload, reader.offset);
  record.count = readUint32(reader.payload, reader.offset + 6);
  record.payload = reader.payload;
  record.offset = reader.offset + RECORD_HEADER_SIZE;
  record.length = reader.length - RECORD_HEADER_SIZE;
  if (record.count === 0) throw reader.corruption('a record says that it holds no write', reader.recordStart);
}

/** The length of a file without the zeros at its end. */
function usedLength(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

class SegmentReader {
  private readonly bytes: Uint8Array;
  private readonly segment: SegmentToRead;
  private readonly path: string;
  private readonly record: WalRecord;
  private readonly reader: ChunkReader;
  private firstSeq = 0;
  private lastSeq = -1;
  torn: TornTail | undefined;

  constructor(bytes: Uint8Array, segment: SegmentToRead, path: string, record: WalRecord) {
    this.bytes = bytes;
    this.segment = segment;
    this.path = path;
    this.record = record;
    const { closed } = segment;
    if (closed !== undefined && closed.length !== bytes.length) {
      const at = Math.min(closed.length, bytes.length);
      throw logCorruption(WAL_KIND, path, `it has ${bytes.length} bytes and was ${closed.length} long`, at);
    }
    this.reader = new ChunkReader(bytes, WAL_KIND, segment.number, path);
  }

  /** Where the last record or mark ends; of a closed segment, the end of the file. */
  get goodEnd(): number {
    return this.reader.goodEnd;
  }

  /** The log goes on in the next segment. */
  get ended(): boolean {
    return this.reader.ended;
  }

  next(): boolean {
    const { reader, record } = this;
    if (!reader.next()) {
      this.finish();
      return false;
    }
    walRecordOf(reader, this.segment.number, record);
    if (this.lastSeq < 0 || record.firstSeq < this.firstSeq) this.firstSeq = record.firstSeq;
    this.lastSeq = Math.max(this.lastSeq, record.firstSeq + record.count - 1);
    return true;
  }

  summary(): ClosedSegment {
    const length = this.goodEnd;
    return {
      number: this.segment.number,
      length,
      crc: crc32(this.bytes, 0, length),
      firstSeq: this.firstSeq,
      lastSeq: this.lastSeq,
    };
  }

  private finish(): void {
    const { reader, segment, bytes } = this;
    const { broken } = reader;
    if (segment.closed !== undefined) {
      if (broken !== undefined)
        throw reader.corruption(`${broken.reason} in a segment that was closed`, broken.offset);
      if (crc32(bytes, 0, bytes.length) !== segment.closed.crc)
        throw reader.corruption('its crc is not the one recorded when it was closed', 0);
      return;
    }
    if (broken === undefined) return;
    const verdict = judgeBreak(bytes, broken, WAL_KIND, segment.number, FILE_HEADER_END);
    if (!verdict.torn) throw reader.corruption(`${broken.reason}; ${verdict.why}`, broken.offset);
    const { goodEnd } = reader;
    const end = broken.reason.startsWith('cut') ? bytes.length : usedLength(bytes);
    this.torn = { file: this.path, offset: goodEnd, bytes: end - goodEnd };
  }
}
