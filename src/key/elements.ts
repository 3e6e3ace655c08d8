/**
 * The elements of a row key, left to right, as plain frozen data: the arguments of `@RowKey(...)`. They only
 * declare; the layout (`compileKeyLayout`) checks and encodes them.
 *
 * There are three kinds. *Parts* hold one property so that it can be decoded. *Digests* (`hash`,
 * `timeBucket`) hold a value computed from properties. *Derived* elements (`salt`, `bucket`) and constants
 * (`literal`, `recordType`) take no conditions. A digest of a property that another element holds whole is
 * derived too.
 */

import type { KeyCodec } from './codecs/base.js';

/** The types of values in a row key. */
export type KeyValue = string | number | bigint | boolean | Date | Uint8Array;

/** How a part's value is transformed before its codec; absent if it is not. */
export type PartTransform =
  | { readonly kind: 'reverse' }
  | { readonly kind: 'reverseDomain' }
  | { readonly kind: 'reverseDigits'; readonly width: number; readonly as: 'number' | 'string' | 'bigint' }
  | { readonly kind: 'reverseTimestamp'; readonly as: 'date' | 'number'; readonly text: boolean }
  | { readonly kind: 'substitute'; readonly dictionary: string; readonly bytes: number };

/**
 * Holds one property of type `T`. `Row` is the same as an object type: an entity with this property. (The
 * class is checked against it by variance alone, which is cheapest for the compiler; `never` means unknown.)
 * `Plain`: the part gives neither codec nor transform; it is then text in a key, and has its column's codec
 * in an index.
 */
export interface PartElement<
  Name extends string = string,
  T = unknown,
  in Row = never,
  out Plain extends boolean = boolean,
> {
  readonly kind: 'part';
  /** Exists only in types. */
  readonly $row?: (row: Row) => void;
  readonly parts: readonly [Name];
  readonly exact: true;
  readonly codec: KeyCodec<T> | undefined;
  readonly descending: boolean;
  readonly transform: PartTransform | undefined;
  /** Exists only in types. */
  readonly $plain?: Plain;
  /** Exists only in types. */
  readonly $value?: T;
}

export type HashAlgorithm = 'md5' | 'sha1' | 'sha256' | 'murmur3';

/**
 * Holds a digest of one or more properties. `exact` is true if the property itself follows it. `Types` is an
 * object type with the types of the hashed properties.
 */
export interface HashElement<
  Names extends readonly string[] = readonly string[],
  Exact extends boolean = boolean,
  Types = unknown,
> {
  readonly kind: 'hash';
  /** Exists only in types: the property's type depends on the other elements. */
  readonly $row?: 'digest';
  readonly parts: Names;
  readonly exact: Exact;
  /** One for each part; undefined to use the property's codec. */
  readonly codecs: readonly (KeyCodec<unknown> | undefined)[];
  readonly algorithm: HashAlgorithm;
  /** How many bytes of the digest the key keeps. */
  readonly bytes: number;
  readonly encoding: 'binary' | 'hex';
  /** The digest is computed over the value modulo this, in decimal digits. */
  readonly modulo: number | undefined;
  /** Exists only in types. */
  readonly $types?: Types;
}

/** Holds the start of the time span that contains the property's time. */
export interface TimeBucketElement<Name extends string = string, T = unknown> {
  readonly kind: 'timeBucket';
  /** Exists only in types, as in `HashElement`. */
  readonly $row?: 'digest';
  readonly parts: readonly [Name];
  readonly exact: false;
  readonly width: number;
  readonly unit: 'ms' | 's';
  readonly descending: boolean;
  readonly $value?: T;
}

/** A salt. `Over` are the names of the parts that it is computed from. */
export interface SaltElement<
  Assign extends 'hash' | 'random' = 'hash' | 'random',
  Over extends string = string,
> {
  readonly kind: 'salt';
  readonly parts: readonly [];
  readonly exact: false;
  readonly buckets: number;
  /** The bytes in the key for each salt; undefined for one byte 0..buckets-1. */
  readonly prefixes: readonly Uint8Array[] | undefined;
  /** The parts that the salt is computed from; undefined for all parts after it. */
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

/** Elements without conditions of their own, which are computed from the parts with these names. */
export type DerivedElement<Parts extends string = string> =
  | SaltElement<'hash', Parts>
  | BucketElement<Parts>
  | LiteralElement
  | RecordTypeElement;

/** Any element of `@RowKey(...)`. */
export type KeyElement = PartElement | HashElement | TimeBucketElement | DerivedElement | SaltElement;

/**
 * The names of the queryable parts of `Elements`, in the order of conditions. A digest counts at its position
 * unless another element holds its property whole. `declare static readonly key` must have this type.
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

/** The required types of the named properties (a property's own type may be narrower). */
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

/** The required type of the property `Name`, given the elements that hold it. */
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

/** The length of each digest in bytes. */
export const DIGEST_LENGTH: Readonly<Record<HashAlgorithm, number>> = Object.freeze({
  md5: 16,
  sha1: 20,
  sha256: 32,
  murmur3: 4,
});
