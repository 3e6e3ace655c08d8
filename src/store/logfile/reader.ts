import { crc32, EMPTY_BYTES } from '../../bytes/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import { ON_DAMAGE } from '../encoding/data-block.js';
import { encrypted, LogCipher, type StoreKeys } from '../encryption/keys.js';
import type { FileSystem } from '../fs/index.js';
import {
  BLOCK_SIZE,
  CHUNK_END,
  CHUNK_FILE_HEADER,
  CHUNK_FIRST,
  CHUNK_FULL,
  CHUNK_HEADER_SIZE,
  CHUNK_LAST,
  CHUNK_MARK,
  CHUNK_MIDDLE,
  FILE_HEADER_PAYLOAD,
  fileSeed,
  headerCheck,
  LAST_CHUNK_TYPE,
  type LogKind,
  MIN_CHUNK_ROOM,
  readUint32,
  readUint48,
  SEALED_HEADER_PAYLOAD,
} from './writer.js';

/** Logs never grow larger; a larger file is not one, and is not read into memory. */
const MAX_LOG_SIZE = 2 ** 31;

/**
 * Reads a log completely, into the memory of `into` if that is large enough.
 * @throws CorruptionError when there is no such file, because the MANIFEST or CURRENT names it.
 */
export function readLog(files: FileSystem, path: string, into?: Uint8Array): Uint8Array {
  if (!files.exists(path)) {
    throw new CorruptionError(
      `The file "${path}" is missing, and the store needs it. Put it back.${ON_DAMAGE}`,
      { details: { file: path, offset: 0 } },
    );
  }
  const file = files.openRead(path);
  try {
    const size = file.size;
    if (size > MAX_LOG_SIZE) {
      throw new CorruptionError(
        `The file "${path}" has ${size} bytes, more than any file of its kind. Restore it from a copy.`,
        { details: { file: path, offset: MAX_LOG_SIZE } },
      );
    }
    // Not a Buffer: a subarray of a Buffer takes several times as long to create as one of a Uint8Array, and replay creates millions.
    const memory = into !== undefined && into.buffer.byteLength >= size ? into : Buffer.allocUnsafeSlow(size);
    const bytes = new Uint8Array(memory.buffer, 0, size);
    const count = file.read(bytes, 0, size, 0);
    return count === size ? bytes : bytes.subarray(0, count);
  } finally {
    file.close();
  }
}

/** Why a chunk cannot be read. The first two may result from a loss of power at the end of a file. */
type BreakReason = 'cut header' | 'cut payload' | 'bad header' | 'bad payload' | 'cut record';

/** Where reading stopped because the bytes are not a whole record. */
interface Break {
  readonly reason: BreakReason;
  /** Where the unreadable chunk begins; for a cut record, the end of the file. */
  readonly offset: number;
}
const ZEROS = Buffer.alloc(4096);

/**
 * Reads the records of a log whose bytes are in memory. It never reads or allocates by a length that is not covered by a valid
 * check. Bytes that no writer and no torn write can produce throw; anything else ends as a {@link Break}, which
 * {@link judgeBreak} judges.
 */
export class ChunkReader {
  /** The record: `length` bytes of `payload` from `offset`, valid until the next `next`. */
  payload: Uint8Array = EMPTY_BYTES;
  offset = 0;
  length = 0;
  /** The offset in the file at which the record begins. */
  recordStart = 0;
  /** Where the last whole record or mark ends: bytes after it may be cut off. */
  goodEnd = 0;
  /** Why there is no next record; undefined at a clean end. */
  broken: Break | undefined;
  /** The highest synced offset that a chunk states. */
  syncedOffset = 0;
  /** The reader has reached an END: the log continues in another file. */
  ended = false;
  /** Of an encrypted log. */
  cipher: LogCipher | undefined;

