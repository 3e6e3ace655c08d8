/**
 * Chunks: the framing of a log (a WAL segment, a MANIFEST), by which an end torn by a loss of power can be told from damage in the
 * middle. Blocks and fragments follow LevelDB (`doc/log_format.md`), the synced offset follows Pebble (`record/record.go`).
 *
 * A log consists of blocks of 32 KiB. A chunk lies within one block; a record is one FULL chunk, or FIRST, MIDDLE…, LAST. When
 * fewer than 18 bytes are left in a block they are zeros.
 *
 *        0        4         8        10     11              17
 *   +--------+---------+--------+------+---------------+-----------
 *   | check  | payload | length | type | syncedOffset  | payload …
 *   |  u32   | crc u32 |  u16   |  u8  |      u48      |
 *   +--------+---------+--------+------+---------------+-----------
 *
 * `check` is the crc-32 of bytes 4-16, seeded with the kind and number of the file and the chunk's offset in it, so that bytes
 * from elsewhere never pass. A file may be longer than its chunks: zeros at its end are preallocated space. `syncedOffset`
 * states that every byte of the file before that offset was synced when this chunk was made.
 *
 * FROZEN: a change of these figures makes a new format version.
 */

import { crc32, EMPTY_BYTES } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { HEAD_BYTES, LogCipher, type NewCipher, RECORD_OVERHEAD } from '../encryption/keys.js';
import { type FileHandle, type FileSystem, parentPath } from '../fs/index.js';

export const BLOCK_SIZE = 32768;
export const CHUNK_HEADER_SIZE = 17;
/** No chunk starts with fewer bytes than this left in its block. */
export const MIN_CHUNK_ROOM = CHUNK_HEADER_SIZE + 1;

export const CHUNK_FULL = 1;
export const CHUNK_FIRST = 2;
export const CHUNK_MIDDLE = 3;
export const CHUNK_LAST = 4;
/** Without payload: brings the synced offset to the disk when no record does. */
export const CHUNK_MARK = 5;
/** The first chunk of every file, and only that: the magic and the version of the format. */
export const CHUNK_FILE_HEADER = 6;
/** Without payload, the last chunk of a file: the log continues in the next file. Since version 2. */
export const CHUNK_END = 7;
/** The highest chunk type. */
export const LAST_CHUNK_TYPE = CHUNK_END;

/** A kind of file that is framed in chunks. `magic` is eight ASCII characters. */
export interface LogKind {
  readonly name: string;
  readonly magic: string;
  readonly version: number;
  /** The version of encrypted files. */
  readonly sealedVersion: number;
  /** The first version whose files may end in preallocated zeros, and with an END. */
  readonly preparedSince: number;
  /** Part of the seed of every check. */
  readonly seed: number;
}

export const WAL_KIND: LogKind = {
  name: 'WAL segment',
  magic: 'ROWANWAL',
  version: 2,
  sealedVersion: 3,
  preparedSince: 2,
  seed: 0x57414c31,
};
export const MANIFEST_KIND: LogKind = {
  name: 'MANIFEST',
  magic: 'ROWANMAN',
  version: 1,
  sealedVersion: 2,
  preparedSince: Number.POSITIVE_INFINITY,
  seed: 0x4d414e31,
};

/** The payload of the file header: magic (8), version u16. */
export const FILE_HEADER_PAYLOAD = 10;
/** The payload of the file header of an encrypted log: the same, and the head of its key. */
export const SEALED_HEADER_PAYLOAD = FILE_HEADER_PAYLOAD + HEAD_BYTES;
/** The offset of the first record of a file that is not encrypted. */
export const FILE_HEADER_END = CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD;
/** The offset of the first record of an encrypted file. */
export const SEALED_HEADER_END = CHUNK_HEADER_SIZE + SEALED_HEADER_PAYLOAD;

/** The offset of the first record of a log, by its first bytes: the header is not checked. */
export function headerEnd(bytes: Uint8Array): number {
  return bytes[8] === SEALED_HEADER_PAYLOAD ? SEALED_HEADER_END : FILE_HEADER_END;
}

/** The seed of the checksums of one file. */
export function fileSeed(kind: LogKind, fileNumber: number): number {
  return (kind.seed ^ Math.imul(fileNumber, 0x9e3779b1)) >>> 0;
}

/** The check of the chunk header at `at` of `bytes`, whose offset in the file is `fileOffset`. */
export function headerCheck(bytes: Uint8Array, at: number, seed: number, fileOffset: number): number {
  const high = Math.floor(fileOffset / 0x100000000);
  const place = (seed + Math.imul(fileOffset, 0x85ebca6b) + Math.imul(high, 0xc2b2ae35)) >>> 0;
  return crc32(bytes, at + 4, CHUNK_HEADER_SIZE - 4, place);
}

