import { RowanError } from '../errors.js';
import { badValue } from '../key/codecs/base.js';
import { inferKeyCodec } from '../key/codecs/index.js';
import { RawLongCodec } from '../key/codecs/raw-numbers.js';

/** Encodes and decodes the values of a column. Stateless and immutable. */
export interface ValueCodec<T> {
  /** The name in schema hashes, explain and errors, e.g. "text", "int32", "decimal(2)". Frozen: it is never renamed. */
  readonly name: string;
  /** Whether byte order is the order of values, so that the engine can evaluate comparisons. */
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
  /**
   * The order of values, if it differs from the order of bytes; negative if `a` comes first. Default: JavaScript's `<`.
   */
  compare?(a: T, b: T): number;
}

/** Whether a codec can encode a value. */
export function accepts(codec: { encode(value: unknown): unknown }, value: unknown): boolean {
  try {
    codec.encode(value);
    return true;
  } catch {
    return false;
  }
}

// — The scalar codecs of columns. All are key codecs, so a value has the same bytes in a key and in a column, and byte
// order is the order of values. The exception is the counter, which has HBase's own bytes.

export {
  bigint,
  boolean,
  bytes,
  cidr,
  cidrRange,
  date,
  decimal,
  enumeration,
  fixedBytes,
  fixedString,
  float,
  float32,
  float64,
  type GeoBox,
  geoBoxAround,
  geohash,
  geohashBox,
  geohashCells,
  geohashOf,
  int8,
  int16,
  int32,
  int53,
  int64,
  ipv4,
  ipv6,
  ksuid,
  numericEnum,
  text,
  textNumber,
  uint8,
  uint16,
  uint32,
  uint64,
  ulid,
  uuid,
} from '../key/codecs/index.js';

/** A value that increments add to: 8 bytes of two's complement, as HBase's `Increment` stores it. */
export const counter: ValueCodec<bigint> = new RawLongCodec('counter');

/** A codec's kind and options, parsed from its name. */
export interface CodecKind {
  /** "int32" of `int32`, "fixedString" of `fixedString(8)`. */
  readonly kind: string;
  /** The text in the parentheses. */
  readonly inner: string;
  /** The number at the start of `inner`; NaN if there is none. */
  readonly count: number;
}

/** Parses the name of a codec; undefined for a name that is not one of Rowan's codecs. */
export function codecKind(name: string): CodecKind | undefined {
  const [, kind, inner = ''] = /^(\w+)(?:\((.*)\))?$/s.exec(name) ?? [];
  return kind === undefined ? undefined : { kind, inner, count: Number.parseInt(inner, 10) };
}

/** The names of an enumeration, in the order of their ids. */
export function enumerationNames({ inner }: CodecKind): string[] {
  return [...inner.matchAll(/"(?:[^"\\]|\\.)*"(?==\d)/gs)].map(([name]) => JSON.parse(name) as string);
}

/** The members of a numeric enumeration, ascending. */
export function enumerationNumbers({ inner }: CodecKind): number[] {
  return inner.split(';')[0]!.split(',').map(Number);
}