  private readonly bytes: Uint8Array;
  private readonly kind: LogKind;
  private readonly path: string;
  private readonly seed: number;
  private position = 0;
  private scratch: Uint8Array = EMPTY_BYTES;
  private scratchLength = 0;
  private inRecord = false;
  private version = 0;
  /** The offset in the file of the first byte of `bytes`, the start of a block. */
  private base = 0;

  /** Continues to read a log of the latest version at `position`. `bytes` begin with the block that contains `position`. */
  static resumed(
    bytes: Uint8Array,
    position: number,
    kind: LogKind,
    fileNumber: number,
    path: string,
    cipher: LogCipher | undefined,
  ): ChunkReader {
    const reader = new ChunkReader(bytes, kind, fileNumber, path, undefined, position);
    reader.cipher = cipher;
    return reader;
  }

  /**
   * `keys`: those of an encrypted store.
   * @throws CorruptionError when the file does not begin like a log of this kind, number and a known version;
   *   RowanError `ERR_FORMAT_VERSION` when its version is newer, `ERR_ENCRYPTION` when its key is missing or wrong, or it is refused
   *   because it is not encrypted.
   */
  constructor(
    bytes: Uint8Array,
    kind: LogKind,
    fileNumber: number,
    path: string,
    keys?: StoreKeys,
    resumedAt?: number,
  ) {
    this.bytes = bytes;
    this.kind = kind;
    this.path = path;
    this.seed = fileSeed(kind, fileNumber);
    if (resumedAt === undefined) {
      this.readFileHeader(fileNumber, keys);
      return;
    }
    this.base = blockOf(resumedAt);
    this.version = kind.version;
    this.position = resumedAt - this.base;
    this.goodEnd = this.position;
  }

  /** The offset in the file at which the last whole record or mark ends. */
  get goodOffset(): number {
    return this.base + this.goodEnd;
  }

  /** Moves to the next record. False at the end, clean or `broken`. */
  next(): boolean {
    if (this.broken !== undefined || this.ended) return false;
    while (this.skipPadding()) {
      const at = this.position;
      const reason = this.checkChunk(at);
      if (reason !== undefined) {
        if (!this.inRecord && this.isPrepared(at)) return false;
        return this.stop(reason, at);
      }
      const type = this.bytes[at + 10]!;
      const length = this.bytes[at + 8]! | (this.bytes[at + 9]! << 8);
      this.position = at + CHUNK_HEADER_SIZE + length;
      if (this.addChunk(type, at, length)) {
        this.goodEnd = this.position;
        if (type === CHUNK_END) return this.end();
        if (type === CHUNK_MARK) continue;
        if (this.cipher !== undefined) this.decrypt(this.cipher);
        return true;
      }
    }
    if (this.inRecord) return this.stop('cut record', this.bytes.length);
    return false;
  }

  /** Creates a CorruptionError about this file. */
  corruption(what: string, offset: number): CorruptionError {
    return logCorruption(this.kind, this.path, what, this.base + offset);
  }

  private decrypt(cipher: LogCipher): void {
    const sealed = this.payload.subarray(this.offset, this.offset + this.length);
    const text = cipher.open(this.base + this.recordStart, sealed);
    if (text === undefined) throw this.corruption('a record is not as it was encrypted', this.recordStart);
    this.payload = text;
    this.offset = 0;
    this.length = text.length;
  }

