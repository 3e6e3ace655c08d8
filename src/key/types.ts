/** What the rest of Rowan sees of row keys: the layout of a key, and the ranges of a condition. */

import type { SplitAlgorithm } from '../table/admin.js';
import type { Filter } from '../table/index.js';
import type { KeyCodec } from './codecs/base.js';
import type { KeyDictionary } from './dictionary/dictionary.js';

/** Bytes of a row range: `start` inclusive, `stop` exclusive; an undefined `stop` is the end of the table. */
export interface KeyRange {
  readonly start: Uint8Array;
  readonly stop: Uint8Array | undefined;
}

/** What is asked of one key part. */
export type PartCondition =
  | { readonly kind: 'eq'; readonly value: unknown }
  | { readonly kind: 'in'; readonly values: readonly unknown[] }
  | {
      readonly kind: 'range';
      readonly lower?: { readonly value: unknown; readonly inclusive: boolean } | undefined;
      readonly upper?: { readonly value: unknown; readonly inclusive: boolean } | undefined;
    }
  | { readonly kind: 'startsWith'; readonly value: unknown }
  /** Of text; the bytes serve it where the part is kept reversed (`reverse`, `reverseDomain`). */
  | { readonly kind: 'endsWith'; readonly value: unknown };

/** Conditions by part name. Equality (or `in`) on leading parts, then at most one range; anything else is an error. */
export type KeyConditions = Readonly<Record<string, PartCondition>>;

/** What the keys of a range begin with, and the same without what is derived from other parts. */
export interface KeyLead {
  readonly bytes: Uint8Array;
  readonly logical: Uint8Array;
}

/** Where the rows of some key conditions are. */
export interface KeyPlan {
  /** `point`: one whole key; `points`: several; `range`, `ranges`: intervals; `full`: the whole table. */
  readonly kind: 'point' | 'points' | 'range' | 'ranges' | 'full';
  /** Disjoint, in byte order. A point is the range [key, key 00). */
  readonly ranges: readonly KeyRange[];
  /**
   * How the rows of all ranges come in logical key order: `sequence`, one range after the other; `merge`, compare rows
   * by `KeyLayout.logicalBytes` (salts, buckets); `none`, the bytes have no logical order (hashes).
   */
  readonly order: 'sequence' | 'merge' | 'none';
  /** For each range what its keys begin with. */
  readonly leads: readonly KeyLead[];
  /** Whether a row's logical bytes behind those of a lead are the bytes behind it: nothing derived stands there. */
  readonly isPlainBehind: boolean;
  /** With `merge`, the byte from which on rows compare alike, where there is one: a shorter way to the same order. */
  readonly mergeOffset: number | undefined;
  /**
   * What stands before the record type in the keys of each range, and how that is laid out: entities with the same are
   * side by side there. Undefined where a range is not the only one behind its lead.
   */
  readonly beforeType:
    | { readonly path: string; readonly leads: readonly KeyLead[]; readonly isPlainBehind: boolean }
    | undefined;
  /** How many salts or buckets each logical range was spread over; 1 when none. */
  readonly fanOut: number;
  /**
   * A filter that an engine can apply to drop rows of the ranges that do not meet the conditions. It drops no row that
   * does, and may leave some that do not: `check` decides. Undefined when no filter can say it, or none is needed.
   */
  readonly residual: Filter | undefined;
  /** Whether a row of the ranges meets the conditions; undefined when every row of the ranges does. Never throws. */
  readonly check: ((row: Uint8Array) => boolean) | undefined;
  /**
   * Parts whose condition the row alone cannot decide, since it holds only a digest or a time bucket of the value: the
   * caller holds their conditions against the stored column.
   */
  readonly inexactParts: readonly string[];
}

/** A part that stands in the key as a numeric id of a dictionary (`substitute`). */
export interface KeySubstitution {
  readonly part: string;
  /** The dictionary's name. */
  readonly dictionary: string;
  /** Width of an id in the key. */
  readonly bytes: number;
}

/**
 * What encoding, decoding and planning need of dictionaries, loaded before: they look ids and texts up in what the
 * dictionaries have met, so that they need no promise.
 */
export interface KeyDictionaries {
  /** Gives the texts of these values ids, where they have none. @throws KeyError when a value is no text, or no id is left. */
  giveIds(rows: readonly Readonly<Record<string, unknown>>[]): Promise<void>;
  /** The values, copied where a text has no id: their key is then one that no row has. @throws KeyError. */
  known<V extends Readonly<Record<string, unknown>>>(rows: readonly V[]): Promise<V[]>;
  /** Conditions for `plan`: a text that has no id matches nothing. @throws KeyError on a range of texts. */
  knownConditions(conditions: KeyConditions): Promise<KeyConditions>;
  /** Loads the texts of these rows, in one request to each dictionary. @throws KeyError on an id that was never given. */
  loadTexts(rows: readonly Uint8Array[]): Promise<void>;
}

