import { SchemaError } from '../../errors.js';
import { describe, isRecord } from '../../table/checks.js';
import {
  BaseCodec,
  badBytes,
  badValue,
  getInteger,
  type KeyWriter,
  putInteger,
  type ScalarCodec,
  wrongLength,
} from './base.js';

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The value of a lower-case hex digit's character code, or -1. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x66) return code - 0x57;
  return -1;
}

class UuidCodec extends BaseCodec<string> {
  readonly name = 'uuid';
  readonly fixedLength = 16;
  override readonly uniform = 'bytes';

  write(value: string, out: KeyWriter): void {
    out.ensure(16);
    const { buffer } = out;
    let at = out.length;
    let valid = typeof value === 'string' && value.length === 36;
    for (let i = 0; valid && i < 36; ) {
      if (i === 8 || i === 13 || i === 18 || i === 23) {
        valid = value.charCodeAt(i++) === 0x2d;
      } else {
        const high = hexDigit(value.charCodeAt(i));
        const low = hexDigit(value.charCodeAt(i + 1));
        valid = high >= 0 && low >= 0;
        buffer[at++] = (high << 4) | low;
        i += 2;
      }
    }
    if (!valid) {
      throw badValue(
        this.name,
        value,
        'written as 8-4-4-4-12 lower-case hex digits (letters are never folded)',
      );
    }
    out.length = at;
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== 16) throw wrongLength(this, bytes, start, end);
    let text = '';
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
      text += HEX[bytes[start + i]!];
    }
    return text;
  }
}

/**
 * A UUID, a lower-case string in code: 16 bytes in the order of the strings. Tables are split evenly, as suits random
 * UUIDs.
 */
export const uuid: ScalarCodec<string> = new UuidCodec();

/** The digits of ULIDs: Crockford's base 32. */
export const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

class UlidCodec extends BaseCodec<string> {
  readonly name = 'ulid';
  readonly fixedLength = 16;

  write(value: string, out: KeyWriter): void {
    if (typeof value !== 'string' || !/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value)) {
      throw badValue(this.name, value, '26 upper-case characters of Crockford base 32, the first 0-7');
    }
    out.ensure(16);
    let bits = 0;
    let held = -2;
    for (let i = 0; i < 26; i++) {
      bits = (bits << 5) | CROCKFORD.indexOf(value[i]!);
      held += 5;
      if (held >= 8) {
        held -= 8;
        out.buffer[out.length++] = bits >> held;
        bits &= (1 << held) - 1;
      }
    }
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== 16) throw wrongLength(this, bytes, start, end);
    let text = '';
    let bits = 0;
    let held = 2;
    for (let i = start; i < end; i++) {
      bits = (bits << 8) | bytes[i]!;
      held += 8;
      while (held >= 5) {
        held -= 5;
        text += CROCKFORD[bits >> held];
        bits &= (1 << held) - 1;
      }
    }
    if (text.length !== 26) throw badBytes(this.name, bytes, start, end, 'it is too short');
    return text;
  }
}

/** A ULID, a string in code: 16 bytes in the order of the strings, and so in the order of time. */
export const ulid: ScalarCodec<string> = new UlidCodec();

/** The digits of KSUIDs. */
export const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const KSUID_BYTES = 20;
export const KSUID_DIGITS = 27;

class KsuidCodec extends BaseCodec<string> {
  readonly name = 'ksuid';
  readonly fixedLength = KSUID_BYTES;

  write(value: string, out: KeyWriter): void {
    const number = typeof value === 'string' && /^[0-9A-Za-z]{27}$/.test(value) ? numberOf(value) : undefined;
    if (number === undefined || number >> BigInt(8 * KSUID_BYTES) !== 0n) {
      throw badValue(this.name, value, '27 digits of base 62 (0-9, A-Z, a-z) of a number of 20 bytes');
    }
    out.ensure(KSUID_BYTES);
    for (let i = KSUID_BYTES - 1, rest = number; i >= 0; i--, rest >>= 8n) {
      out.buffer[out.length + i] = Number(rest & 0xffn);
    }
    out.length += KSUID_BYTES;
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== KSUID_BYTES) throw wrongLength(this, bytes, start, end);
    let number = 0n;
    for (let i = start; i < end; i++) number = (number << 8n) | BigInt(bytes[i]!);
    let text = '';
    for (let i = 0; i < KSUID_DIGITS; i++, number /= 62n) text = BASE_62[Number(number % 62n)]! + text;
    return text;
  }
}

function numberOf(digits: string): bigint {
  let number = 0n;
  for (const digit of digits) number = number * 62n + BigInt(BASE_62.indexOf(digit));
  return number;
}

/** A KSUID, a string in code: 20 bytes in the order of the strings, and so in the order of time, to the second. */
export const ksuid: ScalarCodec<string> = new KsuidCodec();

class EnumerationCodec<Name extends string> extends BaseCodec<Name> {
  readonly name: string;
  private readonly names: ReadonlyMap<number, Name>;

  constructor(
    readonly fixedLength: number,
    private readonly ids: ReadonlyMap<Name, number>,
  ) {
    super();
    this.names = new Map([...ids].map(([name, id]) => [id, name]));
    const list = [...ids].sort((a, b) => a[1] - b[1]).map(([name, id]) => `${JSON.stringify(name)}=${id}`);
    this.name = `enumeration(${list.join(',')}${fixedLength === 1 ? '' : `;${fixedLength}`})`;
  }