  private readFileHeader(fileNumber: number, keys: StoreKeys | undefined): void {
    if (this.bytes.length < CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD)
      throw this.corruption(`it has ${this.bytes.length} bytes, less than its header`, 0);
    const reason = this.checkChunk(0);
    const length = this.bytes[8];
    const known = length === FILE_HEADER_PAYLOAD || length === SEALED_HEADER_PAYLOAD;
    if (reason !== undefined || this.bytes[10] !== CHUNK_FILE_HEADER || !known)
      throw this.corruption('its header is damaged, or it is a file of another number or kind', 0);
    const magic = String.fromCharCode(...this.bytes.subarray(CHUNK_HEADER_SIZE, CHUNK_HEADER_SIZE + 8));
    if (magic !== this.kind.magic) throw this.corruption('its magic is wrong', CHUNK_HEADER_SIZE);
    const version = this.bytes[CHUNK_HEADER_SIZE + 8]! | (this.bytes[CHUNK_HEADER_SIZE + 9]! << 8);
    this.version = version;
    const sealed = length === SEALED_HEADER_PAYLOAD;
    const { kind } = this;
    if (sealed ? version !== kind.sealedVersion : version < 1 || version > kind.version) {
      throw new RowanError(
        'ERR_FORMAT_VERSION',
        `The ${this.kind.name} "${this.path}" has format version ${version}; this release of Rowan reads versions up to ` +
          `${sealed ? kind.sealedVersion : kind.version}. Open the store with the release that wrote it, or a newer one.`,
        { details: { file: this.path, version } },
      );
    }
    this.position = CHUNK_HEADER_SIZE + length;
    this.goodEnd = this.position;
    if (!sealed) {
      keys?.checkPlain(this.path);
      return;
    }
    const head = this.bytes.subarray(CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD, this.position);
    if (keys === undefined) throw encrypted(this.path, head);
    this.cipher = new LogCipher(keys.forFile(kind.magic, fileNumber, head, this.path));
  }

  private end(): false {
    this.ended = true;
    if (!this.isPrepared(this.position))
      throw this.corruption('there are bytes after its END', this.position);
    return false;
  }

  /** Whether there is only preallocated space from `at` on. */
  private isPrepared(at: number): boolean {
    if (this.version < this.kind.preparedSince) return at >= this.bytes.length;
    return isZero(this.bytes, at);
  }

  /** Moves to the next offset at which a chunk may begin. False at the end of the file. */
  private skipPadding(): boolean {
    const { bytes } = this;
    const room = BLOCK_SIZE - (this.position % BLOCK_SIZE);
    if (room < MIN_CHUNK_ROOM) {
      const end = Math.min(this.position + room, bytes.length);
      for (let at = this.position; at < end; at++) {
        if (bytes[at] !== 0) throw this.corruption('the unused end of a block is not zero', at);
      }
      this.position = end;
    }
    return this.position < bytes.length;
  }

  /** Why the chunk at `at` is invalid; undefined when it is valid. */
  private checkChunk(at: number): BreakReason | undefined {
    const { bytes } = this;
    if (at + CHUNK_HEADER_SIZE > bytes.length) return 'cut header';
    if (readUint32(bytes, at) !== headerCheck(bytes, at, this.seed, this.base + at)) return 'bad header';
    const length = bytes[at + 8]! | (bytes[at + 9]! << 8);
    if (length > BLOCK_SIZE - (at % BLOCK_SIZE) - CHUNK_HEADER_SIZE)
      throw this.corruption(`a chunk of ${length} bytes extends beyond its block`, at);
    const synced = readUint48(bytes, at + 11);
    if (synced > this.base + at) throw this.corruption('a chunk states that bytes after it were synced', at);
    if (at + CHUNK_HEADER_SIZE + length > bytes.length) return 'cut payload';
    if (crc32(bytes, at + CHUNK_HEADER_SIZE, length) !== readUint32(bytes, at + 4)) return 'bad payload';
    if (synced > this.syncedOffset) this.syncedOffset = synced;
    return undefined;
  }

