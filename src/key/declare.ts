/** The functions that create the elements of `@RowKey(...)`. Each throws a SchemaError on wrong arguments. */

import type { BytesLike } from '../bytes/index.js';
import { SchemaError } from '../errors.js';
import { describe, isList as isAnyList, isInstance, isRecord, optionsProblem } from '../table/checks.js';
import type { KeyCodec } from './codecs/base.js';
import {
  type BucketElement,
  DIGEST_LENGTH,
  type HashAlgorithm,
  type HashElement,
  type KeyValue,
  type LiteralElement,
  type PartElement,
  type PartTransform,
  type RecordTypeElement,
  type SaltElement,
  type TimeBucketElement,
} from './elements.js';

/** A key part: one property, stored by an order-preserving codec. Without a codec the part is text. */
export function part<const Name extends string>(
  name: Name,
): PartElement<Name, string, { [P in Name]: string }, true>;
export function part<const Name extends string, T>(
  name: Name,
  codec: KeyCodec<T>,
): PartElement<Name, T, { [P in Name]: T }, false>;
export function part(name: string, codec?: KeyCodec<unknown>): PartElement {
  return makePart(name, codec, undefined);
}

/**
 * A text part with its characters (code points) reversed. It spreads keys that differ in their last
 * characters.
 */
export function reverse<const Name extends string>(
  name: Name,
): PartElement<Name, string, { [P in Name]: string }> {
  return makePart(name, undefined, { kind: 'reverse' });
}

/**
 * A domain name with its labels reversed: `www.apache.org` is stored as `org.apache.www`, so that the hosts
 * of one domain are adjacent.
 */
export function reverseDomain<const Name extends string>(
  name: Name,
): PartElement<Name, string, { [P in Name]: string }> {
  return makePart(name, undefined, { kind: 'reverseDomain' });
}

interface DigitTypes {
  number: number;
  string: string;
  bigint: bigint;
}

/**
 * A number stored as its decimal digits in reverse, padded with zeros to `width`. `as` is the property's
 * type: a whole number (default), a bigint, or a string of exactly `width` digits (phone and identity
 * numbers).
 */
export function reverseDigits<const Name extends string, As extends keyof DigitTypes = 'number'>(
  name: Name,
  width: number,
  as?: As,
): PartElement<Name, DigitTypes[As], { [P in Name]: DigitTypes[As] }> {
  checkInteger('reverseDigits', 'width', width, 1, 38);
  checkOneOf('reverseDigits', 'as', as ?? 'number', ['number', 'string', 'bigint']);
  return makePart(name, undefined, { kind: 'reverseDigits', width, as: as ?? 'number' });
}

interface TimestampTypes {
  date: Date;
  number: number;
}

/**
 * A time stored as Long.MAX_VALUE - ms, in 8 bytes or with `text` as 19 digits, so that the newest row comes
 * first. `as` is the property's type: a Date (default) or a number of milliseconds.
 */
export function reverseTimestamp<const Name extends string, As extends keyof TimestampTypes = 'date'>(
  name: Name,
  options: { readonly as?: As; readonly text?: boolean } = {},
): PartElement<Name, TimestampTypes[As], { [P in Name]: TimestampTypes[As] }> {
  checkOptions('reverseTimestamp', options, { as: true, text: true });
  checkOneOf('reverseTimestamp', 'as', options.as ?? 'date', ['date', 'number']);
  const transform = {
    kind: 'reverseTimestamp',
    as: options.as ?? 'date',
    text: options.text ?? false,
  } as const;
  return makePart(name, undefined, transform);
}

/**
 * A text stored as a numeric id of `bytes` bytes (default 4, at most 8) that a dictionary assigns. Long names
 * that repeat in millions of keys then take a few bytes each. Ids are assigned in the order of first use, so
 * the text supports no ranges.
 */
export function substitute<const Name extends string>(
  name: Name,
  dictionary: string,
  options: { readonly bytes?: number } = {},
): PartElement<Name, string, { [P in Name]: string }> {
  checkOptions('substitute', options, { bytes: true });
  checkName('substitute', dictionary, 'dictionary');
  const bytes = options.bytes ?? 4;
  checkInteger('substitute', 'bytes', bytes, 1, 8);
  return makePart(name, undefined, { kind: 'substitute', dictionary, bytes });
}

