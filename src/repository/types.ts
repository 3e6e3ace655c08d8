/** Types of repositories that go beyond those of {@link import('../schema/entity-types.js')}. */

import type { JsonValue } from '../codec/index.js';
import type { RowanError } from '../errors.js';
import type { ColumnsOf, EntityOf, KeyedClass } from '../schema/entity-types.js';

/** The counters of an entity: its columns of type bigint, and its Maps of them. */
export type CountersOf<C extends KeyedClass> = {
  [Name in ColumnsOf<C>]: NonNullable<EntityOf<C>[Name & keyof EntityOf<C>]> extends
    | bigint
    | ReadonlyMap<unknown, bigint | null>
    ? Name
    : never;
}[ColumnsOf<C>];

/** A number for a counter, numbers by key for a Map of counters. */
type Counted<T, N> = NonNullable<T> extends ReadonlyMap<infer K, unknown> ? ReadonlyMap<K, N> : N;

/** Amounts to add, by counter; to entries of a Map by their keys. */
export type Amounts<C extends KeyedClass> = {
  readonly [Name in CountersOf<C>]?: Counted<EntityOf<C>[Name & keyof EntityOf<C>], bigint | number>;
};

/** Values after an increment; of a Map those of the entries that were added to. */
export type CounterValues<C extends KeyedClass> = {
  readonly [Name in CountersOf<C>]?: Counted<EntityOf<C>[Name & keyof EntityOf<C>], bigint>;
};

/** The columns that can be appended to: text and bytes. */
export type AppendablesOf<C extends KeyedClass> = {
  [Name in ColumnsOf<C>]: NonNullable<EntityOf<C>[Name & keyof EntityOf<C>]> extends string | Uint8Array
    ? Name
    : never;
}[ColumnsOf<C>];

/** An entity, or some of its properties, in values of JSON. Getters and what is not stored are not in it. */
export type PlainOf<C extends KeyedClass> = { [Name in keyof EntityOf<C>]?: JsonValue };

/** What to add at the end, by column. */
export type Suffixes<C extends KeyedClass> = {
  readonly [Name in AppendablesOf<C>]?: NonNullable<EntityOf<C>[Name & keyof EntityOf<C>]>;
};

/** One stored version of a column. */
export interface HistoryEntry<T> {
  /** Milliseconds. */
  readonly timestamp: number;
  readonly value: T;
}

/** The history of a property: of a `@Versions` property the values inside, of a Map those of an entry. */
export type HistoryOf<T> = T extends readonly { readonly value: infer V; readonly timestamp?: number }[]
  ? V
  : T extends ReadonlyMap<unknown, infer V>
    ? NonNullable<V>
    : T;

/** What became of a conditional write. */
export type CheckOutcome<C extends KeyedClass> =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** The entity as it was found after the check failed; null when there is none. */
      readonly current: EntityOf<C> | null;
    };

/** What became of one item of a batch, in the order of the items. */
export type ItemOutcome =
  | {
      readonly ok: true;
      /** Of a `get` the entity or null; else undefined. */
      readonly value: unknown;
      /** What a hook after the write threw, `ERR_HOOK`; the write itself has taken effect. */
      readonly hookError?: RowanError;
    }
  | { readonly ok: false; readonly error: RowanError };