/** Formats 1250n with 2 decimals as "12.50". */
export function decimalText(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  if (scale === 0) return sign + digits;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const PATTERN = /^(-?)([0-9]+)(?:\.([0-9]+))?$/;

/** HBase's `Bytes.toBytes(BigDecimal)`. */
class RawDecimalCodec implements ValueCodec<string> {
  readonly name = 'raw.decimal';
  readonly ordered = false;

  encode(value: string): Uint8Array {
    const match = typeof value === 'string' ? PATTERN.exec(value) : null;
    if (match === null) throw badValue(this.name, value, 'a string of digits, like "-12.50"');
    const fraction = match[3] ?? '';
    if (value.length > MAX_LENGTH || fraction.length > MAX_SCALE) {
      throw badValue(
        this.name,
        value,
        `a string of at most ${MAX_LENGTH} characters, at most ${MAX_SCALE} of them decimals`,
      );
    }
    const magnitude = BigInt(match[2]! + fraction);
    const unscaled = match[1] === '-' ? -magnitude : magnitude;
    let length = 1;
    while (BigInt.asIntN(8 * length, unscaled) !== unscaled) length++;
    const out = new Uint8Array(4 + length);
    new DataView(out.buffer).setInt32(0, fraction.length);
    let rest = BigInt.asUintN(8 * length, unscaled);
    for (let i = out.length - 1; i >= 4; i--, rest >>= 8n) out[i] = Number(rest & 0xffn);
    return out;
  }

  compare(a: string, b: string): number {
    return compareDecimals(this.checked(a), this.checked(b));
  }

  private checked(value: unknown): string {
    if (typeof value === 'string' && value.length <= 2 * MAX_LENGTH && PATTERN.test(value)) return value;
    throw badValue(this.name, value, 'a string of digits, like "-12.50"');
  }

  decode(bytes: Uint8Array): string {
    if (bytes.length < 5 || bytes.length > MAX_BYTES) {
      throw new RowanError(
        'ERR_CODEC',
        `${bytes.length} bytes are not a valid raw.decimal, which has 4 bytes of scale and a number of at most ${MAX_BYTES - 4} bytes.`,
      );
    }
    const scale = new DataView(bytes.buffer, bytes.byteOffset).getInt32(0);
    let unscaled = 0n;
    for (let i = 4; i < bytes.length; i++) unscaled = (unscaled << 8n) | BigInt(bytes[i]!);
    unscaled = BigInt.asIntN(8 * (bytes.length - 4), unscaled);
    const [first, second] = [bytes[4]!, bytes[5]];
    if (second !== undefined && first === (second >= 0x80 ? 0xff : 0)) {
      throw new RowanError('ERR_CODEC', 'Damaged raw.decimal: its number has a superfluous leading byte.');
    }
    if (Math.abs(scale) > MAX_SCALE)
      throw new RowanError('ERR_CODEC', `Damaged raw.decimal: its scale is ${scale}.`);
    const sign = unscaled < 0n ? '-' : '';
    const digits = (unscaled < 0n ? -unscaled : unscaled).toString();
    if (scale <= 0) return sign + (unscaled === 0n ? digits : digits + '0'.repeat(-scale));
    const padded = digits.padStart(scale + 1, '0');
    return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
  }
}

const MAX_SCALE = 10_000;
/** The longest number that is encoded or decoded: parsing a longer one costs more than a cell should. */
const MAX_LENGTH = 20_000;
const MAX_BYTES = 4 + 8310;

/** Compares by value: 2 before 10, and 1.50 equal to 1.5. */
function compareDecimals(a: string, b: string): number {
  const scale = Math.max(fractionOf(a).length, fractionOf(b).length);
  const left = scaled(a, scale);
  const right = scaled(b, scale);
  return left < right ? -1 : left > right ? 1 : 0;
}

function fractionOf(value: string): string {
  return value.split('.')[1] ?? '';
}

function scaled(value: string, scale: number): bigint {
  const [whole = ''] = value.split('.');
  return (
    BigInt(whole.replace('-', '') + fractionOf(value).padEnd(scale, '0')) * (value.startsWith('-') ? -1n : 1n)
  );
}

/**
 * Java's `Bytes.toBytes(BigDecimal)`: 4 bytes of scale, then the unscaled number. The scale is preserved: "1.50" stays
 * "1.50".
 */
export const rawDecimal: ValueCodec<string> = new RawDecimalCodec();

/**
 * Chooses the codec of a column declared without one, by the type that the compiler emitted for the property
 * (`design:type`): String text, Number float64, Boolean, Date, BigInt int64, Uint8Array and Buffer bytes. Undefined for
 * any other type: the codec must then be given.
 */
export function inferValueCodec(designType: unknown): ValueCodec<unknown> | undefined {
  return inferKeyCodec(designType);
}