/** Writes the header of a chunk whose payload is already in place after it. */
export function writeChunkHeader(
  bytes: Uint8Array,
  at: number,
  seed: number,
  fileOffset: number,
  type: number,
  length: number,
  syncedOffset: number,
): void {
  writeUint32(bytes, at + 4, crc32(bytes, at + CHUNK_HEADER_SIZE, length));
  bytes[at + 8] = length;
  bytes[at + 9] = length >>> 8;
  bytes[at + 10] = type;
  writeUint48(bytes, at + 11, syncedOffset);
  writeUint32(bytes, at, headerCheck(bytes, at, seed, fileOffset));
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/** `value` is an integer in 0..2^48-1. */
export function writeUint48(bytes: Uint8Array, at: number, value: number): void {
  writeUint32(bytes, at, value);
  const high = Math.floor(value / 0x100000000);
  bytes[at + 4] = high;
  bytes[at + 5] = high >>> 8;
}

export function readUint48(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at) + (bytes[at + 4]! | (bytes[at + 5]! << 8)) * 0x100000000;
}

/** The first size of a staging buffer, which grows with what is staged: most stores are opened for a few small writes. */
const FIRST_STAGING_SIZE = 2 * BLOCK_SIZE;

/**
 * Frames records into chunks and appends them to one file.
 *
 * 1. `append` only fills the staging buffer; `flush` writes the buffer to the file with one call.
 * 2. The file never keeps part of a failed flush: it is truncated to its former length. If that fails too the writer is poisoned,
 *    because nothing after a half-written chunk could ever be read.
 * 3. A failed sync poisons the writer: the kernel may have dropped the pages, and a second sync would prove nothing.
 * 4. A poisoned writer never writes again; every call throws the same `ERR_READONLY`.
 */
export class ChunkWriter {
  readonly file: FileHandle;
  private readonly seed: number;
  private readonly stagingSize: number;
  private staging: Uint8Array;
  private stagedLength = 0;
  /** The length of the file, without staged bytes. */
  private written = 0;
  private recordsEndStaged = 0;
  private recordsEndWritten = 0;
  private runningCrc = 0;
  private synced = 0;
  private poison: RowanError | undefined;
  private preparedEnd = 0;
  private readonly cipher: LogCipher | undefined;

  /** `file` must be new and empty. Nothing is written before the first `flush`. `sealed`: the records are encrypted. */
  constructor(file: FileHandle, kind: LogKind, fileNumber: number, stagingSize = 65536, sealed?: NewCipher) {
    this.cipher = sealed && new LogCipher(sealed.cipher);
    this.file = file;
    this.seed = fileSeed(kind, fileNumber);
    this.stagingSize = Math.max(stagingSize, 2 * BLOCK_SIZE);
    this.staging = Buffer.allocUnsafeSlow(Math.min(this.stagingSize, FIRST_STAGING_SIZE));
    const header = new Uint8Array(sealed ? SEALED_HEADER_PAYLOAD : FILE_HEADER_PAYLOAD);
    for (let i = 0; i < 8; i++) header[i] = kind.magic.charCodeAt(i);
    const version = sealed ? kind.sealedVersion : kind.version;
    header[8] = version;
    header[9] = version >>> 8;
    if (sealed) header.set(sealed.head, FILE_HEADER_PAYLOAD);
    this.putChunk(CHUNK_FILE_HEADER, EMPTY_BYTES, header, 0, 0, header.length);
    this.recordsEndStaged = this.stagedLength;
  }

  /** The length of the file once all staged bytes are written. */
  get end(): number {
    return this.written + this.stagedLength;
  }

  get staged(): number {
    return this.stagedLength;
  }

  /** The length of the file; failed flushes do not count. */
  get writtenLength(): number {
    return this.written;
  }

  /** Where the last written record ends; only marks follow. */
  get recordsEnd(): number {
    return this.recordsEndWritten;
  }

  /** Everything before it is known to be on the disk. */
  get syncedOffset(): number {
    return this.synced;
  }

  /** The crc-32 of the first `writtenLength` bytes of the file. */
  get crc(): number {
    return this.runningCrc;
  }

  /** Why nothing can be written any more; undefined while the writer works. */
  get poisoned(): RowanError | undefined {
    return this.poison;
  }

