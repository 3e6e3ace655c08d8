/** Generates values for synthetic rows: the n-th value of each codec, and which n a row gets. */

import { hash } from 'node:crypto';
import { codecKind, decimalText, enumerationNames, enumerationNumbers, ipv6, ksuid } from '../codec/index.js';
import { GEOHASH_DIGITS } from '../key/codecs/geohash.js';
import { CROCKFORD } from '../key/codecs/ids.js';
import { murmur3 } from '../key/digest.js';

/** The values of a codec, numbered. */
export interface ValueSpace {
  /** How many values there are, or can be distinguished. */
  readonly size: number;
  /** How many distinct values a property has by default. */
  readonly usual: number;
  /** The n-th value, from 0; the same for all properties with this codec. */
  at(n: number): unknown;
}

const MAX = Number.MAX_SAFE_INTEGER;
const DAY = 86_400_000;
const FIRST_DATE = Date.UTC(2026, 0, 1);
const WORDS =
  'amber birch cedar delta ember fjord grove heath inlet jetty karst larch maple north ochre prism'.split(
    ' ',
  );

/** Undefined for a codec that is not one of Rowan's. */
export function valueSpace(codecName: string): ValueSpace | undefined {
  const known = codecKind(codecName);
  if (known === undefined) return undefined;
  const { kind, inner, count } = known;
  switch (kind) {
    case 'desc':
    case 'reverse':
      return valueSpace(inner);
    case 'reverseTimestamp':
      return inner.includes('number') ? space(MAX, (n) => FIRST_DATE + n, 365 * DAY) : WHOLE['date'];
    case 'fixedString':
      return space(Math.min(MAX, 36 ** count), (n) => n.toString(36).padStart(count, '0'));
    case 'geohash':
      return space(Math.min(MAX, 32 ** count), (n) => geohashDigits(n, count));
    case 'fixedBytes':
      return space(Math.min(MAX, 256 ** count), (n) => bytesOf(n, count));
    case 'textNumber':
    case 'reverseDigits': {
      const size = Math.min(MAX, 10 ** count);
      if (inner.includes('string')) return space(size, (n) => String(n).padStart(count, '0'));
      return space(size, inner.includes('bigint') ? BigInt : same);
    }
    case 'decimal':
      return space(MAX, (n) => decimalText(BigInt(n), count));
    case 'enumeration': {
      const names = enumerationNames(known);
      return space(names.length, (n) => names[n]);
    }
    case 'numericEnum': {
      const members = enumerationNumbers(known);
      return space(members.length, (n) => members[n]);
    }
    default:
      return WHOLE[kind];
  }
}

/** Lists of one to three values. */
export function listsOf(items: ValueSpace | undefined): ValueSpace | undefined {
  if (items === undefined) return undefined;
  const { size, usual, at } = items;
  return {
    size,
    usual,
    at: (n) => Array.from({ length: 1 + (n % 3) }, (_, more) => at((n + more) % size)),
  };
}

function space(size: number, at: (n: number) => unknown, usual = 1_000_000): ValueSpace {
  return { size, at, usual: Math.min(size, usual) };
}

const same = (n: number): number => n;
/** 0 to 127, then down from -1. */
const signed = (bits: number): ValueSpace =>
  space(2 ** bits, (n) => (n < 2 ** (bits - 1) ? n : 2 ** (bits - 1) - 1 - n));
const dates = space(100_000 * DAY, (n) => new Date(FIRST_DATE + n), 365 * DAY);

/** Of codecs that store midnights. */
export const DAYS = space(100_000, (n) => new Date(FIRST_DATE + n * DAY), 365);