  /** Adds a valid chunk to the record. True when it completes a record, or is a mark or END. */
  private addChunk(type: number, at: number, length: number): boolean {
    const fits =
      type === CHUNK_MIDDLE || type === CHUNK_LAST
        ? this.inRecord
        : !this.inRecord &&
          type !== CHUNK_FILE_HEADER &&
          (type !== CHUNK_END || this.version >= this.kind.preparedSince);
    const empty = type === CHUNK_MARK || type === CHUNK_END;
    if (!fits || (length === 0) !== empty || type === 0 || type > LAST_CHUNK_TYPE)
      throw this.corruption(`a chunk of type ${type} and ${length} bytes does not belong here`, at);
    if (empty) return true;
    if (type === CHUNK_FULL || type === CHUNK_FIRST) this.recordStart = at;
    if (type === CHUNK_FULL) {
      this.payload = this.bytes;
      this.offset = at + CHUNK_HEADER_SIZE;
      this.length = length;
      return true;
    }
    if (type === CHUNK_FIRST) this.scratchLength = 0;
    this.appendFragment(at + CHUNK_HEADER_SIZE, length);
    this.inRecord = type !== CHUNK_LAST;
    if (this.inRecord) return false;
    this.payload = this.scratch;
    this.offset = 0;
    this.length = this.scratchLength;
    return true;
  }

  private appendFragment(from: number, length: number): void {
    const needed = this.scratchLength + length;
    if (needed > this.scratch.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.scratch.length));
      grown.set(this.scratch.subarray(0, this.scratchLength));
      this.scratch = grown;
    }
    this.scratch.set(this.bytes.subarray(from, from + length), this.scratchLength);
    this.scratchLength = needed;
  }

  private stop(reason: BreakReason, offset: number): false {
    this.broken = { reason, offset };
    return false;
  }
}

/** The start of the block that contains a byte of the file. */
export function blockOf(offset: number): number {
  return offset - (offset % BLOCK_SIZE);
}

/** Whether all bytes from `at` on are zeros. */
function isZero(bytes: Uint8Array, at: number): boolean {
  const end = Math.min(bytes.length, Math.ceil(at / ZEROS.length) * ZEROS.length);
  for (let i = at; i < end; i++) if (bytes[i] !== 0) return false;
  for (let i = Math.max(at, end); i < bytes.length; i += ZEROS.length) {
    const length = Math.min(ZEROS.length, bytes.length - i);
    if (ZEROS.compare(bytes, i, i + length, 0, length) !== 0) return false;
  }
  return true;
}

export function logCorruption(kind: LogKind, path: string, what: string, offset: number): CorruptionError {
  return new CorruptionError(
    `The ${kind.name} "${path}" is damaged at byte ${offset}: ${what}. Nothing was changed. ` +
      'Restore the store from a copy.',
    { details: { file: path, offset } },
  );
}

const SECTOR = 512;

export type Verdict = { readonly torn: true } | { readonly torn: false; readonly why: string };

const TORN: Verdict = { torn: true };

/**
 * Decides whether the end of a log is torn or damaged. A log that was being written when the power failed may end in an
 * incomplete record, and must still open; a log whose acknowledged bytes have changed must not. The rules, in this order, for a
 * break at offset X:
 *
 * 1. Bytes that were synced when something else was written (the header of a file that the MANIFEST names, the synced offset of
 *    any chunk) cannot be torn: if X is before them, it is damage. A chunk after X may state it, so every later byte is
 *    tried as the start of a chunk.
 * 2. If one flipped bit explains the failed check, and the bit is in a sector that was written, it is damage.
 * 3. A file that ends inside the chunk is torn, because appends grow the file. So is a file in which the chunk ends within
 *    preallocated space: from the last byte of the chunk (or of its header if only that is known) to the end of the file there
 *    are zeros.
 * 4. A chunk that is completely in the file is torn if one of its 512-byte sectors, from where the chunk enters it, is all zeros:
 *    never written. (Disks write whole sectors. Space is preallocated with zeros and never reused, so unwritten bytes read as
 *    zeros.)
 * 5. Everything else is damage.
 *
 * Not detected: damage to the last group of records, before any later chunk reached the disk, that also zeroes a whole sector, cuts
 * the file, or changes several bits of the last chunk where that ends in a zero. It looks like a torn end.
 *
 * Judges the break of a log that was open for writing. `knownSynced`: bytes that are known to have been synced.
 */