  /** Stages one record: `prefix`, then `length` bytes of `payload` from `offset`; at least one byte in total. */
  append(prefix: Uint8Array, payload: Uint8Array, offset: number, length: number): void {
    this.checkUsable();
    const { cipher } = this;
    if (cipher === undefined) {
      this.reserve(prefix.length + length);
      this.putRecord(prefix, payload, offset, length);
      return;
    }
    this.reserve(RECORD_OVERHEAD + prefix.length + length);
    // A record is encrypted for its place.
    this.padBlock();
    const sealed = cipher.seal(this.end, prefix, payload.subarray(offset, offset + length));
    this.putRecord(EMPTY_BYTES, sealed, 0, sealed.length);
  }

  private putRecord(prefix: Uint8Array, payload: Uint8Array, offset: number, length: number): void {
    const total = prefix.length + length;
    let done = 0;
    do {
      this.padBlock();
      const room = BLOCK_SIZE - (this.end % BLOCK_SIZE) - CHUNK_HEADER_SIZE;
      const part = total - done <= room ? total - done : room;
      const last = done + part === total;
      const type = done === 0 ? (last ? CHUNK_FULL : CHUNK_FIRST) : last ? CHUNK_LAST : CHUNK_MIDDLE;
      this.putChunk(type, prefix, payload, offset, done, part);
      done += part;
    } while (done < total);
    this.recordsEndStaged = this.end;
  }

  /** Stages a mark, which carries the synced offset. */
  appendMark(): void {
    this.appendEmpty(CHUNK_MARK);
  }

  /** Stages an END: the log continues in another file. Nothing may follow. */
  appendEnd(): void {
    this.appendEmpty(CHUNK_END);
    this.recordsEndStaged = this.end;
  }

  private appendEmpty(type: number): void {
    this.checkUsable();
    this.reserve(0);
    this.padBlock();
    this.putChunk(type, EMPTY_BYTES, EMPTY_BYTES, 0, 0, 0);
  }

  /**
   * Preallocates `length` bytes after what is written, off the thread and without a sync. Only the header may have been written
   * before.
   */
  async prepare(length: number): Promise<void> {
    await this.file.prepare(length);
    this.preparedEnd = Math.max(this.preparedEnd, this.written) + length;
  }

  /** Bytes that can be written before the file has to grow. */
  get prepared(): number {
    return Math.max(0, this.preparedEnd - this.written);
  }

  /** Cuts off unused preallocated space. */
  trim(): void {
    if (this.prepared === 0) return;
    this.file.truncate(this.written);
    this.preparedEnd = 0;
  }

  /**
   * Writes what is staged. When it throws `ERR_IO` the file is unchanged and the staged records are dropped; the writer can still
   * be used.
   */
  flush(): void {
    this.checkUsable();
    const length = this.stagedLength;
    if (length === 0) return;
    this.stagedLength = 0;
    try {
      this.file.write(this.staging, 0, length);
    } catch (error) {
      this.recordsEndStaged = this.recordsEndWritten;
      this.rollback(error);
      throw error;
    }
    this.runningCrc = crc32(this.staging, 0, length, this.runningCrc);
    this.written += length;
    this.recordsEndWritten = this.recordsEndStaged;
    // One huge record must not occupy its memory for ever.
    if (this.staging.length > 4 * this.stagingSize) this.staging = Buffer.allocUnsafeSlow(this.stagingSize);
  }

  /** Writes what is staged and returns when the file is on the disk. */
  sync(): void {
    this.flush();
    try {
      this.file.sync();
    } catch (error) {
      throw this.fail(error);
    }
    this.synced = this.written;
  }

  /** Like `sync`, off the thread; it covers what was appended before the call. */
  async syncAsync(): Promise<void> {
    this.flush();
    const target = this.written;
    try {
      await this.file.syncAsync();
    } catch (error) {
      throw this.fail(error);
    }
    if (target > this.synced) this.synced = target;
  }

  /**
   * Poisons the writer: it refuses everything from now on. Returns the error that every call gets; of the calls that wait for the disk,
   * the outcome is unknown.
   */
  fail(cause: unknown): RowanError {
    this.poison ??= new RowanError(
      'ERR_READONLY',
      `Writing to "${this.file.path}" failed, and it is unknown what is on the disk: what was being written may be there after the ` +
        'next opening. Nothing more is written. Reads still work. Look at the cause, repair the disk, and open the store again: it recovers by itself.',
      { cause, details: { file: this.file.path, outcome: 'unknown' } },
    );
    return this.poison;
  }

  private checkUsable(): void {
    if (this.poison !== undefined) throw this.poison;
  }

