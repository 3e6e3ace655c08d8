import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError, type RowanError, TimeoutError, throwIfAborted } from '../errors.js';
import { awaited } from '../query/deadline.js';
import type { ColumnsOf, EntityOf, KeyedClass } from '../schema/entity-types.js';
import { checkPositiveInteger, describe, isNamed, isRecord, timerDelay } from '../table/checks.js';
import type { Durability, OperationOptions, RowMutation, Table } from '../table/index.js';

/** Options of writes. */
export interface WriteOptions extends OperationOptions {
  /** Timestamp of the cells, ms. Default: the engine's time when it applies the write. */
  readonly timestamp?: number;
  /**
   * TTL in ms: of the written cells, and of the whole entity if it is declared with one (`@Ttl`, `@Entity({ ttl })`).
   * Default: the declared one.
   */
  readonly ttl?: number;
  /** Default: that of the table. */
  readonly durability?: Durability;
}

/** Options of `batch`. */
export interface RepositoryBatchOptions extends WriteOptions {
  /**
   * All items or none: the first item that fails is thrown, and nothing is written. Each item sees the effects of
   * those before it. Needs an engine with atomic batches (the embedded one), else `ERR_UNSUPPORTED`. Default false:
   * each row is independent.
   */
  readonly atomic?: boolean;
}

/** Options of `replace`. */
export interface ReplaceOptions extends WriteOptions {
  /**
   * `remove`: also deletes cells in the entity's families that belong to no declared column. The row is read first;
   * on HBase cells written in between stay. Default `keep`.
   */
  readonly unknown?: 'keep' | 'remove';
}

/** Options of writes of many entities. */
export interface BulkWriteOptions<E> extends Omit<WriteOptions, 'timestamp'> {
  /**
   * Timestamp of the cells, ms: one for all entities, or a function of the entity. Cells with an earlier timestamp
   * expire earlier.
   */
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

/** @throws InvalidArgumentError on values that are no object, and on unknown options. */
function checkWriteOptions(options: unknown): void {
  if (!isNamed(options)) {
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

/** Splits the options of `replace`. @throws InvalidArgumentError on an unknown value of `unknown`. */
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

/** The timestamp option, if given. @throws InvalidArgumentError on invalid options. */
export function timestampOf(options: Pick<WriteOptions, 'timestamp'> | undefined): number | undefined {
  if (options === undefined) return undefined;
  checkWriteOptions(options);
  return options.timestamp;
}

/** Applies the options to mutations. @throws InvalidArgumentError on unknown options. */
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

/** The options for one of many entities. */
export function optionsOf<E>(options: BulkWriteOptions<E> | undefined, entity: E): WriteOptions | undefined {
  if (options !== undefined) checkWriteOptions(options);
  if (typeof options?.timestamp !== 'function') return options as WriteOptions | undefined;
  return { ...options, timestamp: options.timestamp(entity) };
}

/** The options of a call that takes several steps: each step gets the time that remains of the whole call's timeout. */
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

  /** Shares the timeout of an enclosing call. */
  static of(options: OperationOptions | undefined, { operationTimeout }: Table): WholeCall {
    if (options instanceof WholeCall) return options;
    return new WholeCall(options, options?.timeout ?? operationTimeout);
  }

  /** Remaining milliseconds. Undefined: no timeout. @throws TimeoutError when none remain. */
  get timeout(): number | undefined {
    if (this.whole === undefined) return undefined;
    const left = this.end - performance.now();
    if (left > 0) return Math.ceil(left);
    throw this.overtime();
  }

  private overtime(): TimeoutError {
    return new TimeoutError(
      `The write exceeded its timeout of ${this.whole} ms before its row was written. Nothing was changed; try again, or set a longer timeout.`,
    );
  }

  /**
   * Waits for what precedes the write of the row. The work continues in any case. @throws TimeoutError at the timeout; RowanError
   * `ERR_ABORTED`.
   */
  async before<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    throwIfAborted(signal);
    return awaited(work, { left: this.timeout, over: () => this.overtime(), signal });
  }

  /** Waits for follow-up work, but no longer than the timeout. The work continues in any case. */
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

// — Types of repositories beyond those of {@link import('../schema/entity-types.js')}.

/** The counters of an entity: its columns of type bigint, and Maps of them. */
export type CountersOf<C extends KeyedClass> = {
  [Name in ColumnsOf<C>]: NonNullable<EntityOf<C>[Name & keyof EntityOf<C>]> extends
    | bigint
    | ReadonlyMap<unknown, bigint | null>
    ? Name
    : never;
}[ColumnsOf<C>];

/** A number for a counter; for a Map of counters, a Map of numbers. */
type Counted<T, N> = NonNullable<T> extends ReadonlyMap<infer K, unknown> ? ReadonlyMap<K, N> : N;

/** Takes no property. An object type without properties would take any. */
interface NoProperties {
  readonly [name: string]: never;
}

/** Amounts to add, by counter; for Maps, by key. */
export type Amounts<C extends KeyedClass> = [CountersOf<C>] extends [never]
  ? NoProperties
  : { readonly [Name in CountersOf<C>]?: Counted<EntityOf<C>[Name & keyof EntityOf<C>], bigint | number> };

/** Values after an increment; of a Map, those of the incremented entries. */
export type CounterValues<C extends KeyedClass> = {
  readonly [Name in CountersOf<C>]?: Counted<EntityOf<C>[Name & keyof EntityOf<C>], bigint>;
};

/** The columns that can be appended to: text and bytes. */
export type AppendablesOf<C extends KeyedClass> = {
  [Name in ColumnsOf<C>]: NonNullable<EntityOf<C>[Name & keyof EntityOf<C>]> extends string | Uint8Array
    ? Name
    : never;
}[ColumnsOf<C>];

/** An entity, or some of its properties, as JSON values, without getters and properties that are not stored. */
export type PlainOf<C extends KeyedClass> = { [Name in keyof EntityOf<C>]?: JsonValue };

/** Values to append, by column. */
export type Suffixes<C extends KeyedClass> = [AppendablesOf<C>] extends [never]
  ? NoProperties
  : { readonly [Name in AppendablesOf<C>]?: NonNullable<EntityOf<C>[Name & keyof EntityOf<C>]> };

/** One stored version of a column. */
export interface HistoryEntry<T> {
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly value: T;
}

/** The values in a property's history: of a `@Versions` property the values inside, of a Map those of an entry. */
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
      /** The entity as it was after the check failed. Null when there is none. */
      readonly current: EntityOf<C> | null;
    };

/** The outcome of one item of a batch, in the order of the items. */
export type ItemOutcome =
  | {
      readonly ok: true;
      /** For a `get` the entity or null; otherwise undefined. */
      readonly value: unknown;
      /** The error of a hook after the write, `ERR_HOOK`; the write itself has taken effect. */
      readonly hookError?: RowanError;
    }
  | { readonly ok: false; readonly error: RowanError };
