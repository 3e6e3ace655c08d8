/** Options and arguments of reads, checked at run time. */

import { InvalidArgumentError, QueryError } from '../errors.js';
import { describe, isInstance, isRecord } from '../table/checks.js';
import { type Consistency, type OperationOptions, TimeRange } from '../table/index.js';
import { checkCount, checkNames } from './slice.js';

/** Options of every read. */
export interface ReadOptionsOf extends OperationOptions {
  /**
   * `STRONG` (default) reads the newest state. `TIMELINE` may be answered by a lagging replica. The embedded engine
   * has a single copy, which is never stale.
   */
  readonly consistency?: Consistency | undefined;
  /**
   * Whether blocks that are read are kept in the block cache. Default true; use false for data that is not read
   * again.
   */
  readonly cacheBlocks?: boolean | undefined;
  /** Whether soft-deleted rows (`@DeletedAt`) are read too. Default false. */
  readonly withDeleted?: boolean | undefined;
}

/** How the entities of a to-one relation are read. */
export type JoinStrategy = 'lookup' | 'hash';

/** Options of `find` and `collection`. */
export interface FindOptions extends ReadOptionsOf {
  /** Allows the query to read a whole table. Default false: it throws `ERR_FULL_SCAN`. */
  readonly fullScan?: boolean | undefined;
  /** Ranges read concurrently when salts or buckets are merged. Default 16. */
  readonly concurrency?: number | undefined;
  /** Rows fetched in one call to a server. Default: as many as are likely needed, at most 256. */
  readonly caching?: number | undefined;
  /**
   * Threads that read beside the calling one, which builds objects and figures of what they read; default 1: the calling thread reads by
   * itself. The rows are the same. For reads of many rows: `all`, `for await`, `count`, aggregates, `groupBy`. Ignored where threads
   * cannot help: on HBase and Bigtable, in transactions, read-only stores and stores without worker threads (`background`), with a
   * limit, `reverse()`, whole keys or an index, and where ranges must be merged in order.
   */
  readonly threads?: number | undefined;
  /**
   * How `with` reads to-one relations. `lookup`: by gets of the keys. `hash`: by reading all related rows once.
   * Default: `hash` for queries without a limit that read a whole table, otherwise `lookup`.
   */
  readonly join?: JoinStrategy | undefined;
}

const READ: readonly string[] = [
  'signal',
  'timeout',
  'attributes',
  'consistency',
  'cacheBlocks',
  'withDeleted',
];
const FIND: readonly string[] = [...READ, 'fullScan', 'concurrency', 'caching', 'join', 'threads'];

/** @throws InvalidArgumentError on invalid and on unknown options. */
export function checkFindOptions(options: FindOptions, doing = 'find'): FindOptions {
  checkNames(doing, options, FIND);
  checkCount('concurrency', options.concurrency);
  checkCount('caching', options.caching);
  checkCount('threads', options.threads);
  checkFlag('fullScan', options.fullScan);
  checkJoin(options.join);
  checkConsistency(options.consistency);
  checkFlag('cacheBlocks', options.cacheBlocks);
  checkFlag('withDeleted', options.withDeleted);
  return options;
}

/** Merges the options of a call with the defaults. Values that are no object are left to the checks. */
export function withDefaults<O extends ReadOptionsOf>(
  defaults: ReadOptionsOf | undefined,
  given: O | undefined,
): O | undefined {
  if (defaults === undefined || (given !== undefined && !isRecord(given))) return given;
  return { ...defaults, ...given } as O;
}

/** The options that also apply to rows read beside those of the query. */
export function readOptionsOf({
  signal,
  timeout,
  attributes,
  consistency,
  cacheBlocks,
  withDeleted,
}: FindOptions): ReadOptionsOf {
  return {
    ...(signal && { signal }),
    ...(timeout !== undefined && { timeout }),
    ...(attributes && { attributes }),
    consistency,
    cacheBlocks,
    withDeleted,
  };
}

/** Whether no option affects how tables are read. */
export function affectNoReads({
  signal,
  timeout,
  attributes,
  consistency,
  cacheBlocks,
}: FindOptions): boolean {
  return (
    signal === undefined &&
    timeout === undefined &&
    attributes === undefined &&
    consistency === undefined &&
    cacheBlocks === undefined
  );
}

/** @throws as `checkFindOptions`. */
export function checkReadOptions(doing: string, options: ReadOptionsOf | undefined): void {
  if (options === undefined) return;
  checkNames(doing, options, READ);
  checkFlag('cacheBlocks', options.cacheBlocks);
  checkFlag('withDeleted', options.withDeleted);
  checkConsistency(options.consistency);
}

function checkFlag(name: string, value: boolean | undefined): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new InvalidArgumentError(`${name} is true or false, not ${describe(value)}.`);
}

function checkConsistency(value: Consistency | undefined): void {
  if (value === undefined || value === 'STRONG' || value === 'TIMELINE') return;
  throw new InvalidArgumentError(`consistency is "STRONG" or "TIMELINE", not ${describe(value)}.`);
}

function checkJoin(join: unknown): void {
  if (join === undefined || join === 'hash' || join === 'lookup') return;
  throw new InvalidArgumentError(`join is "hash" or "lookup", not ${describe(join)}.`);
}

/** Milliseconds since 1970. @throws InvalidArgumentError when it is no time. */
export function timeOf(doing: string, time: number | Date): number {
  const ms = typeof time === 'number' || isInstance(time, Date) ? Number(time) : Number.NaN;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new InvalidArgumentError(`${doing} takes Dates or milliseconds since 1970, not ${describe(time)}.`);
}

/** All cells up to and including this time. @throws InvalidArgumentError when it is no time. */
export function timeRangeAt(time: number | Date): TimeRange {
  return new TimeRange(0, timeOf('asOf', time) + 1);
}

/** The `max` of `all`. @throws InvalidArgumentError. */
export function maxOf(options: { readonly max?: number }): number | undefined {
  checkNames('all', options, ['max']);
  const { max } = options;
  if (max === undefined || (Number.isSafeInteger(max) && max >= 0)) return max;
  throw new InvalidArgumentError(`all: max is a whole number of rows from 0 on, not ${describe(max)}.`);
}

/** The refusal of rows above `all({ max })`. */
export function tooManyRows(max: number): QueryError {
  return new QueryError(
    `all({ max: ${max} }) found more than ${max} rows. Use limit(), page() or for await.`,
  );
}
