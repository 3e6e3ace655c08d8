import { RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';

/** Up to this length V8 keeps the bytes of an array beside it, which is fast. */
const ON_HEAP = 64;
const SLAB_BYTES = 16_384;
/** Longer copies get a buffer of their own, so that one that is kept does not keep much else. */
const MAX_SHARED = 1024;
/** The buffer that copies share: one of its own takes each several times as long. */
let slab = new Uint8Array(0);
let slabUsed = 0;

function sharedCopy(source: Uint8Array, length: number): Uint8Array {
  if (slabUsed + length > slab.length) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  const at = slabUsed;
  slabUsed += length;
  slab.set(source.subarray(0, length), at);
  return new Uint8Array(slab.buffer, at, length);
}

/**
 * A growing buffer into which keys and values are written. There is one for each layout or module, because writing is
 * never reentrant.
 */
export class KeyWriter {
  buffer: Uint8Array;
  /** Bytes written so far. */
  length = 0;

  constructor(capacity = 256) {
    this.buffer = new Uint8Array(capacity);
  }

  /** Makes room for `count` more bytes. */
  ensure(count: number): void {
    const needed = this.length + count;
    if (needed <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.buffer.length));
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }

  push(byte: number): void {
    this.ensure(1);
    this.buffer[this.length++] = byte;
  }

  append(bytes: Uint8Array): void {
    const count = bytes.length;
    this.ensure(count);
    const { buffer, length } = this;
    if (count > 32) buffer.set(bytes, length);
    else for (let i = 0; i < count; i++) buffer[length + i] = bytes[i]!;
    this.length = length + count;
  }

  /** Replaces every 00 from `start` on by 00 FF. */
  escape(start: number): void {
    let zeros = 0;
    for (let i = start; i < this.length; i++) if (this.buffer[i] === 0) zeros++;
    if (zeros === 0) return;
    this.ensure(zeros);
    const { buffer } = this;
    let to = this.length + zeros;
    for (let from = this.length - 1; from >= start; from--) {
      const byte = buffer[from]!;
      if (byte === 0) buffer[--to] = 0xff;
      buffer[--to] = byte;
    }
    this.length += zeros;
  }

  /** Inverts every bit from `start` on: descending order. */
  invert(start: number): void {
    const { buffer, length } = this;
    for (let i = start; i < length; i++) buffer[i] = ~buffer[i]!;
  }

  /** A copy of the bytes. */
  copy(): Uint8Array {
    const { length } = this;
    if (length > MAX_SHARED) return this.buffer.slice(0, length);
    if (length > ON_HEAP) return sharedCopy(this.buffer, length);
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) out[i] = this.buffer[i]!;
    return out;
  }
}

/** How the end of a value is found if more bytes follow it in a key. */
export type Framing =
  /** All values have the same length. */
  | 'fixed'
  /** The bytes tell their own length (`endOf`). */
  | 'self'
  /** 00 becomes 00 FF, and 00 01 ends the value. */
  | 'escaped'
  /** A byte that values may not contain ends it. */
  | 'separated'
  /** The end cannot be found: only the last part of a key can have such a codec. */
  | 'rest';

/** A codec of scalars for keys and columns. Order-preserving unless `ordered` is false. */
export interface ScalarCodec<T> extends KeyCodec<T> {
  /** Byte order of encoded values is their logical order. */
  readonly ordered: boolean;
  /**
   * Encodes a value.
   * @throws RowanError `ERR_CODEC` when the value has a wrong type or is out of range.
   */
  encode(value: T): Uint8Array;
  /**
   * Decodes a value.
   * @throws RowanError `ERR_CODEC` when the bytes are not a value of this codec.
   */
  decode(bytes: Uint8Array): T;
}

/** Bounds of a range of values. */
export interface ValueRange {
  readonly lower: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  readonly upper: { readonly value: unknown; readonly inclusive: boolean } | undefined;
}

/** The base of all codecs of key parts. The same codecs encode columns. */
export abstract class BaseCodec<T> implements ScalarCodec<T> {
  abstract readonly name: string;
  abstract readonly fixedLength: number | undefined;
  readonly framing: Framing = 'fixed';
  /** For `separated`: the byte that ends a value. */
  readonly separator: number = 0;
  /** For `separated`: whether the byte also ends a value in the last part of a key. */
  readonly endsLast: boolean = false;
  readonly ordered: boolean = true;
  /** Byte order is the reverse of logical order. */
  readonly descending: boolean = false;
  /** False if only equality can be searched: the order of the bytes is unrelated to the values. */
  readonly hasRanges: boolean = true;
  /**
   * Set if values are spread evenly over all byte strings (random ids) or digits, so that their space can be divided
   * into equal shares.
   */
  readonly uniform: 'bytes' | 'digits' | undefined = undefined;
  /** The type of all values, where it is one that JSON lacks. Undefined for all other codecs. */
  readonly valueType: 'bigint' | 'date' | 'bytes' | undefined = undefined;
  /**
   * The first and the last bytes of all values, if each byte string of `fixedLength` between them is what `write` writes of the value that
   * `read` reads from it: who copies it need not read it.
   */
  get copied(): { readonly first: Uint8Array; readonly last: Uint8Array } | undefined {
    return undefined;
  }