/** What `splitPoints` may be told about the keys to come. */
export interface SplitOptions {
  /** Splits that do not depend on the layout, as HBase's `RegionSplitter` makes them. Goes before the others. */
  readonly algorithm?: SplitAlgorithm | undefined;
  /** Rows that stand for those to come: where the layout has no uniform bytes the splits are their quantiles. */
  readonly samples?: readonly Uint8Array[] | undefined;
  /** The first and last value of the leading part (behind salt and literals), e.g. the dates to be loaded. */
  readonly between?: readonly [unknown, unknown] | undefined;
}

/** One queryable part of a key. */
export interface KeyPart {
  /** The property. */
  readonly name: string;
  readonly codec: KeyCodec<unknown>;
  readonly descending: boolean;
  /** False when the key holds only a digest of the value: decode leaves it out, and a range on it is an error. */
  readonly recoverable: boolean;
}

/** The bytes that one element of a key has in a row. */
export interface KeyPiece {
  /** The element as it stands in the layout's signature, e.g. "salt(16)" or "customerId:text". */
  readonly element: string;
  /** The parts that its bytes are made of; empty for constants. */
  readonly parts: readonly string[];
  /** Where its bytes begin, and the byte behind them. */
  readonly start: number;
  readonly end: number;
  /** Whether it says nothing that other elements do not say: salts, buckets, digests of parts that stand elsewhere whole. */
  readonly derived: boolean;
}

/** How the byte layout of an entity's keys, left to right, encodes, decodes and is searched. */
export interface KeyLayout {
  /** Queryable parts, in the order of conditions. */
  readonly parts: readonly KeyPart[];
  /** A stable text of the whole layout, e.g. "salt(16) customerId:text recordType(1)". Part of schema hashes. */
  readonly signature: string;
  /** The record type that stands in the keys, or undefined. */
  readonly recordType: number | undefined;
  /** False when `encode` draws a salt at random: a row is then found by `plan`, which reads every salt. */
  readonly deterministic: boolean;
  /** Parts kept as dictionary ids; `dictionaries` resolves them. Empty for most layouts. */
  readonly substitutions: readonly KeySubstitution[];
  /** Texts and ids of `substitutions`; undefined when there are none, or the layout was not bound to dictionaries. */
  readonly dictionaries: KeyDictionaries | undefined;

  /** The layout with texts where it has ids: `encode`, `decode` and `plan` take and give them. Itself without such parts. */
  bind(dictionary: (name: string) => KeyDictionary): KeyLayout;

  /**
   * The row of these part values.
   * @throws KeyError naming the part when one is missing, undefined, null, of a wrong type or out of range.
   */
  encode(values: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * The part values of a row; parts that are not recoverable are left out.
   * @throws KeyError with the row in hex when it is not of this layout.
   */
  decode(row: Uint8Array): Record<string, unknown>;
  /** As `decode`, setting the part values on `target`. */
  decodeInto(row: Uint8Array, target: Record<string, unknown>): void;
  /**
   * The value of the last part alone; the bytes before it are passed over. Undefined when it is not recoverable.
   * @throws KeyError with the row in hex when it is not of this layout.
   */
  decodeLast(row: Uint8Array): unknown;
  /**
   * The bytes of a row, or of what rows begin with, element by element, left to right: for tools that show what they mean.
   * @throws KeyError with the row in hex when it is not of this layout, or ends within an element.
   */
  pieces(row: Uint8Array): KeyPiece[];
  /** Whether a row of the table is of this layout and record type. Never throws. */
  matches(row: Uint8Array): boolean;
  /** Whether it can be proved that no row matches this layout and the other. */
  isApartFrom(other: KeyLayout): boolean;
  /**
   * The byte ranges of the conditions.
   * @throws KeyError on a hole, a part after a range, a range on a digest, an unknown part or a bad value.
   */
  plan(conditions: KeyConditions): KeyPlan;
  /**
   * What the rows of these conditions begin with, and no other row does: of equality on leading parts that stand in the key
   * whole. Where every part is given it is the row. Undefined of other conditions and layouts: `plan` says where the rows are.
   * @throws KeyError on a bad value.
   */
  prefixOf(conditions: KeyConditions): Uint8Array | undefined;
  /** Where to split a new table into `regions` regions of about equal load; as many as the layout can tell. */
  splitPoints(regions: number, options?: SplitOptions): Uint8Array[];
  /** The row without what is derived from other parts: such bytes compare in logical key order. */
  logicalBytes(row: Uint8Array): Uint8Array;
  /** The start, in ms, of the row's time bucket of this part and width (ms). @throws KeyError when it has none. */
  bucketStart(row: Uint8Array, part: string, width: number): number;
}
