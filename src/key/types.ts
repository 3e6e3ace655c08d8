/** The interface of row keys to the rest of Rowan: the layout of a key, and the plan of key conditions. */

import type { SplitAlgorithm } from '../table/admin.js';
import type { Filter } from '../table/index.js';
import type { KeyCodec } from './codecs/base.js';
import type { KeyDictionary } from './dictionary/dictionary.js';

/** A range of rows: `start` is inclusive, `stop` exclusive; an undefined `stop` is the end of the table. */
export interface KeyRange {
  readonly start: Uint8Array;
  readonly stop: Uint8Array | undefined;
}

/** A condition on one key part. */
export type PartCondition =
  | { readonly kind: 'eq'; readonly value: unknown }
  | { readonly kind: 'in'; readonly values: readonly unknown[] }
  | {
      readonly kind: 'range';
      readonly lower?: { readonly value: unknown; readonly inclusive: boolean } | undefined;
      readonly upper?: { readonly value: unknown; readonly inclusive: boolean } | undefined;
    }
  | { readonly kind: 'startsWith'; readonly value: unknown }
  /** For text. A byte range serves it if the part is stored reversed (`reverse`, `reverseDomain`). */
  | { readonly kind: 'endsWith'; readonly value: unknown };

/**
 * Conditions by part name: equality or `in` on leading parts, then at most one range. Anything else is an
 * error.
 */
export type KeyConditions = Readonly<Record<string, PartCondition>>;

/** The bytes with which all keys of a range begin, and the same without bytes derived from other parts. */
export interface KeyLead {
  readonly bytes: Uint8Array;
  readonly logical: Uint8Array;
}

/** Which rows can satisfy some key conditions. */
export interface KeyPlan {
  /** `point`: one whole key; `points`: several; `range`, `ranges`: intervals; `full`: the whole table. */
  readonly kind: 'point' | 'points' | 'range' | 'ranges' | 'full';
  /** Disjoint, in byte order. A point is the range [key, key 00). */
  readonly ranges: readonly KeyRange[];
  /**
   * How to read the ranges in logical key order. `sequence`: one range after the other. `merge`: merge them
   * by comparing `KeyLayout.logicalBytes` (salts, buckets). `none`: the bytes have no logical order (hashes).
   */
  readonly order: 'sequence' | 'merge' | 'none';
  /** The common leading bytes of the keys of each range. */
  readonly leads: readonly KeyLead[];
  /**
   * Whether the bytes after a lead are the same in a row and in its logical bytes: nothing derived follows
   * the lead.
   */
  readonly isPlainBehind: boolean;
  /**
   * With `merge`: the offset from which comparing row bytes gives the logical order, if there is one. A
   * faster way to the same order.
   */
  readonly mergeOffset: number | undefined;
  /**
   * The bytes before the record type in the keys of each range, and their layout. Entities with the same
   * bytes and layout are adjacent there. Undefined if several ranges share a lead.
   */
  readonly beforeType:
    | { readonly path: string; readonly leads: readonly KeyLead[]; readonly isPlainBehind: boolean }
    | undefined;
  /** The number of salts or buckets over which each logical range is spread; 1 if there are none. */
  readonly fanOut: number;
  /**
   * A filter with which an engine can drop rows of the ranges that do not satisfy the conditions. It may let
   * such rows pass (`check` decides), but never drops a row that satisfies them. Undefined if no filter can
   * express it or none is needed.
   */
  readonly residual: Filter | undefined;
  /**
   * Tests whether a row of the ranges satisfies the conditions; undefined if every row does. Never throws.
   */
  readonly check: ((row: Uint8Array) => boolean) | undefined;
  /**
   * Parts whose condition cannot be decided by the row key alone, since it holds only a digest or a time
   * bucket of the value. The caller tests their conditions on the stored column.
   */
  readonly inexactParts: readonly string[];
}

/** A part stored in the key as a numeric id of a dictionary (`substitute`). */
export interface KeySubstitution {
  readonly part: string;
  /** The dictionary's name. */
  readonly dictionary: string;
  /** Width of an id in the key. */
  readonly bytes: number;
}

/** Conditions in which a text without a known id matches nothing, and those texts. */
export interface ConditionsAtHand {
  readonly conditions: KeyConditions;
  readonly withoutId: readonly {
    readonly part: string;
    readonly text: string;
    readonly dictionary: string;
  }[];
}

/**
 * Dictionary ids and texts that encoding, decoding and planning need. They are loaded before, so that the
 * look-ups themselves are synchronous.
 */
export interface KeyDictionaries {
  /**
   * Assigns ids to the texts of these values that have none. @throws KeyError when a value is not a string,
   * or no id is left.
   */
  giveIds(rows: readonly Readonly<Record<string, unknown>>[]): Promise<void>;
  /**
   * The values, as copies in which a text without an id is replaced by a mark: their key is one that no row
   * has. @throws KeyError.
   */
  known<V extends Readonly<Record<string, unknown>>>(rows: readonly V[]): Promise<V[]>;
  /**
   * Conditions for `plan`, in which a text without an id matches nothing. @throws KeyError on a range of
   * texts.
   */
  knownConditions(conditions: KeyConditions): Promise<KeyConditions>;
  /**
   * As `knownConditions`, without a request: by the ids that are loaded or can be read at once. @throws KeyError on
   * a range of texts.
   */
  conditionsAtHand(conditions: KeyConditions): ConditionsAtHand;
  /**
   * Loads the texts of these rows, with one request to each dictionary. @throws KeyError on an id that was
   * never assigned.
   */
  loadTexts(rows: readonly Uint8Array[]): Promise<void>;
}