const WHOLE: Readonly<Record<string, ValueSpace>> = {
  text: space(MAX, (n) => `${WORDS[n % WORDS.length]!}-${n.toString(36)}`, 2 ** 40),
  boolean: space(2, (n) => n === 1),
  bytes: space(MAX, (n) => bytesOf(n, 16), 2 ** 40),
  date: dates,
  timeBucket: dates,
  int8: signed(8),
  int16: signed(16),
  int32: signed(32),
  uint8: space(2 ** 8, same),
  uint16: space(2 ** 16, same),
  uint32: space(2 ** 32, same),
  int53: space(MAX, same),
  int64: space(MAX, BigInt),
  uint64: space(MAX, BigInt),
  bigint: space(MAX, BigInt),
  // Hundredths (and quarters) are distinct at either width.
  float64: space(MAX, (n) => n / 100),
  float: space(2 ** 20, (n) => n / 4),
  float32: space(2 ** 20, (n) => n / 4),
  uuid: space(MAX, uuidOf, 2 ** 40),
  ulid: space(MAX, ulidOf, 2 ** 40),
  ksuid: space(MAX, ksuidOf, 2 ** 40),
  ipv4: space(2 ** 32, (n) => bytesOf(n, 4).join('.'), 2 ** 24),
  ipv6: space(MAX, ipv6Of, 2 ** 40),
  cidr: space(2 ** 24, (n) => `${[...bytesOf(n, 3), 0].join('.')}/24`, 2 ** 20),
  json: space(MAX, (n) => ({ name: WORDS[n % WORDS.length]!, n })),
};

function digest(n: number): string {
  return hash('sha256', String(n));
}

/** Big-endian, so that values ascend. */
function bytesOf(n: number, count: number): Uint8Array {
  const bytes = Buffer.alloc(count);
  for (let i = count - 1, rest = n; i >= 0 && rest > 0; i--, rest = Math.floor(rest / 256))
    bytes[i] = rest % 256;
  return new Uint8Array(bytes);
}

function uuidOf(n: number): string {
  const d = digest(n);
  return `${d.slice(0, 8)}-${d.slice(8, 12)}-4${d.slice(13, 16)}-a${d.slice(17, 20)}-${d.slice(20, 32)}`;
}

/** A cell: base 32 with the digits of geohashes. */
function geohashDigits(n: number, count: number): string {
  let text = '';
  for (let i = 0, rest = n; i < count; i++, rest = Math.floor(rest / 32))
    text = GEOHASH_DIGITS[rest % 32]! + text;
  return text;
}

/** Ten digits of time, one millisecond for each value, and sixteen pseudorandom ones. */
function ulidOf(n: number): string {
  let time = FIRST_DATE + n;
  let head = '';
  for (let i = 0; i < 10; i++, time = Math.floor(time / 32)) head = CROCKFORD[time % 32]! + head;
  const tail = [...Buffer.from(digest(n), 'hex').subarray(0, 16)].map((byte) => CROCKFORD[byte % 32]!);
  return head + tail.join('');
}

/** 32 bits of time, one second for each value, and 128 pseudorandom bits. */
function ksuidOf(n: number): string {
  return ksuid.decode(
    Uint8Array.of(...bytesOf(n % 2 ** 32, 4), ...Buffer.from(digest(n), 'hex').subarray(0, 16)),
  );
}

/** Of the range for documentation, 2001:db8::/32. */
function ipv6Of(n: number): string {
  return ipv6.decode(Uint8Array.of(0x20, 0x01, 0x0d, 0xb8, ...bytesOf(n, 12)));
}

/** Some words, for texts that are not searched. */
export function sentence(random: () => number): string {
  const length = 1 + Math.floor(random() * 12);
  return Array.from({ length }, () => WORDS[Math.floor(random() * WORDS.length)]!).join(' ');
}

/** Pseudorandom numbers in [0, 1), determined by the seed, the row's number and the name. */
export function randomOf(seed: number, row: number, name: number): () => number {
  const place = Buffer.alloc(12);
  place.writeBigUInt64BE(BigInt(row));
  place.writeUInt32BE(name >>> 0, 8);
  let state = murmur3(place, 0, place.length, seed);
  const word = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  return () => (word() * 2 ** 21 + (word() >>> 11)) / 2 ** 53;
}

/**
 * Chooses one of `count` values: uniformly with skew 0, else lower ones more often. Value k (from 1) has the share of
 * the integral of x^-skew from k to k + 1, which approximates Zipf's law.
 */
export function draw(random: number, count: number, skew: number): number {
  const end = count + 1;
  let x: number;
  if (skew === 0) x = 1 + random * count;
  else if (skew === 1) x = Math.exp(random * Math.log(end));
  else x = (1 + random * (end ** (1 - skew) - 1)) ** (1 / (1 - skew));
  return Math.min(count, Math.floor(x)) - 1;
}
