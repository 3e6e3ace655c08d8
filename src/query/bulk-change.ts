/** `deleteAll` and `updateAll`: changes of every row of a query, in batches. */

import { InvalidArgumentError, QueryError, throwIfAborted, UnsupportedError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isNamed } from '../table/checks.js';
import { type Filter, filters, type Result } from '../table/index.js';
import { type Condition, describeCondition } from './condition.js';
import { pushCondition } from './pushdown.js';
import type { QuerySpec } from './query-spec.js';
import { checkCount, checkNames } from './slice.js';

/** The change of each row. */
export type RowAction = { readonly kind: 'delete' } | { readonly kind: 'update'; readonly patch: object };

/** A row as a query found it: its bytes, and the entity's parts of the key. */
export interface FoundRow {
  readonly row: Uint8Array;
  readonly key: object;
}

/** Some of the rows of a query, and the cursor that continues after them. Undefined: there are no more. */
export interface FoundRows {
  readonly rows: readonly FoundRow[];
  readonly cursor: string | undefined;
}

/** How rows are found: at most `limit`, in batches of `size`, from the cursor on. */
export interface FoundRowsOptions {
  readonly size: number;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
}

/** A condition evaluated by Rowan, with the columns that must be unchanged when the row is written. */
export interface RowCheck {
  readonly columns: readonly ColumnSchema[];
  holds(row: Result): boolean;
}

/** The condition that a row must satisfy again when it is changed. */
export interface Recheck {
  /** The part that the engine evaluates. */
  readonly filter: Filter | undefined;
  readonly row: RowCheck | undefined;
}

/** Changes the rows that a query has found. Implemented by the repository. */
export interface RowChanger {
  /**
   * Changes many rows in the same way, each independently, if they still exist and satisfy the recheck. @returns how
   * many were changed. @throws the first failure, after all have been tried.
   */
  changeRows(
    rows: readonly FoundRow[],
    action: RowAction,
    recheck: Recheck,
    signal: AbortSignal | undefined,
  ): Promise<number>;
}

/** The progress of a `deleteAll` or `updateAll`. */
export interface BulkProgress {
  /** Rows that satisfied the query when they were read. */
  readonly matched: number;
  /**
   * Rows that were changed. The others no longer existed or no longer satisfied the conditions. `deleteAll` without
   * conditions does not check, and includes rows that no longer existed.
   */
  readonly changed: number;
  /** Passed as `cursor` to the same query, continues after these rows. Undefined when all are done. */
  readonly cursor: string | undefined;
}

/** Options of `deleteAll` and `updateAll`. */
export interface BulkOptions {
  /** Rows read and changed in one batch. Default 1000. */
  readonly batch?: number;
  /** The cursor of an earlier run, after which to continue. Default: the beginning. */
  readonly cursor?: string | undefined;
  /**
   * Called after each batch and awaited before the next: store the cursor here to be able to resume. An error ends
   * the run.
   */
  readonly onProgress?: (progress: BulkProgress) => void | Promise<void>;
  /**
   * Whether the step that changes a row checks the conditions again. False allows conditions that only Rowan can
   * evaluate, on the row as it was read. Default true.
   */
  readonly recheck?: boolean;
}

const BATCH = 1000;

/** The part of a query that determines the rows to change. */
export interface BulkQuery {
  readonly spec: QuerySpec;
  readonly signal: AbortSignal | undefined;
  readonly changer: RowChanger | undefined;
  /** Whether a row still satisfies the conditions of the named index. Undefined where none was named. */
  readonly asked: RowCheck | undefined;
  /** The rows, each with its key. */
  find(options: FoundRowsOptions): AsyncIterable<FoundRows>;
}

/**
 * Reads the keys of the query's rows and changes them in batches. Each row is one atomic step. @throws QueryError on
 * a query whose rows cannot be changed; errors of a change.
 */
export async function changeAll(
  query: BulkQuery,
  doing: string,
  action: RowAction,
  options: BulkOptions,
): Promise<BulkProgress> {
  const { changer, filter } = checkBulk(query, doing, options);
  if (action.kind === 'update') checkPatch(query.spec.schema, action.patch);
  const { spec, signal } = query;
  const { batch: size = BATCH, cursor: from, onProgress, recheck = true } = options;
  const again: Recheck = { filter, row: recheck ? query.asked : undefined };
  let progress: BulkProgress = { matched: 0, changed: 0, cursor: from };
  throwIfAborted(signal);
  for await (const { rows, cursor } of query.find({ size, limit: spec.limit, cursor: from })) {
    throwIfAborted(signal);
    const changed = rows.length === 0 ? 0 : await changer.changeRows(rows, action, again, signal);
    progress = { matched: progress.matched + rows.length, changed: progress.changed + changed, cursor };
    await onProgress?.(progress);
  }
  return progress;
}

/** A query whose rows `deleteTogether` deletes. */
interface Deletable {
  deleteAll(options: BulkOptions): Promise<BulkProgress>;
}

/**
 * Deletes the rows of several queries, one query after the other. The cursor has the place of the query before that of
 * the query itself.
 */
