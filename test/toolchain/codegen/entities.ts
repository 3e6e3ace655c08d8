/** Entities with every codec, in columns and in keys, and with every element of keys: what generated code is held against. */

import fc from 'fast-check';
import { avro, avroCodec, counter, json, rawDecimal, type ValueCodec } from '../../../src/codec/index.js';
import {
  bigint,
  boolean,
  bucket,
  bytes,
  cidr,
  date,
  decimal,
  desc,
  enumeration,
  fixedBytes,
  fixedString,
  float,
  float32,
  float64,
  geohash,
  hash,
  int8,
  int16,
  int32,
  int53,
  int64,
  ipv4,
  ipv6,
  type KeyElement,
  kiji,
  ksuid,
  literal,
  numericEnum,
  part,
  phoenix,
  raw,
  recordType,
  reverse,
  reverseDigits,
  reverseDomain,
  reverseTimestamp,
  type ScalarCodec,
  salt,
  substitute,
  text,
  textNumber,
  timeBucket,
  uint8,
  uint16,
  uint32,
  uint64,
  ulid,
  uuid,
} from '../../../src/key/index.js';

type AnyCodec = ScalarCodec<never>;

/** Codecs of keys and columns. */
export const SCALARS: readonly AnyCodec[] = [
  text,
  bytes,
  int8,
  int16,
  int32,
  int53,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  bigint,
  decimal(0),
  decimal(7),
  float64,
  float32,
  boolean,
  date,
  uuid,
  ulid,
  ksuid,
  ipv4,
  ipv6,
  cidr,
  geohash(5),
  geohash(8),
  enumeration({ open: 1, 'a "quoted" \\ name\n': 2, é: 255 }),
  enumeration({ first: 0, last: 65535 }, { bytes: 2 }),
  numericEnum({ low: 1, high: 200 }),
  numericEnum({ low: 1, high: 300 }),
  fixedString(9),
  fixedString(5, '\0'),
  fixedBytes(3),
  fixedBytes(4, 0),
  textNumber(6),
  textNumber(30, 'bigint'),
  raw.int16,
  raw.int32,
  raw.int53,
  raw.int64,
  raw.date,
  raw.boolean,
  raw.float32,
  raw.float64,
  raw.joined('#'),
  phoenix.unsignedTinyint,
  phoenix.unsignedSmallint,
  phoenix.unsignedInt,
  phoenix.unsignedLong,
  phoenix.float,
  phoenix.double,
  phoenix.varchar,
  phoenix.timestamp,
  phoenix.unsignedDate,
  phoenix.unsignedTime,
  kiji.string,
] as unknown as readonly AnyCodec[];

/** Codecs without a terminator: the last part of a key. */
export const RESTS = [raw.string, raw.bytes, phoenix.varbinary] as unknown as readonly AnyCodec[];

/** Codecs of columns alone. */
export const VALUES: readonly ValueCodec<never>[] = [
  float,
  counter,
  rawDecimal,
  json(),
  avroCodec(avro.record('Line', { sku: avro.string, count: avro.int })),
  desc(int32),
  desc(text),
] as unknown as readonly ValueCodec<never>[];

const millis = (from: string, to: string) =>
  fc.date({ min: new Date(from), max: new Date(to), noInvalidDate: true });
/** What Python's datetime has. */
const DATES = millis('0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z');
const SINCE_1970 = millis('1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z');
const signed = (bits: bigint) => fc.bigInt({ min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n });
const WORDS = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .map((value) => value.replaceAll('\0', '').replaceAll('#', ''));
const single = (withNaN: boolean) => fc.float({ noNaN: !withNaN });
const DECIMALS = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(12))
  .map(([unscaled, scale]) => {
    const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
    const fraction = scale === 0 ? '' : `.${digits.slice(-scale)}`;
    return `${unscaled < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${fraction}`;
  });

/** Values of codecs that `rowan-orm/testing/fast-check` has none of, or dates that Python lacks; by the codec's name. */
export const ARBITRARIES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  date: DATES,
  'raw.date': DATES,
  'phoenix.timestamp': DATES,
  'phoenix.unsignedDate': SINCE_1970,
  'phoenix.unsignedTime': SINCE_1970,
  reverseTimestamp: DATES,
  'reverseTimestamp(text)': SINCE_1970,
  'reverseTimestamp(number)': fc.maxSafeInteger(),
  'reverseTimestamp(number,text)': fc.maxSafeNat(),
  'raw.int16': fc.integer({ min: -32768, max: 32767 }),
  'raw.int32': fc.integer(),
  'raw.int53': fc.maxSafeInteger(),
  'raw.int64': signed(64n),
  'raw.boolean': fc.boolean(),
  'raw.float32': single(true),
  'raw.float64': fc.double(),
  'raw.string': WORDS,
  'raw.joined("#")': WORDS,
  'raw.bytes': fc.uint8Array({ maxLength: 20 }),
  'raw.decimal': DECIMALS,
  'phoenix.unsignedTinyint': fc.nat(127),
  'phoenix.unsignedSmallint': fc.nat(32767),
  'phoenix.unsignedInt': fc.nat(2 ** 31 - 1),
  'phoenix.unsignedLong': fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  'phoenix.float': single(false).map((value) => value + 0),
  'phoenix.double': fc.double({ noNaN: true }).map((value) => value + 0),
  'phoenix.varchar': WORDS,
  'phoenix.varbinary': fc.uint8Array({ maxLength: 20 }),
  'kiji.string': WORDS,
  'fixedString(5,"\\u0000")': WORDS.filter((value) => Buffer.byteLength(value) <= 5),
  'fixedBytes(4,0)': fc.uint8Array({ maxLength: 4 }).filter((value) => value.at(-1) !== 0),
  'reverse(text)': WORDS,
  'reverseDomain(text)': fc
    .array(fc.constantFrom('www', 'a', '', 'org', 'é'))
    .map((labels) => labels.join('.')),
  'reverseDigits(8)': fc.nat(99_999_999),
  'reverseDigits(25,bigint)': fc.bigInt({ min: 0n, max: 10n ** 25n - 1n }),
  'reverseDigits(11,string)': fc.stringMatching(/^[0-9]{11}$/),
  'id3(metrics)': fc.nat(2 ** 24 - 1),
  'id8(hosts)': fc.maxSafeNat(),
  counter: signed(64n),
  'avro(Line)': fc.record(
    { sku: fc.string({ maxLength: 9 }), count: fc.integer() },
    { noNullPrototype: true },
  ),
};

