import type { FileHandle } from 'node:fs/promises';
import { compareSlices } from '../bytes/index.js';
import { CorruptionError, UnsupportedError } from '../errors.js';
import { checkRow } from '../table/checks.js';
import { Cell, CellType, CellWithTtl } from '../table/index.js';

// — Numbers and byte strings in the encodings of Hadoop's `Writable`s and of protocol buffers.

const TWO_32 = 0x100000000;

/** Builds bytes; reusable after `clear`. */
export class ByteBuilder {
  buffer: Buffer;
  length = 0;

  constructor(capacity = 256) {
    this.buffer = Buffer.allocUnsafe(capacity);
  }

  clear(): void {
    this.length = 0;
  }

  /** A view of what was written so far; it changes with the next write. */
  view(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** A copy of what was written so far. */
  copy(): Buffer {
    return Buffer.from(this.view());
  }

  byte(value: number): this {
    this.reserve(1);
    this.buffer[this.length++] = value;
    return this;
  }

  short(value: number): this {
    this.reserve(2);
    this.length = this.buffer.writeUInt16BE(value, this.length);
    return this;
  }

  int(value: number): this {
    this.reserve(4);
    this.length = this.buffer.writeInt32BE(value, this.length);
    return this;
  }

  /** Eight bytes; `value` is a safe integer. */
  long(value: number): this {
    this.reserve(8);
    const high = Math.floor(value / TWO_32);
    this.length = this.buffer.writeInt32BE(high, this.length);
    this.length = this.buffer.writeUInt32BE(value - high * TWO_32, this.length);
    return this;
  }

  bytes(value: Uint8Array): this {
    this.reserve(value.length);
    this.buffer.set(value, this.length);
    this.length += value.length;
    return this;
  }

  /** `WritableUtils.writeVInt` of a non-negative number. */
  vint(value: number): this {
    if (value <= 127) return this.byte(value);
    let size = 0;
    for (let rest = value; rest >= 1; rest = Math.floor(rest / 256)) size++;
    this.byte(256 - 112 - size);
    for (let shift = size - 1; shift >= 0; shift--) this.byte(Math.floor(value / 256 ** shift) & 0xff);
    return this;
  }

  /** The length as {@link vint}, then the bytes: `Bytes.writeByteArray`, `Text.writeString`. */
  vbytes(value: Uint8Array): this {
    return this.vint(value.length).bytes(value);
  }

  /** A varint of protocol buffers. */
  varint(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.byte((rest % 0x80) | 0x80);
    return this.byte(rest);
  }

  /** A field of protocol buffers with a non-negative number. */
  numberField(field: number, value: number): this {
    return this.varint(field * 8).varint(value);
  }

  /** A field of protocol buffers with a byte string or message. */
  bytesField(field: number, value: Uint8Array): this {
    return this.varint(field * 8 + 2)
      .varint(value.length)
      .bytes(value);
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.length + bytes));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }
}

/** The length of a {@link ByteBuilder.vint} that begins with this byte. */
export function vintLength(first: number): number {
  const signed = (first << 24) >> 24;
  if (signed >= -112) return 1;
  return signed < -120 ? -119 - signed : -111 - signed;
}

/**
 * Reads what {@link ByteBuilder} builds, never beyond its end.
 * @throws CorruptionError when the bytes end too early, or a number is invalid.
 */
export class ByteParser {
  at = 0;

  constructor(readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  byte(): number {
    return this.bytes[this.step(1)]!;
  }

  short(): number {
    return this.bytes.readUInt16BE(this.step(2));
  }

  int(): number {
    return this.bytes.readInt32BE(this.step(4));
  }

  long(): number {
    const at = this.step(8);
    return safe(this.bytes.readInt32BE(at) * TWO_32 + this.bytes.readUInt32BE(at + 4));
  }

  take(length: number): Buffer {
    const at = this.step(length);
    return this.bytes.subarray(at, at + length);
  }

  /** Like {@link take}; returns `known` itself if the bytes are equal. */
  takeLike(known: Buffer, length: number): Buffer {
    const at = this.step(length);
    if (known.length === length && compareSlices(known, 0, length, this.bytes, at, length) === 0)
      return known;
    return this.bytes.subarray(at, at + length);
  }

  vint(): number {
    const first = this.byte();
    const size = vintLength(first) - 1;
    const signed = (first << 24) >> 24;
    if (size === 0) return signed;
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + this.byte();
    return safe(signed < -120 ? -1 - value : value);
  }

  vbytes(): Buffer {
    return this.take(this.vint());
  }

  /** Also reads negative numbers, which have ten bytes. */
  varint(): number {
    const start = this.at;
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    let large = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      large += BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return safe(Number(BigInt.asIntN(64, large)));
    }
    throw new CorruptionError(`there is no number at byte ${start}`);
  }

