/** Values of columns and key parts: whether a codec accepts them, their string forms, and their JSON Schemas. */

import {
  accepts,
  type CodecKind,
  codecKind,
  enumerationNames,
  enumerationNumbers,
  isLost,
} from '../codec/index.js';
import { storedCodec, storedType, valueOfStored } from '../key/index.js';
import { isInstance, isList, isPlainObject } from '../table/checks.js';

/** The part of a codec that is used. */
export interface AnyCodec {
  readonly name: string;
  encode(value: unknown): unknown;
}

/**
 * The value that the codec accepts: the given one or, with `coerce`, the one that a string represents. Codecs are
 * strict, so at most one interpretation of a string fits; the string itself is tried first. With `coerce` the values of
 * a transformed codec are given in their stored form, or as instances of their class.
 * @throws the codec's error for the value as given.
 */
export function readValue(codec: AnyCodec, given: unknown, coerce: boolean): unknown {
  const stored = storedCodec(codec);
  if (coerce && stored !== codec && !isValueObject(given)) {
    return valueOfStored(codec, readValue(stored, given, true));
  }
  if (coerce) {
    // The errors of codecs that refuse every text would take 20 us each.
    const likely = likelyReadingOf(codec)?.(given);
    if (likely !== undefined && accepts(codec, likely)) return likely;
  }
  try {
    codec.encode(given);
    return given;
  } catch (refused) {
    if (!coerce) throw refused;
    for (const read of READINGS) {
      const value = read(given);
      if (value !== undefined && accepts(codec, value)) return value;
    }
    throw refused;
  }
}

/** Whether it is an instance of a class that JSON and texts of HTTP do not have, and so no stored form. */
function isValueObject(given: unknown): boolean {
  return (
    typeof given === 'object' &&
    given !== null &&
    !isPlainObject(given) &&
    !isList(given) &&
    !isLost(given) &&
    !isInstance(given, Date)
  );
}