  private rollback(cause: unknown): void {
    this.preparedEnd = 0;
    try {
      this.file.truncate(this.written);
    } catch {
      throw this.fail(cause);
    }
  }

  /** Makes room in the staging buffer for a record of `total` bytes with its headers and padding. */
  private reserve(total: number): void {
    const chunks = Math.ceil(total / (BLOCK_SIZE - CHUNK_HEADER_SIZE)) + 2;
    const needed = total + chunks * (CHUNK_HEADER_SIZE + MIN_CHUNK_ROOM);
    if (this.stagedLength + needed <= this.staging.length) return;
    const twice = 2 * this.staging.length;
    const room = this.staging.length < this.stagingSize ? Math.min(twice, this.stagingSize) : twice;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.stagedLength + needed, room));
    grown.set(this.staging.subarray(0, this.stagedLength));
    this.staging = grown;
  }

  private padBlock(): void {
    const room = BLOCK_SIZE - (this.end % BLOCK_SIZE);
    if (room >= MIN_CHUNK_ROOM) return;
    this.staging.fill(0, this.stagedLength, this.stagedLength + room);
    this.stagedLength += room;
  }

  /** Stages `part` bytes, from `from`, of the record that consists of `prefix` and `payload`. */
  private putChunk(
    type: number,
    prefix: Uint8Array,
    payload: Uint8Array,
    offset: number,
    from: number,
    part: number,
  ): void {
    const { staging } = this;
    const at = this.stagedLength;
    let to = at + CHUNK_HEADER_SIZE;
    let payloadFrom = from - prefix.length;
    let left = part;
    if (payloadFrom < 0) {
      const count = Math.min(left, -payloadFrom);
      for (let i = 0; i < count; i++) staging[to + i] = prefix[from + i]!;
      to += count;
      left -= count;
      payloadFrom = 0;
    }
    if (left > 0) copyPart(payload, offset + payloadFrom, left, staging, to);
    writeChunkHeader(staging, at, this.seed, this.written + at, type, part, this.synced);
    this.stagedLength = at + CHUNK_HEADER_SIZE + part;
  }
}

function copyPart(source: Uint8Array, from: number, length: number, target: Uint8Array, to: number): void {
  if (length < 24) {
    for (let i = 0; i < length; i++) target[to + i] = source[from + i]!;
  } else if (length === source.length) {
    target.set(source, to);
  } else {
    target.set(source.subarray(from, from + length), to);
  }
}

/**
 * Creates a log with its header, and `firstRecord` if given, synced and its name safe. On failure there is no such file (or a
 * leftover that the next opener removes), and the error is an `ERR_IO`: nothing has happened.
 */
export function createLog(
  files: FileSystem,
  path: string,
  kind: LogKind,
  fileNumber: number,
  stagingSize: number,
  firstRecord?: Uint8Array,
): ChunkWriter {
  const file = files.create(path);
  try {
    const sealed = files.encryption?.forNewFile(kind.magic, fileNumber);
    const writer = new ChunkWriter(file, kind, fileNumber, stagingSize, sealed);
    if (firstRecord !== undefined) writer.append(new Uint8Array(0), firstRecord, 0, firstRecord.length);
    writer.sync();
    files.syncDirectory(parentPath(path));
    return writer;
  } catch (error) {
    discardLog(files, file);
    throw failureOf(error);
  }
}

/** Like {@link createLog}, with the disk's work off the thread. */
export async function createLogAsync(
  files: FileSystem,
  path: string,
  kind: LogKind,
  fileNumber: number,
  stagingSize: number,
): Promise<ChunkWriter> {
  const file = files.create(path);
  try {
    const sealed = files.encryption?.forNewFile(kind.magic, fileNumber);
    const writer = new ChunkWriter(file, kind, fileNumber, stagingSize, sealed);
    await writer.syncAsync();
    await files.syncDirectoryAsync(parentPath(path));
    return writer;
  } catch (error) {
    discardLog(files, file);
    throw failureOf(error);
  }
}

/** The error to report for a new log. Its writer turns a failed sync into ERR_READONLY, but a new log had nothing to lose. */
export function failureOf(error: unknown): unknown {
  return error instanceof RowanError && error.code === 'ERR_READONLY' ? error.cause : error;
}

/** Closes and removes a file that nothing names. If that fails, the next opener removes it. */
export function discardLog(files: FileSystem, file: FileHandle): void {
  file.close();
  try {
    files.unlink(file.path);
  } catch {
    // The first failure is the one to report.
  }
}
