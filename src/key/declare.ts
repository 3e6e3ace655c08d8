/** The functions that make the elements of `@RowKey(...)`. Wrong arguments throw a SchemaError at once. */

import type { BytesLike } from '../bytes/index.js';
import { SchemaError } from '../errors.js';
import { describe, isList as isAnyList, isInstance, isRecord } from '../table/checks.js';
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

/** One property by an order-preserving codec; without one it is text. */
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

/** The text with its characters (code points) in reverse: spreads keys that differ in their last characters. */
export function reverse<const Name extends string>(
  name: Name,
): PartElement<Name, string, { [P in Name]: string }> {
  return makePart(name, undefined, { kind: 'reverse' });
}

/** A domain name with its labels in reverse, `www.apache.org` as `org.apache.www`: one domain's hosts stand together. */
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
 * The decimal digits of a number, padded with zeros to `width`, in reverse. `as` is the property's type: a whole
 * number (default), a bigint, or a text of exactly `width` digits (phone and identity numbers).
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
 * Long.MAX_VALUE - ms as 8 bytes, or as 19 digits with `text`: the newest row comes first. `as` is the property's
 * type, a Date (default) or a number of milliseconds.
 */
export function reverseTimestamp<const Name extends string, As extends keyof TimestampTypes = 'date'>(
  name: Name,
  options: { readonly as?: As; readonly text?: boolean } = {},
): PartElement<Name, TimestampTypes[As], { [P in Name]: TimestampTypes[As] }> {
  checkOptions('reverseTimestamp', options);
  checkOneOf('reverseTimestamp', 'as', options.as ?? 'date', ['date', 'number']);
  const transform = {
    kind: 'reverseTimestamp',
    as: options.as ?? 'date',
    text: options.text ?? false,
  } as const;
  return makePart(name, undefined, transform);
}

/**
 * A text as a numeric id of `bytes` bytes (default 4, at most 8) that a dictionary gives: long names that repeat in
 * millions of keys take a few bytes each. Ids are given in the order of first use, so ranges on the text do not work.
 */
export function substitute<const Name extends string>(
  name: Name,
  dictionary: string,
  options: { readonly bytes?: number } = {},
): PartElement<Name, string, { [P in Name]: string }> {
  checkOptions('substitute', options);
  checkName('substitute', dictionary, 'dictionary');
  const bytes = options.bytes ?? 4;
  checkInteger('substitute', 'bytes', bytes, 1, 8);
  return makePart(name, undefined, { kind: 'substitute', dictionary, bytes });
}

export interface HashOptions {
  /** Default md5. murmur3 is the 32-bit x86 one, its 4 bytes big-endian. */
  readonly algorithm?: HashAlgorithm;
  /** How many leading bytes of the digest stand in the key. Default all: md5 16, sha1 20, sha256 32, murmur3 4. */
  readonly bytes?: number;
  /**
   * Whether the property follows the digest. Default false: then the key cannot give it back, so it must be stored in
   * a column too, and only equality finds it.
   */
  readonly keep?: boolean;
  /** Lower-case hex digits in place of bytes: twice as long, readable in the shell. Default binary. */
  readonly encoding?: 'binary' | 'hex';
  /** Takes the digest of the number modulo this (as decimal digits) and so groups keys. Default: of the value. */
  readonly modulo?: number;
}

/**
 * A digest of a property, or of several one after the other: of the bytes that their codecs give (of a text: its UTF-8), as
 * `MessageDigest.digest(Bytes.toBytes(text))` has it. The codec is that of `part(name, codec)` where it is given so, else that
 * of the part which stands in the key whole, else that of the property's column. Several that do not stand in the key whole
 * are told apart: each but the last that has no fixed length is ended (00 as 00 FF, then 00 01). Parts of fixed length are
 * taken as they are: `hash([part('from', fixedString(3)), part('to', fixedString(3)), 'day'])` is the digest of
 * `CTUPEK20190821`.
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
  checkOptions('hash', options);
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
    throw declarationError(`hash(): "${name}" is ${transformed.transform!.kind}(...); hash the plain part.`);
  }
  const algorithm = options.algorithm ?? 'md5';
  if (!Object.hasOwn(DIGEST_LENGTH, algorithm)) {
    const known = Object.keys(DIGEST_LENGTH).join(', ');
    throw declarationError(`hash(): ${describe(algorithm)} is no algorithm. Write one of ${known}.`);
  }
  if (options.keep === true && hashed.length > 1) {
    throw declarationError(
      'hash(): write the parts behind a digest of several; `keep` goes with one part only.',
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

/** What `hash` takes one or more of. */
export type HashedPart = string | PartElement;

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
 * The start of the span of `width` (`30s`, `15m`, `1h`, `1d`, `1w`, counted from 1970-01-01 UTC) that a Date is in:
 * 8 bytes of ms, or 4 bytes of seconds with `unit: 's'` (as OpenTSDB). Where the key holds the Date whole as well, the
 * bucket only spreads or groups; otherwise the Date must be stored in a column or be the window of a packed row.
 */
