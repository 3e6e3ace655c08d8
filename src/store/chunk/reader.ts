import { crc32 } from '../../bytes/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
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
} from './format.js';

/** Why a chunk cannot be read. The first two are what the end of a file may be like after a loss of power. */
export type BreakReason = 'cut header' | 'cut payload' | 'bad header' | 'bad payload' | 'cut record';

/** Where reading stopped because of bytes that are no whole record. */
export interface Break {
  readonly reason: BreakReason;
  /** Where the unreadable chunk begins; of a cut record, the end of the file. */
  readonly offset: number;
}

const EMPTY = new Uint8Array(0);
const ZEROS = Buffer.alloc(4096);

/**
 * Reads the records of one log whose bytes are in memory. It never reads or allocates by a length that a check has not
 * vouched for. Bytes that no writer makes, whatever happens to the disk's end, throw; the rest ends as a {@link Break}
 * for {@link judgeBreak} to judge.
 */
export class ChunkReader {
  /** The record: `length` bytes of `payload` from `offset`, until the next `next`. */
  payload: Uint8Array = EMPTY;
  offset = 0;
  length = 0;
  /** Where the record begins in the file. */
  recordStart = 0;
  /** Where the last whole record or mark ends: what comes after may be cut off. */
  goodEnd = 0;
  /** Why there is no next record; undefined at a clean end. */
  broken: Break | undefined;
  /** The highest synced offset that a chunk promised. */
  syncedOffset = 0;
  /** The log goes on in another file: its END was met. */
  ended = false;

  private readonly bytes: Uint8Array;
  private readonly kind: LogKind;
  private readonly path: string;
  private readonly seed: number;
  private position = 0;
  private scratch: Uint8Array = EMPTY;
  private scratchLength = 0;
  private inRecord = false;
  private version = 0;

  /**
   * @throws CorruptionError when the file does not begin as a log of this kind, number and a known version does;
   *   RowanError `ERR_FORMAT_VERSION` when its version is newer.
   */
  constructor(bytes: Uint8Array, kind: LogKind, fileNumber: number, path: string) {
    this.bytes = bytes;
    this.kind = kind;
    this.path = path;
    this.seed = fileSeed(kind, fileNumber);
    this.readFileHeader();
  }

  /** To the next record. False at the end, clean or `broken`. */
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
      if (this.take(type, at, length)) {
        this.goodEnd = this.position;
        if (type === CHUNK_END) return this.end();
        if (type !== CHUNK_MARK) return true;
      }
    }
    if (this.inRecord) return this.stop('cut record', this.bytes.length);
    return false;
  }

  /** A CorruptionError about this file. */
  corruption(what: string, offset: number): CorruptionError {
    return logCorruption(this.kind, this.path, what, offset);
  }

  private readFileHeader(): void {
    if (this.bytes.length < CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD)
      throw this.corruption(`it has ${this.bytes.length} bytes, less than its header`, 0);
    const reason = this.checkChunk(0);
    if (reason !== undefined || this.bytes[10] !== CHUNK_FILE_HEADER || this.bytes[8] !== FILE_HEADER_PAYLOAD)
      throw this.corruption('its header is damaged, or it is a file of another number or kind', 0);
    const magic = String.fromCharCode(...this.bytes.subarray(CHUNK_HEADER_SIZE, CHUNK_HEADER_SIZE + 8));
    if (magic !== this.kind.magic) throw this.corruption('its magic is wrong', CHUNK_HEADER_SIZE);
    const version = this.bytes[CHUNK_HEADER_SIZE + 8]! | (this.bytes[CHUNK_HEADER_SIZE + 9]! << 8);
    this.version = version;
    if (version < 1 || version > this.kind.version) {
      throw new RowanError(
        'ERR_FORMAT_VERSION',
        `The ${this.kind.name} "${this.path}" has format version ${version}; this release of Rowan reads versions up to ` +
          `${this.kind.version}. Open the store with the release that wrote it, or a newer one.`,
        { details: { file: this.path, version } },
      );
    }
    this.position = CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD;
    this.goodEnd = this.position;
  }

  private end(): false {
    this.ended = true;
    if (!this.isPrepared(this.position))
      throw this.corruption('something stands behind its end', this.position);
    return false;
  }

  /** Whether from `at` on there is only room that was prepared. */
  private isPrepared(at: number): boolean {
    if (this.version < this.kind.preparedSince) return at >= this.bytes.length;
    return isZero(this.bytes, at);
  }

  /** To the next place where a chunk may begin. False at the end of the file. */
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

  /** Why the chunk at `at` cannot be trusted; undefined when it can. */
  private checkChunk(at: number): BreakReason | undefined {
    const { bytes } = this;
    if (at + CHUNK_HEADER_SIZE > bytes.length) return 'cut header';
    if (readUint32(bytes, at) !== headerCheck(bytes, at, this.seed, at)) return 'bad header';
    const length = bytes[at + 8]! | (bytes[at + 9]! << 8);
    if (length > BLOCK_SIZE - (at % BLOCK_SIZE) - CHUNK_HEADER_SIZE)
      throw this.corruption(`a chunk of ${length} bytes leaves its block`, at);
    const synced = readUint48(bytes, at + 11);
    if (synced > at) throw this.corruption('a chunk says that bytes after it were synced', at);
    if (at + CHUNK_HEADER_SIZE + length > bytes.length) return 'cut payload';
    if (crc32(bytes, at + CHUNK_HEADER_SIZE, length) !== readUint32(bytes, at + 4)) return 'bad payload';
    if (synced > this.syncedOffset) this.syncedOffset = synced;
    return undefined;
  }

  /** Adds a good chunk to the record. True when it completes a record, or is a mark. */
  private take(type: number, at: number, length: number): boolean {
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
    this.gather(at + CHUNK_HEADER_SIZE, length);
    this.inRecord = type !== CHUNK_LAST;
    if (this.inRecord) return false;
    this.payload = this.scratch;
    this.offset = 0;
    this.length = this.scratchLength;
    return true;
  }

  private gather(from: number, length: number): void {
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

/** Whether all bytes from `at` on are zeros. */
export function isZero(bytes: Uint8Array, at: number): boolean {
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