export interface HashOptions {
  /** Default md5. `murmur3` is the 32-bit x86 variant, stored as 4 bytes big-endian. */
  readonly algorithm?: HashAlgorithm;
  /**
   * How many leading bytes of the digest the key keeps. Default all: md5 16, sha1 20, sha256 32, murmur3 4.
   */
  readonly bytes?: number;
  /**
   * Whether the property itself follows the digest. Default false: then it cannot be decoded from the key, so
   * it must also be stored in a column, and only equality finds it.
   */
  readonly keep?: boolean;
  /**
   * `hex` stores lower-case hex digits, which are readable in the shell and take twice the space. Default binary.
   */
  readonly encoding?: 'binary' | 'hex';
  /**
   * Hashes the number modulo this value (as decimal digits), which groups keys. Default: hashes the number
   * itself.
   */
  readonly modulo?: number;
}

/**
 * A digest of one or several properties, computed over the bytes of their codecs. For text these are its
 * UTF-8 bytes, as in `MessageDigest.digest(Bytes.toBytes(text))`.
 *
 * The codec of a property is the one in `part(name, codec)` if given, else that of the key part which holds
 * the property whole, else that of its column. Several properties that the key does not hold whole are
 * delimited: each but the last that has no fixed length is escaped and ended (00 becomes 00 FF, then 00 01).
 * Parts of fixed length are hashed unchanged: `hash([part('from', fixedString(3)), part('to',
 * fixedString(3)), 'day'])` is the digest of `CTUPEK20190821`.
 * @throws SchemaError when an argument is wrong.
 */
export function hash<const Name extends string, T = KeyValue>(
  of: Name | PartElement<Name, T>,
  options: HashOptions & { readonly keep: true },
): HashElement<readonly [Name], true, { readonly [N in Name]: T }>;
export function hash<const Name extends string, T = KeyValue>(
  of: Name | PartElement<Name, T>,
  options?: HashOptions & { readonly keep?: false },
): HashElement<readonly [Name], false, { readonly [N in Name]: T }>;
export function hash<const Of extends readonly [HashedPart, ...HashedPart[]]>(
  of: Of,
  options?: HashOptions & { readonly keep?: false },
): HashElement<HashedNames<Of>, false, HashedTypes<Of>>;
export function hash(
  of: HashedPart | readonly HashedPart[],
  options: HashOptions = {},
): HashElement<readonly string[], boolean, unknown> {
  checkOptions('hash', options, HASH_OPTIONS);
  const hashed: readonly HashedPart[] = isList(of) ? of : [of];
  if (hashed.length === 0 || !hashed.every((one) => typeof one === 'string' || isPart(one))) {
    throw declarationError(
      `hash() takes a part's name or part(...), or several in a list, not ${describe(of)}.`,
    );
  }
  checkOneOf('hash', 'encoding', options.encoding ?? 'binary', ['binary', 'hex']);
  const transformed = hashed.filter(isPart).find(({ transform }) => transform !== undefined);
  if (transformed !== undefined) {
    const [name] = transformed.parts;
    throw declarationError(
      `hash(): "${name}" is ${transformed.transform!.kind}(...). Hash the part itself, without the transform.`,
    );
  }
  const algorithm = options.algorithm ?? 'md5';
  if (!Object.hasOwn(DIGEST_LENGTH, algorithm)) {
    const known = Object.keys(DIGEST_LENGTH).join(', ');
    throw declarationError(`hash(): ${describe(algorithm)} is not an algorithm. Use one of ${known}.`);
  }
  if (options.keep === true && hashed.length > 1) {
    throw declarationError(
      'hash(): `keep` works with one part only. To keep several parts, list them after the hash() element.',
    );
  }
  const bytes = options.bytes ?? DIGEST_LENGTH[algorithm];
  checkInteger(`hash of ${algorithm}`, 'bytes', bytes, 1, DIGEST_LENGTH[algorithm]);
  if (options.modulo !== undefined) checkInteger('hash', 'modulo', options.modulo, 1, 2 ** 31);
  return Object.freeze({
    kind: 'hash',
    parts: Object.freeze(hashed.map((one) => checkName('hash', isPart(one) ? one.parts[0] : one))),
    exact: options.keep ?? false,
    codecs: Object.freeze(hashed.map((one) => (isPart(one) ? one.codec : undefined))),
    algorithm,
    bytes,
    encoding: options.encoding ?? 'binary',
    modulo: options.modulo,
  });
}

const HASH_OPTIONS: Readonly<Record<keyof HashOptions, true>> = {
  algorithm: true,
  bytes: true,
  keep: true,
  encoding: true,
  modulo: true,
};

/** One argument of `hash`: a part's name, or a part. */
type HashedPart = string | PartElement;

type HashedNames<Of extends readonly HashedPart[]> = {
  readonly [At in keyof Of]: Of[At] extends PartElement<infer Name> ? Name : Of[At] & string;
};