export function judgeBreak(
  bytes: Uint8Array,
  broken: Break,
  kind: LogKind,
  fileNumber: number,
  knownSynced: number,
): Verdict {
  const { offset, reason } = broken;
  if (offset < knownSynced) return damage(`${knownSynced} bytes of it were known to be on the disk`);
  const seed = fileSeed(kind, fileNumber);
  const witness = findWitness(bytes, seed, offset);
  if (witness >= 0) return damage(`the chunk at byte ${witness} states that these bytes were synced`);
  if (reason === 'cut header' || reason === 'cut payload' || reason === 'cut record') return TORN;
  const header = reason === 'bad header';
  const length = header ? 0 : bytes[offset + 8]! | (bytes[offset + 9]! << 8);
  const end = offset + CHUNK_HEADER_SIZE + length;
  const flipped = header ? flippedHeaderBit(bytes, offset, seed) : flippedPayloadBit(bytes, offset, length);
  if (flipped >= 0 && !isUnwritten(bytes, offset, flipped))
    return damage(`one bit is flipped at byte ${flipped}`);
  if (kind.preparedSince !== Number.POSITIVE_INFINITY && isZero(bytes, end - 1)) return TORN;
  for (let at = offset; at < end; at = (Math.floor(at / SECTOR) + 1) * SECTOR) {
    if (isUnwritten(bytes, offset, at)) return TORN;
  }
  return damage(`the check of its ${header ? 'header' : 'payload'} fails`);
}

function damage(why: string): Verdict {
  return { torn: false, why };
}

/** Whether the sector that contains byte `at` is all zeros from where the chunk at `start` enters it. */
function isUnwritten(bytes: Uint8Array, start: number, at: number): boolean {
  const sector = Math.floor(at / SECTOR) * SECTOR;
  const end = Math.min(sector + SECTOR, bytes.length);
  for (let i = Math.max(start, sector); i < end; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** The offset of a chunk after `broken` that states that more than `broken` bytes were synced; -1 for none. */
function findWitness(bytes: Uint8Array, seed: number, broken: number): number {
  const last = bytes.length - CHUNK_HEADER_SIZE;
  for (let at = broken + 1; at <= last; at++) {
    const type = bytes[at + 10]!;
    if (type === 0 || type > LAST_CHUNK_TYPE) continue;
    const synced = readUint48(bytes, at + 11);
    if (synced <= broken || synced > at) continue;
    if ((bytes[at + 8]! | (bytes[at + 9]! << 8)) > BLOCK_SIZE - CHUNK_HEADER_SIZE) continue;
    if (readUint32(bytes, at) === headerCheck(bytes, at, seed, at)) return at;
  }
  return -1;
}

/** The byte in which one flipped bit explains the header's failed check; -1 when no single bit does. */
function flippedHeaderBit(bytes: Uint8Array, offset: number, seed: number): number {
  const header = Uint8Array.from(bytes.subarray(offset, offset + CHUNK_HEADER_SIZE));
  for (let bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
    const at = bit >> 3;
    header[at] = header[at]! ^ (1 << (bit & 7));
    if (readUint32(header, 0) === headerCheck(header, 0, seed, offset)) return offset + at;
    header[at] = header[at]! ^ (1 << (bit & 7));
  }
  return -1;
}

/**
 * The byte of the payload in which one flipped bit explains the failed crc; -1 when no single bit does. A flipped bit changes the
 * crc by a pattern that depends only on the bit's distance from the end, so the distances are tried until the pattern matches.
 */
function flippedPayloadBit(bytes: Uint8Array, offset: number, length: number): number {
  const from = offset + CHUNK_HEADER_SIZE;
  const pattern = crc32(bytes, from, length) ^ readUint32(bytes, offset + 4);
  let walk = 1;
  for (let distance = 0; distance < 8 * length; distance++) {
    walk = (walk & 1) !== 0 ? (walk >>> 1) ^ 0xedb88320 : walk >>> 1;
    if (walk === pattern) return from + length - 1 - (distance >> 3);
  }
  return -1;
}