interface KeyCase {
  readonly name: string;
  readonly elements: readonly KeyElement[];
  readonly type?: number;
  /** Parts that the key does not hold whole, with the codecs of their columns. */
  readonly stored?: Readonly<Record<string, AnyCodec>>;
  readonly of?: Readonly<Record<string, fc.Arbitrary<unknown>>>;
}

const SECONDS = millis('1970-01-01T00:00:00.000Z', '2106-01-01T00:00:00.000Z');
const a = part('a', text);
const own = (codec: unknown): AnyCodec => codec as AnyCodec;

/** Every element of keys, alone and with those that it depends on. */
export const KEYS: readonly KeyCase[] = [
  { name: 'Literal', elements: [literal('v"1'), a, recordType(), part('b', uint16)], type: 7 },
  { name: 'SaltAll', elements: [salt(16), a, part('b', int32)] },
  { name: 'SaltOver', elements: [salt(5, ['a']), a, recordType(), part('b', desc(text))], type: 2 },
  { name: 'SaltBehind', elements: [a, salt(7, ['a', 'c']), part('b', uint8), part('c', text)] },
  { name: 'SaltPrefixes', elements: [salt(['aa', 'zz', 'bb']), a] },
  {
    name: 'SaltPhoenix',
    elements: [salt(30, { algorithm: 'phoenix' }), part('a', phoenix.varchar), part('b', int64)],
  },
  { name: 'SaltRandom', elements: [salt(4, { assign: 'random' }), a] },
  { name: 'SaltOfDigest', elements: [salt(16), hash(a)], stored: { a: own(text) } },
  { name: 'BucketNumber', elements: [bucket('a', 7), part('a', int64), part('b', text)] },
  { name: 'BucketDate', elements: [part('b', text), bucket('a', 100), part('a', date)] },
  { name: 'HashWhole', elements: [hash('a', { bytes: 3 }), a] },
  { name: 'HashKept', elements: [hash(a, { algorithm: 'sha1', bytes: 2, keep: true }), part('b', uint8)] },
  { name: 'HashDescending', elements: [hash('a'), part('a', desc(text))] },
  {
    name: 'HashModulo',
    elements: [hash(part('a', int64), { modulo: 100, bytes: 3, encoding: 'hex', keep: true })],
  },
  {
    name: 'HashSeveral',
    elements: [hash([a, part('b', text), part('c', uint32)], { algorithm: 'sha256' }), part('d', uint8)],
    stored: { a: own(text), b: own(text), c: own(uint32) },
  },
  {
    name: 'HashMurmur',
    elements: [hash([a, part('b', int32)], { algorithm: 'murmur3', encoding: 'hex' })],
    stored: { a: own(text), b: own(int32) },
  },
  { name: 'Reversed', elements: [reverse('a'), reverseDomain('b'), reverseDigits('c', 8)] },
  {
    name: 'ReversedMore',
    elements: [reverseDigits('a', 25, 'bigint'), reverseDigits('b', 11, 'string'), reverse('c')],
  },
  { name: 'ReverseTime', elements: [a, reverseTimestamp('b'), reverseTimestamp('c', { as: 'number' })] },
  {
    name: 'ReverseTimeText',
    elements: [reverseTimestamp('a', { text: true }), reverseTimestamp('b', { as: 'number', text: true })],
  },
  {
    name: 'BucketOfTime',
    elements: [part('b', text), timeBucket('a', '1d'), part('c', uint8), part('a', date)],
  },
  {
    name: 'BucketOfTimeDescending',
    elements: [desc(timeBucket('a', '1h')), part('b', text)],
    stored: { a: own(date) },
  },
  {
    name: 'OpenTsdb',
    elements: [
      substitute('a', 'metrics', { bytes: 3 }),
      timeBucket('b', '1h', { unit: 's' }),
      part('c', bytes),
    ],
    stored: { b: own(date) },
    of: { b: SECONDS },
  },
  {
    name: 'Dictionary',
    elements: [substitute('a', 'hosts', { bytes: 8 }), part('b', kiji.string), part('c', kiji.int)],
  },
];