type HashedTypes<Of extends readonly HashedPart[]> = {
  readonly [One in Of[number] as One extends PartElement<infer Name> ? Name : One & string]: One extends {
    readonly $value?: infer T;
  }
    ? NonNullable<T>
    : KeyValue;
};

/**
 * A time bucket: the start of the time span of `width` (`30s`, `15m`, `1h`, `1d`, `1w`, counted from
 * 1970-01-01 UTC) that contains a Date. It takes 8 bytes of ms, or 4 bytes of seconds with `unit: 's'` (as in
 * OpenTSDB). If the key also holds the Date whole, the bucket only spreads or groups rows; otherwise the Date
 * must be stored in a column, or be the time span of a packed row.
 */
export function timeBucket<const Name extends string>(
  name: Name,
  width: string,
  options: { readonly unit?: 'ms' | 's' } = {},
): TimeBucketElement<Name, Date> {
  checkOptions('timeBucket', options, { unit: true });
  const unit = options.unit ?? 'ms';
  checkOneOf('timeBucket', 'unit', unit, ['ms', 's']);
  const ms = parseWidth(width);
  if (unit === 's' && ms % 1000 !== 0) {
    throw declarationError(
      `timeBucket("${name}", "${width}"): with unit "s" the width must be whole seconds.`,
    );
  }
  return Object.freeze({
    kind: 'timeBucket',
    parts: Object.freeze([checkName('timeBucket', name)] as const),
    exact: false,
    width: ms,
    unit,
    descending: false,
  }) as TimeBucketElement<Name, Date>;
}

export interface SaltOptions<Over extends string = string> {
  /**
   * The parts that the salt is computed from. Default: all parts after it. Entities with the same values
   * there have the same salt.
   */
  readonly over?: readonly Over[];
  /** `murmur3` (default), or `phoenix`: Phoenix's function, over all bytes after the salt. */
  readonly algorithm?: 'murmur3' | 'phoenix';
  /**
   * `hash` (default), or `random`: the salt is drawn at each write. This suits rows that are only appended and searched, and never addressed by their keys. The class declares it in the type of its key, `RandomlySalted`.
   */
  readonly assign?: 'hash' | 'random';
}

const SALT_OPTIONS: Readonly<Record<keyof SaltOptions, true>> = { over: true, algorithm: true, assign: true };

/**
 * Spreads rows over `buckets` (1..256) leading bytes, or over the given prefixes of equal length (`['a-',
 * 'b-']`). The salt is murmur3 (x86, 32 bits, seed 0, unsigned) of the parts' bytes in the key, modulo the
 * number of salts. Literals and the record type are excluded, so that the records of one parent stay
 * adjacent.
 */
export function salt(buckets: number | readonly BytesLike[]): SaltElement<'hash', never>;
export function salt<const Over extends string>(
  buckets: number | readonly BytesLike[],
  over: readonly Over[],
): SaltElement<'hash', Over>;
export function salt<const Over extends string = never>(
  buckets: number | readonly BytesLike[],
  options: SaltOptions<Over> & { readonly assign: 'random' },
): SaltElement<'random', Over>;
export function salt<const Over extends string = never>(
  buckets: number | readonly BytesLike[],
  options: SaltOptions<Over> & { readonly assign?: 'hash' },
): SaltElement<'hash', Over>;
export function salt(
  buckets: number | readonly BytesLike[],
  over?: readonly string[] | SaltOptions,
): SaltElement {
  const options: SaltOptions = isNames(over) ? { over } : over === undefined ? {} : over;
  checkOptions('salt', options, SALT_OPTIONS);
  if (typeof buckets !== 'number' && !isAnyList(buckets)) {
    throw declarationError(`salt() takes a number of salts or a list of prefixes, not ${describe(buckets)}.`);
  }
  const prefixes = typeof buckets === 'number' ? undefined : buckets.map(ownBytes);
  const count = typeof buckets === 'number' ? buckets : buckets.length;
  checkInteger('salt', 'number of salts', count, 1, 256);
  const length = prefixes?.[0]?.length ?? 1;
  if (length === 0 || prefixes?.some((prefix) => prefix.length !== length)) {
    throw declarationError('salt(): the prefixes must all have the same length of one byte or more.');
  }
  if (prefixes !== undefined && new Set(prefixes.map(String)).size !== count) {
    throw declarationError('salt(): the prefixes must be distinct.');
  }
  const algorithm = options.algorithm ?? 'murmur3';
  if (algorithm === 'phoenix' && (options.over !== undefined || prefixes !== undefined)) {
    throw declarationError(
      'salt(): a Phoenix salt is one byte computed from the whole key. Omit `over` and prefixes.',
    );
  }
  if (options.over?.length === 0)
    throw declarationError('salt(): `over` is empty. Name at least one part, or omit it.');
  for (const name of options.over ?? []) checkName('salt', name);
  return Object.freeze({
    kind: 'salt',
    parts: Object.freeze([] as const),
    exact: false,
    buckets: count,
    prefixes: prefixes && Object.freeze(prefixes),
    over: options.over && Object.freeze([...options.over]),
    algorithm,
    assign: options.assign ?? 'hash',
  });
}