/** Hints to `splitPoints` about future keys. */
export interface SplitOptions {
  /**
   * Splits independent of the layout, as HBase's `RegionSplitter` computes them. Takes precedence over the
   * other options.
   */
  readonly algorithm?: SplitAlgorithm | undefined;
  /** Example rows. If the layout has no evenly distributed bytes, the split points are their quantiles. */
  readonly samples?: readonly Uint8Array[] | undefined;
  /** The first and last value of the leading part (after salt and literals), e.g. the dates to be loaded. */
  readonly between?: readonly [unknown, unknown] | undefined;
}

/** One queryable part of a key. */
export interface KeyPart {
  /** The property. */
  readonly name: string;
  readonly codec: KeyCodec<unknown>;
  readonly descending: boolean;
  /**
   * False if the key holds only a digest of the value: `decode` omits the part, and a range on it is an
   * error.
   */
  readonly recoverable: boolean;
}

/** The bytes of one element in a row. */
export interface KeyPiece {
  /** The element as in the layout's signature, e.g. "salt(16)" or "customerId:text". */
  readonly element: string;
  /** The parts from which the bytes are computed; empty for constants. */
  readonly parts: readonly string[];
  /** The offset of its first byte, and the offset after its last. */
  readonly start: number;
  readonly end: number;
  /**
   * Whether the element adds no information: salts, buckets, and digests of parts that the key also holds
   * whole.
   */
  readonly derived: boolean;
}

/** The compiled byte layout of an entity's row keys: it encodes, decodes and plans searches. */
export interface KeyLayout {
  /** Queryable parts, in the order of conditions. */
  readonly parts: readonly KeyPart[];
  /**
   * A stable description of the whole layout, e.g. "salt(16) customerId:text recordType(1)". Part of schema
   * hashes.
   */
  readonly signature: string;
  /** The record type in the keys, or undefined. */
  readonly recordType: number | undefined;
  /** False if `encode` draws a random salt. Rows are then found by `plan`, which covers every salt. */
  readonly deterministic: boolean;
  /** Parts stored as dictionary ids, which `dictionaries` resolves. Empty for most layouts. */
  readonly substitutions: readonly KeySubstitution[];
  /**
   * The same keys with the values that codecs of value objects store (`transformed`): it encodes and decodes these.
   * Conditions of `plan` are always on them. Itself if no part has such a codec.
   */
  readonly stored: KeyLayout;
  /**
   * Texts and ids of `substitutions`; undefined if there are none or the layout is not bound to dictionaries.
   */
  readonly dictionaries: KeyDictionaries | undefined;

  /**
   * The layout bound to dictionaries: `encode`, `decode` and `plan` then work with texts instead of ids.
   * Returns itself if there are no such parts.
   */
  bind(dictionary: (name: string) => KeyDictionary): KeyLayout;

  /**
   * Encodes part values as a row key.
   * @throws KeyError naming the part when one is missing, undefined, null, of a wrong type or out of range.
   */
  encode(values: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * Decodes the part values of a row; parts that are not recoverable are omitted.
   * @throws KeyError with the row in hex when the row does not have this layout.
   */
  decode(row: Uint8Array): Record<string, unknown>;
  /** Like `decode`, but sets the part values on `target`. */
  decodeInto(row: Uint8Array, target: Record<string, unknown>): void;
  /**
   * Decodes only the last part and skips the bytes before it. Undefined if the part is not recoverable.
   * @throws KeyError with the row in hex when the row does not have this layout.
   */
  decodeLast(row: Uint8Array): unknown;
  /**
   * The bytes of a row, or of a row prefix, element by element, left to right. For tools that explain keys.
   * @throws KeyError with the row in hex when the row does not have this layout, or ends within an element.
   */
  pieces(row: Uint8Array): KeyPiece[];
  /** Whether a row of the table has this layout and record type. Never throws. */
  matches(row: Uint8Array): boolean;
  /** Whether it is certain that no row matches both this layout and the other. */
  isApartFrom(other: KeyLayout): boolean;
  /**
   * The elements, left to right, that order the keys in which each part that satisfies `isFixed` has one value. Layouts
   * with the same texts have such keys in the same order.
   */
  orderingElements(isFixed: (part: string) => boolean): readonly string[];
  /**
   * Computes the byte ranges of the conditions.
   * @throws KeyError on a gap between parts, a part after a range, a range on a digest, an unknown part or a
   * bad value.
   */
  plan(conditions: KeyConditions): KeyPlan;
  /**
   * The prefix of exactly the rows that satisfy the conditions, if they are equalities on leading parts that
   * the key holds whole. If every part is given it is the whole row. Undefined for other conditions and
   * layouts: use `plan`.
   * @throws KeyError on a bad value.
   */
  prefixOf(conditions: KeyConditions): Uint8Array | undefined;
  /**
   * Points that split a new table into `regions` regions of about equal load; fewer if the layout cannot give
   * as many.
   */
  splitPoints(regions: number, options?: SplitOptions): Uint8Array[];
  /** The row without bytes derived from other parts. Logical bytes compare in logical key order. */
  logicalBytes(row: Uint8Array): Uint8Array;
  /**
   * The start, in ms, of the row's time bucket of this part and width (ms). @throws KeyError when there is
   * none.
   */
  bucketStart(row: Uint8Array, part: string, width: number): number;
}
