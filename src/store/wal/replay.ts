import { crc32 } from '../../bytes/index.js';
import type { StoreKeys } from '../encryption/keys.js';
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
import { type ClosedSegment, RECORD_HEADER_SIZE } from './segments.js';

/** A segment as the MANIFEST names it. The active segment has no length and crc yet. */
export interface SegmentToRead {
  readonly number: number;
  readonly closed?: { readonly length: number; readonly crc: number } | undefined;
}

/** A record of the log. One object is reused for all records, and its bytes are valid only during the call. */
export class WalRecord {
  segment = 0;
  /** The offset in the segment's file at which it begins. */
  fileOffset = 0;
  firstSeq = 0;
  count = 0;
  payload: Uint8Array = new Uint8Array(0);
  offset = 0;
  length = 0;
}

/** A torn end: bytes that were never synced, of writes that were never acknowledged as durable. */
interface TornTail {
  readonly file: string;
  readonly offset: number;
  /** The number of bytes that are dropped. */
  readonly bytes: number;
}

export interface ReplayResult {
  readonly records: number;
  readonly bytes: number;
  readonly torn: TornTail | undefined;
  /** The ends of the segments that were open, for the MANIFEST to record once they are repaired. */
  readonly closed: readonly ClosedSegment[];
  /** The contents that those segments must have on the disk ({@link repairSegment}). */
  readonly repairs: readonly SegmentRepair[];
}

/** The valid prefix of a segment that was open. */
interface SegmentRepair {
  readonly number: number;
  readonly bytes: Uint8Array;
}

interface ReplayOptions {
  /** Rewrites open segments on the disk as `closed` describes them ({@link repairSegment}). Default true. */
  readonly repair?: boolean;
}

/**
 * Passes every record of the segments, in order, to `onRecord`. Of the segments that the MANIFEST does not record as closed, each
 * has an END if the log continued in the next; the last of them may have a torn end, and no segment after it may have records.
 * The disk is not changed before all records were read and applied.
 *
 * @throws CorruptionError naming file and offset when a segment is missing, or its bytes differ from those written. Records before
 *   the damage may have been passed on by then.
 */
export function replayWal(
  files: FileSystem,
  directory: string,
  segments: readonly SegmentToRead[],
  onRecord: (record: WalRecord) => void,
  options: ReplayOptions = {},
): ReplayResult {
  const log = new LogReplay(files, directory, segments, onRecord);
  log.advance(Number.POSITIVE_INFINITY);
  const { result } = log;
  if (options.repair !== false) for (const each of result.repairs) repairSegment(files, directory, each);
  return result;
}

/** A place between two records of a log. */
export interface LogPlace {
  /** Which of the segments that are read, by its index. */
  readonly segment: number;
  /** How many of its records are before the place. */
  readonly records: number;
}

/** {@link replayWal} in pieces, between which the caller may do other work. It changes nothing on the disk. */
export class LogReplay {
  private records = 0;
  private readonly record = new WalRecord();
  /** The segment that is read next, or is being read. */
  private next = 0;
  private open: SegmentReader | undefined;
  /** Records of the segments before that one. */
  private before = 0;
  /** The bytes of the last segment, whose memory the next one takes. */
  private memory: Uint8Array | undefined;
  private size = 0;
  private torn: TornTail | undefined;
  /** The first segment without an END, and its valid length. */
  private last: { readonly path: string; readonly end: number } | undefined;
  private readonly closed: ClosedSegment[] = [];
  private readonly repairs: SegmentRepair[] = [];

  constructor(
    private readonly files: FileSystem,
    private readonly directory: string,
    private readonly segments: readonly SegmentToRead[],
    private readonly onRecord: (record: WalRecord) => void,
  ) {}

  /** Passes on records until some more than `bytes` of the log were read. False at the end of the log. */
  advance(bytes: number): boolean {
    for (let left = bytes; left > 0; ) {
      this.open ??= this.openNext();
      const { open } = this;
      if (open === undefined) return false;
      const before = open.goodEnd;
      if (open.next()) {
        if (this.last !== undefined) throw neverEnded(this.last, open.path);
        this.records++;
        this.onRecord(this.record);
      } else {
        this.endOf(open);
        this.open = undefined;
      }
      left -= open.goodEnd - before;
    }
    return true;
  }

  /** After the record that was passed on last. */
  get place(): LogPlace {
    const segment = this.open === undefined ? this.next : this.next - 1;
    return { segment, records: this.records - this.before };
  }

  /** What was read. Of interest when {@link advance} has returned false. */
  get result(): ReplayResult {
    const { records, size, torn, closed, repairs } = this;
    return { records, bytes: size, torn, closed, repairs };
  }

  private openNext(): SegmentReader | undefined {
    const segment = this.segments[this.next++];
    if (segment === undefined) return undefined;
    const path = joinPath(this.directory, walFileName(segment.number));
    const bytes = readLog(this.files, path, this.memory);
    // The bytes of an open segment are kept for its repair.
    this.memory = segment.closed === undefined ? undefined : bytes;
    return new SegmentReader(bytes, segment, path, this.record, this.files.encryption);
  }

  private endOf(read: SegmentReader): void {
    const { path, segment, goodEnd } = read;
    if (this.last !== undefined && (read.ended || read.torn !== undefined)) throw neverEnded(this.last, path);
    this.size += goodEnd;
    this.before = this.records;
    if (segment.closed !== undefined) return;
    this.torn ??= read.torn;
    this.closed.push(read.summary());
    this.repairs.push({ number: segment.number, bytes: read.bytes.subarray(0, goodEnd) });
    if (!read.ended) this.last ??= { path, end: goodEnd };
  }
}

/** The log continues in the next segment, so all of this one, its END included, was on the disk. */
function neverEnded({ path, end }: { readonly path: string; readonly end: number }, next: string): Error {
  return logCorruption(WAL_KIND, path, `its end is missing, though the log continues in "${next}"`, end);
}

/**
 * Writes the valid prefix of an open segment to the disk again. After a failed sync the system's cache may hold bytes that the
 * disk never received, and consider them written. So the prefix is written to a new file, which replaces the old one
 * once it is synced.
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

/** Decodes the record at which `reader` stands into `record`. @throws CorruptionError when it is not a WAL record. */
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
  if (record.count === 0) throw reader.corruption('a record has a count of 0 writes', reader.recordStart);
}

/** The length of a file without zeros at its end. */
function usedLength(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

class SegmentReader {
  readonly bytes: Uint8Array;
  readonly segment: SegmentToRead;
  readonly path: string;
  private readonly record: WalRecord;
  private readonly reader: ChunkReader;
  private firstSeq = 0;
  private lastSeq = -1;
  torn: TornTail | undefined;

  constructor(
    bytes: Uint8Array,
    segment: SegmentToRead,
    path: string,
    record: WalRecord,
    keys: StoreKeys | undefined,
  ) {
    this.bytes = bytes;
    this.segment = segment;
    this.path = path;
    this.record = record;
    const { closed } = segment;
    if (closed !== undefined && closed.length !== bytes.length) {
      const at = Math.min(closed.length, bytes.length);
      throw logCorruption(WAL_KIND, path, `it has ${bytes.length} bytes and was ${closed.length} long`, at);
    }
    this.reader = new ChunkReader(bytes, WAL_KIND, segment.number, path, keys);
  }

  /** Where the last record or mark ends; of a closed segment, the end of the file. */
  get goodEnd(): number {
    return this.reader.goodEnd;
  }

  /** The segment has an END: the log continues in the next segment. */
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
