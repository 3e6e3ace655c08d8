import { RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { KeyWriter } from './writer.js';

/** What every codec of a key part can do. The same codecs serve as value codecs of columns. */

/** How the end of a value is found when more follows it in a key. */
export type Framing =
  /** All values have the same length. */
  | 'fixed'
  /** The bytes tell their own length (`endOf`). */
  | 'self'
  /** 00 becomes 00 FF, and 00 01 ends the value. */
  | 'escaped'
  /** A byte that no value may hold ends it. */
  | 'separated'
  /** It cannot be found: only the last part of a key can be such. */
  | 'rest';

/** A codec of scalars that keys and columns share. Ordered unless it says otherwise. */
export interface ScalarCodec<T> extends KeyCodec<T> {
  /** Byte order of encoded values is their logical order. */
  readonly ordered: boolean;
  /** @throws RowanError `ERR_CODEC` when the value is of a wrong type or out of range. */
  encode(value: T): Uint8Array;
  /** @throws RowanError `ERR_CODEC` when the bytes are no such value. */
  decode(bytes: Uint8Array): T;
}

/** Bounds of a range of values. */
export interface ValueRange {
  readonly lower: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  readonly upper: { readonly value: unknown; readonly inclusive: boolean } | undefined;
}

export abstract class BaseCodec<T> implements ScalarCodec<T> {
  abstract readonly name: string;
  abstract readonly fixedLength: number | undefined;
  readonly framing: Framing = 'fixed';
  /** With `separated`: the byte that ends a value. */
  readonly separator: number = 0;
  /** With `separated`: whether the byte ends a value that is the key's last, too. */
  readonly endsLast: boolean = false;
  readonly ordered: boolean = true;
  /** Byte order is the reverse of logical order. */
  readonly descending: boolean = false;
  /** False when only equality finds values: the bytes stand in for them in no order that means anything. */
  readonly hasRanges: boolean = true;
  /** Set when values are spread evenly over all bytes (random ids) or digits: their space can be cut evenly. */
  readonly uniform: 'bytes' | 'digits' | undefined = undefined;
  readonly $type?: T;

  /** Appends the value's bytes, without escapes or end. @throws RowanError `ERR_CODEC`. */
  abstract write(value: T, out: KeyWriter): void;

  /** The value of `bytes[start..end)`, which are as `write` made them. @throws RowanError `ERR_CODEC`. */
  abstract read(bytes: Uint8Array, start: number, end: number): T;

  /** With `self`: the end of the value that starts at `start`, or -1. `mask` is FF where the bytes are inverted. */
  endOf(_bytes: Uint8Array, _start: number, _mask: number): number {
    return -1;
  }

  /**
   * Appends what the bytes of every value that starts with `value` start with.
   * @returns whether all values with those leading bytes start with `value`; undefined when the type has no prefixes.
   */
  writePrefix(_value: unknown, _out: KeyWriter): boolean | undefined {
    return undefined;
  }

  /** As `writePrefix`, of every value that ends with `value`: for texts kept reversed. */
  writeSuffix(_value: unknown, _out: KeyWriter): boolean | undefined {
    return undefined;
  }

  /** The codec whose byte order is the logical order of the values; itself when it is ordered. */
  get order(): BaseCodec<T> {
    return this;
  }

  /** The codec whose bytes this one inverts; itself where it inverts none. */
  get uninverted(): BaseCodec<T> {
    return this;
  }

  /** Of a codec that is not ordered: ranges that together are `range` and are ordered each, or undefined. */
  pieces(_range: ValueRange): readonly ValueRange[] | undefined {
    return undefined;
  }

  /** The values that are equal to one and have other bytes, with it: 0 and -0 where both are kept. */
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

/** The error of a value that a codec does not take. `expected` completes "it must be ...". */
export function badValue(codec: string, value: unknown, expected: string): RowanError {
  return new RowanError('ERR_CODEC', `${codec} cannot hold ${describe(value)}: it must be ${expected}.`, {
    details: { codec, value },
  });
}

/** The error of bytes that a codec did not write. */
export function badBytes(
  codec: string,
  bytes: Uint8Array,
  start: number,
  end: number,
  why: string,
): RowanError {
  const hex = Buffer.from(bytes.subarray(start, end)).toString('hex');
  return new RowanError('ERR_CODEC', `The bytes ${hex || '(none)'} are no ${codec}: ${why}.`, {
    details: { codec, hex },
  });
}

/**
 * An order-preserving codec of one key part: byte order is logical order. `T` is what the user gives and gets.
 * Codecs are immutable and have no state.
 */
export interface KeyCodec<T> {
  /** Stands in schema hashes, explain and errors, e.g. "uint32", "string", "desc(date)". Never renamed. */
  readonly name: string;
  /** Bytes of every value, or undefined when they differ in length. */
  readonly fixedLength: number | undefined;
  /** Only in types: makes a codec of one type unassignable to another. */
  readonly $type?: T;
}

/** Whole numbers of 1 to 8 bytes, big-endian. */

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

/** The error of a value that is not as long as it must be. */
export function wrongLength(codec: BaseCodec<unknown>, bytes: Uint8Array, start: number, end: number): Error {
  return badBytes(codec.name, bytes, start, end, `it has ${codec.fixedLength} bytes, not ${end - start}`);
}
