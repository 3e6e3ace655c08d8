/** Options of reads, held at run time to what they may be. */

import { QueryError } from '../errors.js';
import { describe, isRecord } from '../table/checks.js';
import type { Consistency, OperationOptions } from '../table/index.js';
import { checkCount, checkNames } from './slice.js';

/** Options of every read. */
export interface ReadOptionsOf extends OperationOptions {
  /**
   * `STRONG` (default) reads the newest state. `TIMELINE` may be answered by a replica that lags behind; the embedded engine has
   * one copy of everything, which answers and is never stale.
   */
  readonly consistency?: Consistency | undefined;
  /** Whether blocks that are read are kept in the block cache; default true. False for reads of what is not read again. */
  readonly cacheBlocks?: boolean | undefined;
  /** Whether rows that were deleted and left (`@DeletedAt`) are read too; default false. */
  readonly withDeleted?: boolean | undefined;
}

/** How the entities of a relation to one are found. */
export type JoinStrategy = 'lookup' | 'hash';

/** Options of `find` and `collection`. */
export interface FindOptions extends ReadOptionsOf {
  /** Allows the query to read a whole table. Default false: it throws `ERR_FULL_SCAN`. */
  readonly fullScan?: boolean | undefined;
  /** Ranges that are read at the same time when salts or buckets are merged; default 16. */
  readonly concurrency?: number | undefined;
  /** Rows to fetch in one call to a server; default: as many as are likely wanted, 256 at most. */
  readonly caching?: number | undefined;
  /**
   * How `with` finds what a `@Reference` stands for: `lookup`, by gets of the keys; `hash`, by reading all of the others
   * once. Default: `hash` for queries without a limit that read a whole table, else `lookup`.
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
const FIND: readonly string[] = [...READ, 'fullScan', 'concurrency', 'caching', 'join'];

/** @throws QueryError on options that can never be right, and on unknown ones. */
export function checkFindOptions(options: FindOptions, doing = 'find'): FindOptions {
  checkNames(doing, options, FIND);
  checkCount('concurrency', options.concurrency);
  checkCount('caching', options.caching);
  checkFlag('fullScan', options.fullScan);
  checkJoin(options.join);
  checkConsistency(options.consistency);
  checkFlag('cacheBlocks', options.cacheBlocks);
  checkFlag('withDeleted', options.withDeleted);
  return options;
}

/** What a call says, before what holds for all calls. What is no object is left to who checks it. */
export function withDefaults<O extends ReadOptionsOf>(
  defaults: ReadOptionsOf | undefined,
  said: O | undefined,
): O | undefined {
  if (defaults === undefined || (said !== undefined && !isRecord(said))) return said;
  return { ...defaults, ...said } as O;
}

/** What of the options holds for rows that are read beside those of the query. */
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

/** Whether nothing is said of how tables are to be read. */
export function isPlain({ signal, timeout, attributes, consistency, cacheBlocks }: FindOptions): boolean {
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
  throw new QueryError(`${name} is true or false, not ${describe(value)}.`);
}

function checkConsistency(value: Consistency | undefined): void {
  if (value === undefined || value === 'STRONG' || value === 'TIMELINE') return;
  throw new QueryError(`consistency is "STRONG" or "TIMELINE", not ${describe(value)}.`);
}

function checkJoin(join: unknown): void {
  if (join === undefined || join === 'hash' || join === 'lookup') return;
  throw new QueryError(`join is "hash" or "lookup", not ${describe(join)}.`);
}