export async function deleteTogether(
  queries: readonly Deletable[],
  { cursor: from, onProgress, ...options }: BulkOptions,
): Promise<BulkProgress> {
  const first = placeOf(from, queries.length);
  let done: BulkProgress = { matched: 0, changed: 0, cursor: from };
  for (let at = first.at; at < queries.length; at++) {
    const before = done;
    const next = at + 1 < queries.length ? `${at + 1}.` : undefined;
    const sum = ({ matched, changed, cursor }: BulkProgress): BulkProgress => ({
      matched: before.matched + matched,
      changed: before.changed + changed,
      cursor: cursor === undefined ? next : `${at}.${cursor}`,
    });
    const own = await queries[at]!.deleteAll({
      ...options,
      cursor: at === first.at ? first.cursor : undefined,
      ...(onProgress && { onProgress: (progress) => onProgress(sum(progress)) }),
    });
    done = sum(own);
  }
  return done;
}

/** @throws QueryError on a text that is no cursor of `deleteTogether`. */
function placeOf(
  cursor: string | undefined,
  queries: number,
): { readonly at: number; readonly cursor: string | undefined } {
  if (cursor === undefined) return { at: 0, cursor };
  const [, at, rest] = /^(\d{1,3})\.(.*)$/.exec(cursor) ?? [];
  if (at === undefined || Number(at) >= queries) {
    throw new QueryError(
      `deleteAll: the cursor ${describe(cursor)} is not one of this collection. Pass the text of an earlier progress, or leave it out.`,
    );
  }
  return { at: Number(at), cursor: rest === '' ? undefined : rest };
}

/**
 * Checks that a query can change its rows. @returns what changes them, and the condition that the step checks again.
 * @throws QueryError when it cannot; InvalidArgumentError on wrong options.
 */
export function checkBulk(
  query: Pick<BulkQuery, 'spec' | 'changer'>,
  doing: string,
  options: BulkOptions,
): { readonly changer: RowChanger; readonly filter: Filter | undefined } {
  checkOptions(doing, options);
  const changer = checkChangeable(query, doing);
  return { changer, filter: options.recheck === false ? undefined : filterAgain(query.spec, doing) };
}

function checkOptions(doing: string, options: BulkOptions): void {
  checkNames(doing, options, ['batch', 'cursor', 'onProgress', 'recheck']);
  const { cursor, onProgress, recheck } = options;
  checkCount(`${doing}: batch`, options.batch);
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw new QueryError(
      `${doing}: the cursor is ${describe(cursor)}. Pass the text of an earlier progress, or leave it out.`,
    );
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new InvalidArgumentError(`${doing}: onProgress is a function, not ${describe(onProgress)}.`);
  }
  if (recheck !== undefined && typeof recheck !== 'boolean') {
    throw new InvalidArgumentError(`${doing}: recheck is true or false, not ${describe(recheck)}.`);
  }
}

function checkPatch(schema: EntitySchema, patch: unknown): void {
  if (isNamed(patch)) return;
  throw new InvalidArgumentError(
    `${schema.name}: updateAll takes an object with the properties to change, not ${describe(patch)}.`,
    { details: { entity: schema.name } },
  );
}

/** Refuses queries that do not return whole, present rows. */
function checkChangeable({ spec, changer }: Pick<BulkQuery, 'spec' | 'changer'>, doing: string): RowChanger {
  const { schema } = spec;
  const refuse = (why: string): never => {
    throw new QueryError(`${doing} on ${schema.name}: ${why}`, { details: { entity: schema.name } });
  };
  if (spec.timeRange !== undefined)
    refuse('rows of the past cannot be changed. Leave out asOf() and writtenBetween().');
  if (spec.orderBy !== undefined)
    refuse('rows are changed in the order in which they are read. Leave out orderBy().');
  if (spec.slices.length > 0)
    refuse('rows are changed whole. Leave out slice(), and use mutate for entries.');
  if (schema.columns.some(({ window }) => window !== undefined)) {
    refuse(
      'a row is a whole window of time, of which the query may want a part. Use mutate, or delete by key.',
    );
  }
  if (changer === undefined) {
    throw new UnsupportedError(
      `${doing}: these rows can only be read. Ask the repository of ${schema.name}.`,
    );
  }
  return changer;
}

/**
 * The condition that the changing step checks again. Conditions on parts of the key are omitted: these never change.
 */
function filterAgain({ schema, where }: QuerySpec, doing: string): Filter | undefined {
  const parts: Filter[] = [];
  for (const condition of where) {
    if (neverChanges(schema, condition)) continue;
    const filter = pushCondition(condition, schema.columnsByProperty, true, true);
    if (filter === undefined) {
      throw new QueryError(
        `${doing} on ${schema.name}: the engine cannot decide ${describeCondition(condition)} in the step that changes a row, so a ` +
          'row may be changed that has ceased to meet it. Use conditions that it can, or accept that with recheck: false.',
        { details: { entity: schema.name } },
      );
    }
    parts.push(filter);
  }
  if (parts.length < 2) return parts[0];
  return filters.all(...parts);
}

function neverChanges(schema: EntitySchema, condition: Condition): boolean {
  if (condition.kind !== 'test') return condition.conditions.every((part) => neverChanges(schema, part));
  if (condition.operator === 'in' && condition.values.length === 0) return true;
  const { property } = condition;
  return !schema.columnsByProperty.has(property) && schema.key.parts.some(({ name }) => name === property);
}