  /** The next field of a message: its number and value, 0 for fixed-length values, which are skipped; undefined at the end. */
  field(): { readonly number: number; readonly value: number | Buffer } | undefined {
    if (this.left === 0) return undefined;
    const tag = this.varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0:
        return { number, value: this.varint() };
      case 1:
        this.take(8);
        return { number, value: 0 };
      case 2:
        return { number, value: this.take(this.varint()) };
      case 5:
        this.take(4);
        return { number, value: 0 };
      default:
        throw new CorruptionError(`there is no field of a message at byte ${this.at}`);
    }
  }

  private step(length: number): number {
    const { at } = this;
    if (!(length >= 0) || length > this.bytes.length - at) {
      throw new CorruptionError(`there are not ${length} bytes at byte ${at} of ${this.bytes.length}`);
    }
    this.at = at + length;
    return at;
  }
}

function safe(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new CorruptionError(`${value} is beyond what numbers here can be`);
}

// — Cells in HBase's files, with the tags that hold a cell's time to live.

/** The type of the tag for a cell's time to live, in milliseconds (8 bytes). */
const TTL_TAG = 8;
export const TTL_TAG_BYTES = 11;
const TYPES: ReadonlySet<number> = new Set(Object.values(CellType));

export function writeTtlTag(target: ByteBuilder, ttl: number): void {
  target
    .short(TTL_TAG_BYTES - 2)
    .byte(TTL_TAG)
    .long(ttl);
}

/** The decoded parts of a cell. */
interface CellParts {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly timestamp: number;
  readonly type: number;
  readonly value: Uint8Array;
  readonly tags: Buffer | undefined;
}

/** @throws CorruptionError when its row, timestamp or type is not possible for a stored cell. */
export function cellOf({ row, family, qualifier, timestamp, type, value, tags }: CellParts): Cell {
  if (!TYPES.has(type)) throw new CorruptionError(`${type} is not a type of a cell`);
  if (timestamp < 0) throw new CorruptionError(`${timestamp} is not a timestamp of a stored cell`);
  try {
    checkRow(row);
  } catch (cause) {
    throw new CorruptionError((cause as Error).message, { cause });
  }
  const ttl = tags === undefined || tags.length === 0 ? undefined : ttlOf(tags);
  return ttl === undefined
    ? new Cell(row, family, qualifier, timestamp, type as CellType, value)
    : new CellWithTtl(row, family, qualifier, timestamp, type as CellType, value, ttl);
}

/** The time to live among tags; other tags (labels, access rights) belong to HBase and are ignored. */
function ttlOf(tags: Buffer): number | undefined {
  for (let at = 0; at + 3 <= tags.length; ) {
    const length = tags.readUInt16BE(at);
    if (length === 0 || at + 2 + length > tags.length) break;
    if (tags[at + 2] === TTL_TAG && length === 9) {
      const ttl = Number(tags.readBigInt64BE(at + 3));
      if (Number.isSafeInteger(ttl) && ttl > 0) return ttl;
    }
    at += 2 + length;
  }
  return undefined;
}

// — Reading files, with the file and byte in errors.

/** @throws CorruptionError when the file ends before. */
export async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let from = 0; from < length; ) {
    const { bytesRead } = await handle.read(bytes, from, length - from, offset + from);
    if (bytesRead === 0) throw new CorruptionError('it ends too early');
    from += bytesRead;
  }
  return bytes;
}

/** A position in a file of some kind. */
interface PlaceRead {
  readonly path: string;
  readonly offset: number;
  /** "an HFile". */
  readonly kind: string;
}

/** Runs `read`; its CorruptionErrors and UnsupportedErrors are rethrown with the position. */
export async function naming<T>({ path, offset, kind }: PlaceRead, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof UnsupportedError) throw new UnsupportedError(`${path}: ${cause.message}`, { cause });
    if (!(cause instanceof CorruptionError)) throw cause;
    throw new CorruptionError(
      `${path} cannot be read as ${kind} at byte ${offset}: ${cause.message}. Copy the file again.`,
      { cause, details: { file: path, offset } },
    );
  }
}