/**
 * A numeric or Date part modulo `buckets` (1..256), in one byte. It spreads a rising sequence over regions.
 */
export function bucket<const Of extends string>(of: Of, buckets: number): BucketElement<Of> {
  checkInteger('bucket', 'number of buckets', buckets, 1, 256);
  return Object.freeze({
    kind: 'bucket',
    parts: Object.freeze([] as const),
    exact: false,
    of: checkName('bucket', of),
    buckets,
  });
}

/** Constant bytes (text as UTF-8) in every key. */
export function literal(value: BytesLike): LiteralElement {
  const bytes = ownBytes(value);
  if (bytes.length === 0) throw declarationError('literal(): the value is empty.');
  return Object.freeze({ kind: 'literal', parts: Object.freeze([] as const), exact: false, bytes });
}

/** The entity's record type, one byte. It distinguishes the entities of one table. */
export function recordType(): RecordTypeElement {
  return Object.freeze({ kind: 'recordType', parts: Object.freeze([] as const), exact: false });
}

/** The same part in descending order. */
export function descendingElement<E extends PartElement | TimeBucketElement>(element: E): E {
  if (element.kind !== 'part' && element.kind !== 'timeBucket') {
    const { kind } = element as { kind: string };
    throw declarationError(
      `desc(): ${kind}() has no order. Apply desc() to a part, a time bucket or a codec.`,
    );
  }
  return Object.freeze({ ...element, descending: !element.descending });
}

function makePart<Name extends string, T>(
  name: Name,
  codec: KeyCodec<T> | undefined,
  transform: PartTransform | undefined,
): PartElement<Name, T, { [P in Name]: T }> {
  return Object.freeze({
    kind: 'part',
    parts: Object.freeze([checkName(transform?.kind ?? 'part', name)] as const),
    exact: true,
    codec,
    descending: false,
    transform: transform && Object.freeze(transform),
  });
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

function parseWidth(width: string): number {
  const span = spanOf(width);
  if (span !== undefined) return span;
  throw declarationError(
    `timeBucket(): ${describe(width)} is not a width. Use a number followed by ms, s, m, h, d or w: "1h".`,
  );
}

/** The milliseconds of a span of time, such as "15m". Undefined for other texts. */
export function spanOf(text: unknown): number | undefined {
  const match = typeof text === 'string' ? /^([1-9][0-9]{0,8})(ms|s|m|h|d|w)$/.exec(text) : null;
  return match === null ? undefined : Number(match[1]) * UNIT_MS[match[2]!]!;
}

function ownBytes(value: BytesLike): Uint8Array {
  if (typeof value === 'string') return new TextEncoder().encode(value);
  if (isInstance(value, Uint8Array)) return Uint8Array.from(value);
  throw declarationError(`Bytes of a key must be a string or a Uint8Array, not ${describe(value)}.`);
}

/** Callers without types may pass null. */
function checkOptions(element: string, options: unknown, known: Readonly<Record<string, true>>): void {
  const problem = optionsProblem(`${element}()`, options, known);
  if (problem !== undefined) throw declarationError(problem);
}

function checkOneOf(element: string, option: string, value: unknown, known: readonly unknown[]): void {
  if (known.includes(value)) return;
  throw declarationError(
    `${element}(): ${option} must be one of ${known.join(', ')}, not ${describe(value)}.`,
  );
}

function isNames(value: readonly string[] | SaltOptions | undefined): value is readonly string[] {
  return isAnyList(value);
}

function isPart(value: HashedPart): value is PartElement {
  return isRecord(value) && Reflect.get(value, 'kind') === 'part';
}

function isList(value: HashedPart | readonly HashedPart[]): value is readonly HashedPart[] {
  return isAnyList(value);
}

function checkName<Name extends string>(element: string, name: Name, of = 'part'): Name {
  if (typeof name !== 'string' || (name as string) === '') {
    throw declarationError(
      `${element}(): the ${of}'s name must be a non-empty string, not ${describe(name)}.`,
    );
  }
  return name;
}

function checkInteger(element: string, what: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw declarationError(
      `${element}: ${what} must be a whole number from ${min} to ${max}, not ${describe(value)}.`,
    );
  }
}

function declarationError(message: string): SchemaError {
  return new SchemaError(message);
}
