/**
 * Encodes the keys of a reduce in order: booleans, numbers, bigints, dates, strings, bytes, then tuples of those, each
 * type in its own order.
 *
 *     10 false | 11 true | 20 float64 (8) | 28 bigint | 30 date (8) | 40 text, escaped, 00 01 | 50 bytes, escaped, 00
 *     01
 *     60 (key)* 00
 *
 * Numbers, bigints and dates are encoded by the key codecs `float64`, `bigint` and `date`. Every key is
 * self-delimiting, so none is a prefix of another.
 */

import { InvalidArgumentError } from '../../errors.js';
import { type BaseCodec, bigint, date, float64, KeyWriter } from '../../key/codecs/index.js';
import { describe } from '../../table/checks.js';

/** The types of keys that a mapper can emit. */
export type JobKey = string | number | bigint | boolean | Date | Uint8Array | readonly JobKey[];

const FALSE = 0x10;
const TRUE = 0x11;
const NUMBER = 0x20;
const BIGINT = 0x28;
const DATE = 0x30;
const TEXT = 0x40;
const BYTES = 0x50;
const TUPLE = 0x60;
const TUPLE_END = 0x00;

/** The largest nesting depth of tuples. */
const DEEPEST = 16;

const writer = new KeyWriter();
/** Finds the end of bigint values. */
const framedBigint = bigint as BaseCodec<bigint>;

/**
 * Encodes a key.
 * @throws InvalidArgumentError for an invalid key: NaN, an invalid Date, `undefined`, an object.
 */
export function encodeJobKey(key: JobKey): Uint8Array {
  writer.length = 0;
  write(key, 0);
  return writer.copy();
}

function write(key: JobKey, depth: number): void {
  if (typeof key === 'boolean') writer.push(key ? TRUE : FALSE);
  else if (typeof key === 'number') {
    if (Number.isNaN(key)) throw wrongKey(key);
    writer.push(NUMBER);
    writer.append(float64.encode(key));
  } else if (typeof key === 'bigint') {
    writer.push(BIGINT);
    writer.append(bigint.encode(key));
  } else if (typeof key === 'string') writeEscaped(TEXT, Buffer.from(key));
  else if (key instanceof Date) {
    writer.push(DATE);
    writer.append(date.encode(key));
  } else if (key instanceof Uint8Array) writeEscaped(BYTES, key);
  else if (Array.isArray(key) && depth < DEEPEST) {
    writer.push(TUPLE);
    for (const part of key as readonly JobKey[]) write(part, depth + 1);
    writer.push(TUPLE_END);
  } else throw wrongKey(key);
}

function writeEscaped(tag: number, bytes: Uint8Array): void {
  writer.push(tag);
  const start = writer.length;
  writer.append(bytes);
  writer.escape(start);
  writer.push(0x00);
  writer.push(0x01);
}

function wrongKey(key: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `A mapper emitted ${describe(key)} as a key. Emit a string, number, bigint, boolean, Date, bytes, or an array of those.`,
  );
}

/** An encoded key as a string, one character per byte: the form in maps and in messages between threads. */
export function nameOfKey(key: JobKey): string {
  const bytes = encodeJobKey(key);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** The key of a name of {@link nameOfKey}. */
export function keyOfName(name: string): JobKey {
  return decodeJobKey(Buffer.from(name, 'latin1'));
}

/** Decodes a key that {@link encodeJobKey} encoded. */
export function decodeJobKey(bytes: Uint8Array): JobKey {
  return new Reader(bytes).read();
}

class Reader {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  read(): JobKey {
    const tag = this.bytes[this.at++];
    switch (tag) {
      case FALSE:
        return false;
      case TRUE:
        return true;
      case NUMBER:
        return float64.decode(this.take(8));
      case DATE:
        return date.decode(this.take(8));
      case BIGINT:
        return bigint.decode(this.take(framedBigint.endOf(this.bytes, this.at, 0) - this.at));
      case TEXT:
        return Buffer.from(this.escaped()).toString();
      case BYTES:
        return this.escaped();
      default:
        return this.tuple();
    }
  }

  private tuple(): JobKey[] {
    const parts: JobKey[] = [];
    while (this.bytes[this.at] !== TUPLE_END) parts.push(this.read());
    this.at++;
    return parts;
  }

  private take(count: number): Uint8Array {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  private escaped(): Uint8Array {
    const out: number[] = [];
    for (;;) {
      const byte = this.bytes[this.at++]!;
      if (byte === 0 && this.bytes[this.at++] === 0x01) return new Uint8Array(out);
      out.push(byte);
    }
  }
}
