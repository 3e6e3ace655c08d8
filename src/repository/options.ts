import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError, type RowanError, TimeoutError } from '../errors.js';
import type { ColumnsOf, EntityOf, KeyedClass } from '../schema/entity-types.js';
import { checkPositiveInteger, describe, isRecord, timerDelay } from '../table/checks.js';
import type { Durability, OperationOptions, RowMutation, Table } from '../table/index.js';

/** Options of writes. */
export interface WriteOptions extends OperationOptions {
  /** Timestamp of the cells, ms. Default: the time at which the engine applies the write. */
  readonly timestamp?: number;
  /**
   * Time to live, ms: of the cells written, and of the whole entity where it is declared with one (`@Ttl`,
   * `@Entity({ ttl })`). Default: what is declared.
   */
  readonly ttl?: number;
  /** Default: the table's. */
  readonly durability?: Durability;
}

/** Options of `replace`. */
export interface ReplaceOptions extends WriteOptions {
  /**
   * `remove`: cells that stand in the entity's families and are of no column of it, nor of one that moves, are deleted too. The row is
   * read first; on HBase those written in between stay. Default: they are kept.
   */
  readonly unknown?: 'keep' | 'remove';
}

/** Options of writes of many entities. */
export interface BulkWriteOptions<E> extends Omit<WriteOptions, 'timestamp'> {
  /** Timestamp of the cells, ms, of all entities or of each: what is written later can end by its own time. */
  readonly timestamp?: number | ((entity: E) => number);
}

const KNOWN: ReadonlySet<string> = new Set([
  'timestamp',
  'ttl',
  'durability',
  'signal',
  'timeout',
  'attributes',
  'atomic',
]);

/** @throws InvalidArgumentError on what is no object, and on options that there are not. */
function checkWriteOptions(options: unknown): void {
  if (!isRecord(options)) {
    throw new InvalidArgumentError(`The options of a write are an object, not ${describe(options)}.`);
  }
  for (const name in options) {
    if (KNOWN.has(name)) continue;
    throw new InvalidArgumentError(
      `A write has no option ${describe(name)}. It has ${[...KNOWN].join(', ')}.`,
    );
  }
}

const UNKNOWN: readonly unknown[] = ['keep', 'remove', undefined];

/** Whether a replacement removes what is unknown, and its other options. @throws InvalidArgumentError on another word. */
export function replaceOptions(options: ReplaceOptions | undefined): {
  readonly removes: boolean;
  readonly rest: WriteOptions | undefined;
} {
  if (!isRecord(options) || !('unknown' in options)) return { removes: false, rest: options };
  const { unknown, ...rest } = options as ReplaceOptions;
  if (UNKNOWN.includes(unknown)) return { removes: unknown === 'remove', rest };
  throw new InvalidArgumentError(
    `replace: the option \`unknown\` is ${describe(unknown)}; it is 'keep' or 'remove'.`,
  );
}

/** The time of a write's cells, if it is said. @throws InvalidArgumentError on options that are none. */
export function timestampOf(options: Pick<WriteOptions, 'timestamp'> | undefined): number | undefined {
  if (options === undefined) return undefined;
  checkWriteOptions(options);
  return options.timestamp;
}

/** Gives mutations what the options say. @throws InvalidArgumentError on options that there are not. */
export function applyWriteOptions(
  mutations: readonly RowMutation[],
  options: WriteOptions | undefined,
): void {
  if (options === undefined) return;
  checkWriteOptions(options);
  const { ttl, durability } = options;
  if (ttl !== undefined) checkPositiveInteger(ttl, 'ttl (milliseconds)');
  for (const mutation of mutations) {
    if (ttl !== undefined && mutation.kind !== 'delete') mutation.setTtl(ttl);
    if (durability !== undefined) mutation.setDurability(durability);
  }
}

/** The options of one entity of many. */
export function optionsOf<E>(options: BulkWriteOptions<E> | undefined, entity: E): WriteOptions | undefined {
  if (options !== undefined) checkWriteOptions(options);
  if (typeof options?.timestamp !== 'function') return options as WriteOptions | undefined;
  return { ...options, timestamp: options.timestamp(entity) };
}

/** Options of a write of several steps: each step has what is left of the time of the whole, by its options or the engine's own. */
export class WholeCall implements OperationOptions {
  readonly signal: AbortSignal | undefined;
  readonly attributes: Readonly<Record<string, string>> | undefined;
  private readonly end: number;

  private constructor(
    options: OperationOptions | undefined,
    private readonly whole: number | undefined,
  ) {
    this.signal = options?.signal;
    this.attributes = options?.attributes;
    this.end = performance.now() + (whole ?? Number.POSITIVE_INFINITY);
  }

  /** A step that makes a call of its own is a part of the whole. */
  static of(options: OperationOptions | undefined, { operationTimeout }: Table): WholeCall {
    if (options instanceof WholeCall) return options;
    return new WholeCall(options, options?.timeout ?? operationTimeout);
  }

  /** Milliseconds that are left; undefined: nothing bounds them. @throws TimeoutError when there are none. */
  get timeout(): number | undefined {
    if (this.whole === undefined) return undefined;
    const left = this.end - performance.now();
    if (left > 0) return left;
    throw new TimeoutError(
      `The write had ${this.whole} ms for all of its steps, and they were over before its row was written. Nothing was changed; try again, or give it more time.`,
    );
  }

  /** Waits for what is done behind the row as long as there is time. The work goes on in any case. */
  async inTime(work: Promise<void>): Promise<void> {
    if (this.whole === undefined) return work;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timerDelay(Math.max(0, this.end - performance.now())));
    });
    try {
      await Promise.race([work, over]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Types of repositories that go beyond those of {@link import('../schema/entity-types.js')}. */

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

/** Values to append, by column. */
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

/** The outcome of a conditional write. */
export type CheckOutcome<C extends KeyedClass> =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** The entity as it was found after the check failed; null when there is none. */
      readonly current: EntityOf<C> | null;
    };

/** The outcome of one item of a batch, in the order of the items. */
export type ItemOutcome =
  | {
      readonly ok: true;
      /** Of a `get` the entity or null; else undefined. */
      readonly value: unknown;
      /** The error of a hook after the write, `ERR_HOOK`; the write itself has taken effect. */
      readonly hookError?: RowanError;
    }
  | { readonly ok: false; readonly error: RowanError };
