/**
 * The elements of a row key, left to right, as plain frozen data: what stands in `@RowKey(...)`. They declare; the
 * layout (`compileKeyLayout`) checks and encodes them.
 *
 * Three sorts: *parts* hold one property so that it can be read back; *digests* (`hash`, `timeBucket`) hold something
 * computed from properties; *derived* elements (`salt`, `bucket`) and constants (`literal`, `recordType`) are no part
 * of conditions. A digest of a property that another element holds whole is derived too.
 */

import type { KeyCodec } from './codecs/base.js';

/** What can stand in a row key. */
export type KeyValue = string | number | bigint | boolean | Date | Uint8Array;

/** How a part's bytes are made of its value; absent for the codec alone. */
export type PartTransform =
  | { readonly kind: 'reverse' }
  | { readonly kind: 'reverseDomain' }
  | { readonly kind: 'reverseDigits'; readonly width: number; readonly as: 'number' | 'string' | 'bigint' }
  | { readonly kind: 'reverseTimestamp'; readonly as: 'date' | 'number'; readonly text: boolean }
  | { readonly kind: 'substitute'; readonly dictionary: string; readonly bytes: number };

/**
 * Holds one property; `T` is the type the property must have. `Row` is the same as an object type: an entity that has
 * the property. (Held against the class by variance alone, which costs the compiler least; `never`: nothing is known.)
 * `Plain`: whether it says neither codec nor transform, so that it is text in a key, and in an index what its column stores.
 */
export interface PartElement<
  Name extends string = string,
  T = unknown,
  in Row = never,
  out Plain extends boolean = boolean,
> {
  readonly kind: 'part';
  /** Only in types. */
  readonly $row?: (row: Row) => void;
  readonly parts: readonly [Name];
  readonly exact: true;
  readonly codec: KeyCodec<T> | undefined;
  readonly descending: boolean;
  readonly transform: PartTransform | undefined;
  /** Only in types. */
  readonly $plain?: Plain;
  /** Only in types. */
  readonly $value?: T;
}

export type HashAlgorithm = 'md5' | 'sha1' | 'sha256' | 'murmur3';

/**
 * Holds a digest of one or more properties; `exact` when the property itself follows it. `Types` is an object of what the
 * named properties must be.
 */
export interface HashElement<
  Names extends readonly string[] = readonly string[],
  Exact extends boolean = boolean,
  Types = unknown,
> {
  readonly kind: 'hash';
  /** Only in types: what the property must be depends on the other elements. */
  readonly $row?: 'digest';
  readonly parts: Names;
  readonly exact: Exact;
  /** Of each part; undefined for that of the property. */
  readonly codecs: readonly (KeyCodec<unknown> | undefined)[];
  readonly algorithm: HashAlgorithm;
  /** How many bytes of the digest are kept. */
  readonly bytes: number;
  readonly encoding: 'binary' | 'hex';
  /** The digest is taken of the value modulo this, written in decimal digits. */
  readonly modulo: number | undefined;
  /** Only in types. */
  readonly $types?: Types;
}

/** Holds the start of the span of time that a property is in. */
export interface TimeBucketElement<Name extends string = string, T = unknown> {
  readonly kind: 'timeBucket';
  /** Only in types: as of a hash. */
  readonly $row?: 'digest';
  readonly parts: readonly [Name];
  readonly exact: false;
  readonly width: number;
  readonly unit: 'ms' | 's';
  readonly descending: boolean;
  readonly $value?: T;
}

/** `Over`: the parts that it names. */
export interface SaltElement<
  Assign extends 'hash' | 'random' = 'hash' | 'random',
  Over extends string = string,
> {
  readonly kind: 'salt';
  readonly parts: readonly [];
  readonly exact: false;
  readonly buckets: number;
  /** What stands in the key for each salt; undefined for one byte 0..buckets-1. */
  readonly prefixes: readonly Uint8Array[] | undefined;
  /** The parts it is computed from; undefined for all parts behind it. */
  readonly over: readonly Over[] | undefined;
  readonly algorithm: 'murmur3' | 'phoenix';
  readonly assign: Assign;
}

export interface BucketElement<Of extends string = string> {
  readonly kind: 'bucket';
  readonly parts: readonly [];
  readonly exact: false;
  readonly of: Of;
  readonly buckets: number;
}

export interface LiteralElement {
  readonly kind: 'literal';
  readonly parts: readonly [];
  readonly exact: false;
  readonly bytes: Uint8Array;
}

export interface RecordTypeElement {
  readonly kind: 'recordType';
  readonly parts: readonly [];
  readonly exact: false;
}

/** Elements that are no part of conditions, and that the parts with these names say. */
export type DerivedElement<Parts extends string = string> =
  | SaltElement<'hash', Parts>
  | BucketElement<Parts>
  | LiteralElement
  | RecordTypeElement;

/** Anything that may stand in `@RowKey(...)`. */
export type KeyElement = PartElement | HashElement | TimeBucketElement | DerivedElement | SaltElement;

/**
 * The names of the queryable parts of `Elements`, in the order of conditions: a digest counts at its place unless the
 * property is held whole elsewhere. What `declare static readonly key` must be.
 */
export type ElementNames<Elements extends readonly KeyElement[]> = NamesIn<Elements, ExactNames<Elements>>;

type ExactNames<Elements extends readonly KeyElement[]> = Extract<
  Elements[number],
  { readonly exact: true }
>['parts'][number];

type NamesIn<Elements extends readonly KeyElement[], Exact extends string> = Elements extends readonly [
  infer First extends KeyElement,
  ...infer Rest extends readonly KeyElement[],
]
  ? First['exact'] extends true
    ? [...First['parts'], ...NamesIn<Rest, Exact>]
    : First['parts'][number] extends Exact
      ? NamesIn<Rest, Exact>
      : [...First['parts'], ...NamesIn<Rest, Exact>]
  : [];

/** The types that the named properties must have (a property may be narrower). */
export type ElementTypes<Elements extends readonly KeyElement[]> = {
  readonly [Name in ExactNames<Elements>]: HeldType<
    Extract<Elements[number], { readonly exact: true }>,
    Name
  >;
} & {
  readonly [Name in Exclude<Elements[number]['parts'][number], ExactNames<Elements>>]: HeldType<
    Elements[number],
    Name
  >;
};

/** What the property `Name` must be by those of the elements that hold it. */
export type HeldType<E, Name extends string> = E extends {
  readonly kind: 'hash';
  readonly $types?: infer Types;
}
  ? Name extends keyof NonNullable<Types>
    ? NonNullable<Types>[Name]
    : never
  : E extends { readonly parts: readonly [Name]; readonly $value?: infer T }
    ? NonNullable<T>
    : never;

/** Bytes of each digest. */
export const DIGEST_LENGTH: Readonly<Record<HashAlgorithm, number>> = Object.freeze({
  md5: 16,
  sha1: 20,
  sha256: 32,
  murmur3: 4,
});