  write(value: Name, out: KeyWriter): void {
    const id = this.ids.get(value);
    if (id === undefined) throw badValue('enumeration', value, `one of ${[...this.ids.keys()].join(', ')}`);
    out.ensure(this.fixedLength);
    putInteger(out.buffer, out.length, this.fixedLength, id);
    out.length += this.fixedLength;
  }

  read(bytes: Uint8Array, start: number, end: number): Name {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const id = getInteger(bytes, start, this.fixedLength);
    const name = this.names.get(id);
    if (name === undefined)
      throw badBytes('enumeration', bytes, start, end, `its id is ${id}, which has no name`);
    return name;
  }
}

class NumericEnumCodec<Value extends number> extends BaseCodec<Value> {
  readonly name: string;

  constructor(
    readonly fixedLength: 1 | 2,
    private readonly values: ReadonlySet<number>,
  ) {
    super();
    const list = [...values].sort((a, b) => a - b);
    this.name = `numericEnum(${list.join(',')}${fixedLength === 1 ? '' : `;${fixedLength}`})`;
  }

  write(value: Value, out: KeyWriter): void {
    if (!this.values.has(value))
      throw badValue('numericEnum', value, `one of ${[...this.values].join(', ')}`);
    out.ensure(this.fixedLength);
    putInteger(out.buffer, out.length, this.fixedLength, value);
    out.length += this.fixedLength;
  }

  read(bytes: Uint8Array, start: number, end: number): Value {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const value = getInteger(bytes, start, this.fixedLength);
    if (!this.values.has(value)) throw badBytes('numericEnum', bytes, start, end, `no member is ${value}`);
    return value as Value;
  }
}

/**
 * A member of a TypeScript enum of numbers, or of a `const` object whose values are numbers, which is stored as that number:
 * `numericEnum(Priority)`. Members may be added and renamed; a number that is stored must not change its meaning. It takes one
 * byte, or two where a member is above 255; `bytes: 2` says so from the beginning. For an enum of texts use
 * `enumeration({ [Status.Open]: 1 })`.
 * @throws SchemaError on members that are not whole numbers from 0 to 65535.
 */
export function numericEnum<const E extends Readonly<Record<string, number | string>>>(
  members: E,
  options: { readonly bytes?: 1 | 2 } = {},
): ScalarCodec<Extract<E[keyof E], number>> {
  if (!isRecord(members) || !isRecord(options)) {
    throw new SchemaError(`numericEnum() takes an enum of numbers, not ${describe(members)}.`);
  }
  // TypeScript adds the names under their numbers: { Low: 1, 1: 'Low' }.
  const named = Object.entries(members).filter(([name]) => !/^(?:0|[1-9][0-9]*)$/.test(name));
  if (named.length === 0) throw new SchemaError('numericEnum(): it needs at least one member.');
  for (const [name, value] of named) {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 0xffff) {
      throw new SchemaError(
        `numericEnum(): the member "${name}" must be a whole number from 0 to 65535, not ${describe(value)}. ` +
          'For an enum of texts use enumeration({ [Status.Open]: 1 }).',
      );
    }
  }
  const values = new Set(named.map(([, value]) => value as number));
  const minBytes = Math.max(...values) > 0xff ? 2 : 1;
  const size: unknown = options['bytes'] ?? minBytes;
  if (size !== 2 && size !== minBytes) {
    throw new SchemaError(
      `numericEnum(): bytes must be ${minBytes === 1 ? '1 or 2' : '2'}, not ${describe(size)}.`,
    );
  }
  return new NumericEnumCodec<Extract<E[keyof E], number>>(size === 2 ? 2 : 1, values);
}

/**
 * One of several names, stored as ids that must never change: `enumeration({ open: 1, shipped: 2 })`. It takes one
 * byte, or two with `bytes: 2` for ids above 255. The order is that of the ids.
 */
export function enumeration<const Name extends string>(
  ids: Readonly<Record<Name, number>>,
  options: { readonly bytes?: 1 | 2 } = {},
): ScalarCodec<Name> {
  if (!isRecord(ids) || !isRecord(options)) {
    throw new SchemaError(
      `enumeration() takes an object that maps names to ids, { open: 1, shipped: 2 }, not ${describe(ids)}.`,
    );
  }
  const size: unknown = options['bytes'] ?? 1;
  if (size !== 1 && size !== 2) {
    throw new SchemaError(`enumeration(): bytes must be 1 or 2, not ${describe(size)}.`);
  }
  const entries = Object.entries(ids) as [Name, number][];
  if (entries.length === 0) throw new SchemaError('enumeration(): it needs at least one name.');
  for (const [name, id] of entries) {
    if (!Number.isInteger(id) || id < 0 || id >= 256 ** size) {
      throw new SchemaError(
        `enumeration(): the id of "${name}" must be a whole number from 0 to ${256 ** size - 1}.`,
      );
    }
  }
  if (new Set(entries.map(([, id]) => id)).size !== entries.length) {
    throw new SchemaError('enumeration(): two names have the same id.');
  }
  return new EnumerationCodec(size, new Map(entries));
}