/** The longest string that is parsed as a number. */
const MAX_DIGITS = 1000;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const WHOLE = /^-?\d+$/;
const TIME = /^([+-]\d{6}|\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

type Reading = (given: unknown) => unknown;

const asNumber: Reading = (given) =>
  isShort(given) && NUMBER.test(given) ? finite(Number(given)) : undefined;
const asBigInt: Reading = (given) => (isShort(given) && WHOLE.test(given) ? BigInt(given) : undefined);
const asBoolean: Reading = (given) => (given === 'true' ? true : given === 'false' ? false : undefined);
const asDate: Reading = (given) => (isShort(given) ? dateOf(given) : undefined);
const asBytes: Reading = (given) =>
  typeof given === 'string' && BASE64.test(given) ? bytesOf(given) : undefined;

const READINGS: readonly Reading[] = [
  asNumber,
  asBigInt,
  (given) => (Number.isSafeInteger(given) ? BigInt(given as number) : undefined),
  asBoolean,
  asDate,
  asBytes,
];

/** By the type of a codec's values in JSON Schema. */
const READING_OF_JSON: Readonly<Record<string, Reading>> = {
  integer: asNumber,
  number: asNumber,
  boolean: asBoolean,
};
const READING_OF_TYPE = { bigint: asBigInt, date: asDate, bytes: asBytes } as const;

const likelyReadings = new WeakMap<AnyCodec, Reading | null>();

/** The reading of texts for a codec whose values are all of one type, and no texts. */
function likelyReadingOf(codec: AnyCodec): Reading | undefined {
  let known = likelyReadings.get(codec);
  if (known === undefined) {
    const type = storedType(codec);
    known = type ? READING_OF_TYPE[type] : (READING_OF_JSON[String(valueSchema(codec)['type'])] ?? null);
    likelyReadings.set(codec, known);
  }
  return known ?? undefined;
}

function isShort(given: unknown): given is string {
  return typeof given === 'string' && given.length <= MAX_DIGITS;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** Parses a day, or a time with its zone. Days that do not exist are refused. */
function dateOf(text: string): Date | undefined {
  const [, year, month, day] = TIME.exec(text) ?? [];
  if (year === undefined) return undefined;
  const date = new Date(text);
  const noon = new Date(`${year}-${month}-${day}T00:00:00.000Z`);
  if (Number.isNaN(date.getTime()) || noon.getUTCDate() !== Number(day)) return undefined;
  return date;
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** The kind of a codec's values: those of `raw` have the values of other codecs, in other bytes. */
function kindOf({ name }: Pick<AnyCodec, 'name'>): CodecKind | undefined {
  if (!name.startsWith('raw.')) return codecKind(name);
  const known = codecKind(name.slice('raw.'.length));
  return known?.kind === 'string' || known?.kind === 'joined' ? codecKind('text') : known;
}

/** Whether values are text of any kind, on which prefix conditions work. */
export function isText(codec: Pick<AnyCodec, 'name'>): boolean {
  const known = kindOf(codec);
  if (known?.kind === 'desc') return isText({ name: known.inner });
  return ['text', 'fixedString', 'geohash', 'reverse', 'reverseDomain'].includes(known?.kind ?? '');
}

/** The subset of JSON Schema that is generated. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

const INTEGER = (minimum: number, maximum: number): JsonSchema => ({ type: 'integer', minimum, maximum });
const LONG: JsonSchema = { type: 'string', pattern: '^-?[0-9]+$', format: 'int64' };
const NATURAL: JsonSchema = { type: 'string', pattern: '^[0-9]+$' };
const DATE: JsonSchema = { type: 'string', format: 'date-time' };
const BYTES: JsonSchema = { type: 'string', contentEncoding: 'base64' };
const FLOAT: JsonSchema = { type: 'number' };

const KINDS: Readonly<Record<string, JsonSchema>> = {
  text: { type: 'string' },
  boolean: { type: 'boolean' },
  bytes: BYTES,
  date: DATE,
  int8: INTEGER(-128, 127),
  int16: INTEGER(-32768, 32767),
  int32: INTEGER(-2147483648, 2147483647),
  uint8: INTEGER(0, 255),
  uint16: INTEGER(0, 65535),
  uint32: INTEGER(0, 4294967295),
  int53: INTEGER(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  int64: LONG,
  counter: LONG,
  uint64: NATURAL,
  bigint: { type: 'string', pattern: '^-?[0-9]+$' },
  float64: FLOAT,
  float32: FLOAT,
  float: FLOAT,
  uuid: { type: 'string', format: 'uuid' },
  ulid: { type: 'string', minLength: 26, maxLength: 26 },
  ksuid: { type: 'string', pattern: '^[0-9A-Za-z]{27}$' },
  ipv4: { type: 'string', format: 'ipv4' },
  ipv6: { type: 'string', format: 'ipv6' },
  cidr: { type: 'string', pattern: '^[0-9a-f.:]+/[0-9]{1,3}$' },
};

/** The JSON Schema of a codec's values. For a custom codec it is empty, which accepts everything. */
export function valueSchema(codec: Pick<AnyCodec, 'name'>): JsonSchema {
  const known = kindOf(codec);
  if (known === undefined) return {};
  const { kind, inner, count } = known;
  const options = inner.split(',');
  switch (kind) {
    case 'desc':
      return valueSchema({ name: inner });
    case 'reverse':
    case 'reverseDomain':
      return { type: 'string' };
    case 'reverseTimestamp':
      return options.includes('number') ? KINDS['int53']! : DATE;
    case 'fixedString':
      return { type: 'string', maxLength: count };
    case 'geohash':
      return { type: 'string', pattern: `^[0-9b-hjkmnp-z]{${count}}$` };
    case 'fixedBytes':
      return BYTES;
    case 'decimal':
      if (inner === '') return { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$' };
      return { type: 'string', pattern: count > 0 ? `^-?[0-9]+(\\.[0-9]{1,${count}})?$` : '^-?[0-9]+$' };
    case 'enumeration':
      return { type: 'string', enum: enumerationNames(known) };
    case 'numericEnum':
      return { type: 'integer', enum: enumerationNumbers(known) };
    case 'textNumber':
    case 'reverseDigits':
      if (options.includes('bigint') || options.includes('string')) return NATURAL;
      return { type: 'integer', minimum: 0 };
    default:
      return KINDS[kind] ?? {};
  }
}