  readonly $type?: T;

  /** Appends the value's bytes, without escapes or terminator. @throws RowanError `ERR_CODEC`. */
  abstract write(value: T, out: KeyWriter): void;

  /** Reads the value in `bytes[start..end)`, which `write` produced. @throws RowanError `ERR_CODEC`. */
  abstract read(bytes: Uint8Array, start: number, end: number): T;

  /** For `self`: the end of the value that starts at `start`, or -1. `mask` is FF if the bytes are inverted. */
  endOf(_bytes: Uint8Array, _start: number, _mask: number): number {
    return -1;
  }

  /**
   * Appends the common leading bytes of all values that start with `value`.
   * @returns whether every value with those leading bytes starts with `value`; undefined if the type has no prefixes.
   */
  writePrefix(_value: unknown, _out: KeyWriter): boolean | undefined {
    return undefined;
  }

  /** Like `writePrefix`, for all values that end with `value`: for texts stored in reverse. */
  writeSuffix(_value: unknown, _out: KeyWriter): boolean | undefined {
    return undefined;
  }

  /** The codec whose byte order is the logical order of the values; itself if it is ordered. */
  get order(): BaseCodec<T> {
    return this;
  }

  /** The codec whose bytes this one inverts; itself if it inverts none. */
  get uninverted(): BaseCodec<T> {
    return this;
  }

  /** For a codec that is not ordered: ranges that are each ordered and together make up `range`, or undefined. */
  pieces(_range: ValueRange): readonly ValueRange[] | undefined {
    return undefined;
  }

  /**
   * All values that are equal to the given one but may have other bytes, including itself: 0 and -0 where both are
   * stored.
   */
  alike(value: T): readonly T[] {
    return [value];
  }

  encode(value: T): Uint8Array {
    shared.length = 0;
    this.write(value, shared);
    return shared.copy();
  }

  decode(bytes: Uint8Array): T {
    return this.read(bytes, 0, bytes.length);
  }
}

const shared = new KeyWriter();

/** The error for a value that a codec cannot encode. `expected` completes "it must be ...". */
export function badValue(codec: string, value: unknown, expected: string): RowanError {
  return new RowanError('ERR_CODEC', `${codec} cannot hold ${describe(value)}: it must be ${expected}.`, {
    details: { codec, value },
  });
}

/** The error for bytes that a codec cannot decode. */
export function badBytes(
  codec: string,
  bytes: Uint8Array,
  start: number,
  end: number,
  why: string,
): RowanError {
  const hex = Buffer.from(bytes.subarray(start, end)).toString('hex');
  return new RowanError('ERR_CODEC', `The bytes ${hex || '(none)'} are not a valid ${codec}: ${why}.`, {
    details: { codec, hex },
  });
}

/**
 * An order-preserving codec of one key part: byte order is the order of values. `T` is the type of the values. Codecs
 * are immutable and stateless.
 */
export interface KeyCodec<T> {
  /**
   * The name in schema hashes, explain and errors, e.g. "uint32", "string", "desc(date)". Frozen: it is never renamed.
   */
  readonly name: string;
  /** The number of bytes of every value, or undefined if it varies. */
  readonly fixedLength: number | undefined;
  /** Exists only in types: makes a codec of one type unassignable to another. */
  readonly $type?: T;
}

// — Whole numbers of 1 to 8 bytes, big-endian.

/** Writes `value`, 0..2^53-1, as `size` bytes, at most 8. */
export function putInteger(target: Uint8Array, offset: number, size: number, value: number): void {
  let rest = value;
  if (size > 4) {
    const high = Math.floor(value / 2 ** 32);
    for (let i = size - 5, h = high; i >= 0; i--, h >>>= 8) target[offset + i] = h;
    rest = value - high * 2 ** 32;
  }
  let low = rest >>> 0;
  for (let i = size - 1; i >= 0 && i >= size - 4; i--, low >>>= 8) target[offset + i] = low;
}

/** Reads what `putInteger` wrote. */
export function getInteger(bytes: Uint8Array, start: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + bytes[start + i]!;
  return value;
}

/** The error for a value of the wrong length. */
export function wrongLength(codec: BaseCodec<unknown>, bytes: Uint8Array, start: number, end: number): Error {
  return badBytes(codec.name, bytes, start, end, `it has ${codec.fixedLength} bytes, not ${end - start}`);
}