export function timeBucket<const Name extends string>(
  name: Name,
  width: string,
  options: { readonly unit?: 'ms' | 's' } = {},
): TimeBucketElement<Name, Date> {
  checkOptions('timeBucket', options);
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
  /** The parts the salt is computed from; default all parts behind it. Entities that share them share their salt. */
  readonly over?: readonly Over[];
  /** `murmur3` (default), or `phoenix`: Phoenix's function of all bytes behind the salt. */
  readonly algorithm?: 'murmur3' | 'phoenix';
  /**
   * `hash` (default), or `random`: drawn at each write, for rows that are added and found, and never meant by their keys
   * alone. Their class says so in its key, `RandomlySalted`.
   */
  readonly assign?: 'hash' | 'random';
}

/**
 * Spreads rows over `buckets` (1..256) leading bytes, or over given prefixes of one length (`['a-', 'b-']`): murmur3
 * (x86, 32 bits, seed 0, unsigned) of the bytes of the parts as they stand in the key, modulo the number of salts.
 * Literals and the record type are left out, so that the records of one parent stand together.
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
  checkOptions('salt', options);
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
    throw declarationError('salt(): the prefixes must differ from one another.');
  }
  const algorithm = options.algorithm ?? 'murmur3';
  if (algorithm === 'phoenix' && (options.over !== undefined || prefixes !== undefined)) {
    throw declarationError(
      'salt(): Phoenix salts with one byte over the whole key; leave out `over` and prefixes.',
    );
  }
  if (options.over?.length === 0) throw declarationError('salt(): `over` names no part.');
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

/** The value of a numeric or Date part modulo `buckets` (1..256), one byte: spreads a rising sequence. */
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

/** Bytes (text as UTF-8) that stand in every key. */
export function literal(value: BytesLike): LiteralElement {
  const bytes = ownBytes(value);
  if (bytes.length === 0) throw declarationError('literal(): the value is empty.');
  return Object.freeze({ kind: 'literal', parts: Object.freeze([] as const), exact: false, bytes });
}

/** The entity's record type, one byte: what tells the entities of one table apart. */
export function recordType(): RecordTypeElement {
  return Object.freeze({ kind: 'recordType', parts: Object.freeze([] as const), exact: false });
}

/** The same part in descending order. */
export function descendingElement<E extends PartElement | TimeBucketElement>(element: E): E {
  if (element.kind !== 'part' && element.kind !== 'timeBucket') {
    const { kind } = element as { kind: string };
    throw declarationError(
      `desc(): ${kind}() has no order. Write desc() around a part, a time bucket or a codec.`,
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
  const match = typeof width === 'string' ? /^([1-9][0-9]{0,8})(ms|s|m|h|d|w)$/.exec(width) : null;
  if (match === null) {
    throw declarationError(
      `timeBucket(): ${describe(width)} is no width. Write a number and ms, s, m, h, d or w: "1h".`,
    );
  }
  return Number(match[1]) * UNIT_MS[match[2]!]!;
}

function ownBytes(value: BytesLike): Uint8Array {
  if (typeof value === 'string') return new TextEncoder().encode(value);
  if (isInstance(value, Uint8Array)) return Uint8Array.from(value);
  throw declarationError(`Bytes of a key are a text or a Uint8Array, not ${describe(value)}.`);
}

/** What was given as options, which callers without types may leave null. */
function checkOptions(element: string, options: unknown): void {
  if (isRecord(options)) return;
  throw declarationError(`${element}(): the options are an object, not ${describe(options)}.`);
}

function checkOneOf(element: string, option: string, value: unknown, known: readonly unknown[]): void {
  if (known.includes(value)) return;
  throw declarationError(`${element}(): ${option} is one of ${known.join(', ')}, not ${describe(value)}.`);
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
      `${element}(): the ${of}'s name is a text that is not empty, not ${describe(name)}.`,
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
