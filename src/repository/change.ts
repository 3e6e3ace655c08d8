import { EMPTY_BYTES, equalBytes, toLatin1 } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { EntityLifecycle, EntitySchema, Marker } from '../schema/types.js';
import {
  type Cell,
  CheckAndMutate,
  Delete,
  type Filter,
  filters,
  Get,
  type OperationOptions,
  type PackedPuts,
  Put,
  Result,
  type RowMutation,
  RowMutations,
  type Table,
} from '../table/index.js';
import type { RowImage } from './row-image.js';

// — Turning the mutations of one row into one request.

/** A single mutation unchanged, several as one atomic `RowMutations`. */
export function asAction(row: Uint8Array, mutations: readonly RowMutation[]): RowMutation | RowMutations {
  return mutations.length === 1 ? mutations[0]! : new RowMutations(row).add(...mutations);
}

/** Whether the change leaves a tombstone. */
export function hasDelete(action: RowMutation | RowMutations): boolean {
  if (action.kind === 'rowMutations') return action.mutations.some((mutation) => mutation.kind === 'delete');
  return action.kind === 'delete';
}

/** Applies the change without conditions. */
export async function applyAction(
  table: Table,
  action: RowMutation | RowMutations,
  options: OperationOptions | undefined,
): Promise<Result> {
  switch (action.kind) {
    case 'put':
      await table.put(action, options);
      return Result.EMPTY;
    case 'delete':
      await table.delete(action, options);
      return Result.EMPTY;
    case 'increment':
      return table.increment(action, options);
    case 'append':
      return table.append(action, options);
    case 'rowMutations':
      return table.mutateRow(action, options);
  }
}

// — Change sets: a write before an engine applies it. All ways of writing compile to them.

/** The kinds of writes that hooks, observers and maintainers distinguish. */
export type ChangeOperation = 'put' | 'insert' | 'replace' | 'update' | 'delete' | 'mutate';

/** A condition on the row under which a change takes effect. */
export type Expectation =
  | { readonly kind: 'absent' | 'present'; readonly family: string; readonly qualifier: Uint8Array }
  | {
      readonly kind: 'equal';
      readonly family: string;
      readonly qualifier: Uint8Array;
      readonly value: Uint8Array;
    }
  | { readonly kind: 'filter'; readonly filter: Filter };

/** Whether a column with this value, or none, satisfies the expectation. */
export function isSatisfiedBy(
  expectation: Exclude<Expectation, { readonly kind: 'filter' }>,
  value: Uint8Array | undefined,
): boolean {
  switch (expectation.kind) {
    case 'absent':
      return value === undefined;
    case 'present':
      return value !== undefined;
    case 'equal':
      return value !== undefined && equalBytes(value, expectation.value);
  }
}

/**
 * Cells of an expired entity that are still in the row: they outlive the marker a little. A write that creates the entity anew
 * deletes them first, so that none becomes part of it.
 */
export interface Remains {
  /** The columns to read to find them. */
  readonly reads: Get;
  /** The cells among those that were read. */
  in(row: RowImage): readonly Cell[];
}

/** The mutations of a change, all of one row and applied in one atomic step. */
export interface ResolvedChange {
  readonly mutations: readonly RowMutation[];
  /** Conditions that the row is unchanged since it was read. Empty where reading and writing are one step. */
  readonly seen: readonly Expectation[];
  /**
   * Cells to delete before the mutations are applied, together with older ones: with a longer TTL they would
   * reappear.
   */
  readonly outlived?: readonly Cell[];
  /** For a write that creates an entity with a TTL: the cells that an expired one may have left. */
  readonly remains?: Remains;
  /** Whether the mutations that replace them have a timestamp of their own. */
  readonly isDated?: boolean;
}

/**
 * Deletes these cells and older ones. Cells with timestamps from `time` on are deleted as of now, so that the
 * following write gets a later timestamp; without `time` each is deleted at its own timestamp.
 */
export function deleteOutlived(
  row: Uint8Array,
  cells: readonly Cell[],
  time: number = Number.POSITIVE_INFINITY,
): Delete {
  const del = new Delete(row);
  for (const { family, qualifier, timestamp } of cells)
    del.addColumns(family, qualifier, timestamp < time ? timestamp : undefined);
  return del;
}

/**
 * A change of one row. Values are encoded when the call is made, so later changes of the caller's objects have no
 * effect. What depends on the stored row (the next version, the remaining TTL) is computed by `resolve`.
 */
export interface Change {
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  /** The caller's expectations of the row, in a form that one engine step can check. */
  readonly expects: readonly Expectation[];
  /** The error when they are not satisfied. */
  readonly mismatch: (() => RowanError) | undefined;
  /** The columns that `resolve` needs. Undefined: none. */
  readonly reads: Get | undefined;
  /**
   * Computes the mutations for the row as it was read. @throws RowanError when the row is not as the caller expects.
   */
  resolve(before: RowImage | undefined): ResolvedChange;
  /**
   * The marker, where the change writes nothing else in its family. If the row has it already, it is not rewritten,
   * so that the family is not touched.
   */
  readonly markerApart?: Marker | undefined;
  /** Whether it only increments or appends, and marks the row as existing. */
  readonly addsOnly?: boolean;
  /** Whether the row's own copies are right after this change, so that maintainers need not amend it. */
  readonly isAmended?: boolean;
  /** Called when the change has taken effect; a returned promise is awaited. */
  readonly onApplied: (() => void | Promise<void>) | undefined;
  /** Called when the change has failed. */
  readonly onFailed: (() => void) | undefined;
}

/** The mutations of a change for a row that was read into `image`. */
export function resolvedFor(change: Change, image: RowImage): ResolvedChange {
  const resolved = change.resolve(image);
  const { markerApart } = change;
  if (markerApart === undefined) return resolved;
  const same: Expectation = { kind: 'equal', ...markerApart };
  if (!isSatisfiedBy(same, image.value(markerApart.family, markerApart.qualifier))) return resolved;
  const mutations = withoutMarker(resolved.mutations, markerApart);
  return { ...resolved, mutations, seen: [...resolved.seen, same] };
}

/**
 * The same change for a row that is expected to have its marker already. Undefined where the change has no
 * expectation.
 */
export function leavingMarker(change: Change): Change | undefined {
  const { markerApart, expects } = change;
  if (markerApart === undefined || expects.length === 0) return undefined;
  const { family, qualifier } = markerApart;
  const others = expects.filter(
    (each) => !(each.kind === 'present' && each.family === family && equalBytes(each.qualifier, qualifier)),
  );
  return {
    ...change,
    markerApart: undefined,
    expects: [{ kind: 'equal', ...markerApart }, ...others],
    resolve: (before) => {
      const resolved = change.resolve(before);
      return { ...resolved, mutations: withoutMarker(resolved.mutations, markerApart) };
    },
  };
}

function withoutMarker(mutations: readonly RowMutation[], { value }: Marker): readonly RowMutation[] {
  return mutations.flatMap((mutation): RowMutation[] => {
    if (mutation.kind !== 'put') return [mutation];
    const cells = mutation.cells.filter((cell) => cell.value !== value);
    if (cells.length === mutation.cells.length) return [mutation];
    const put = new Put(mutation.row, mutation.timestamp).setDurability(mutation.durability);
    put.cells.push(...cells);
    return cells.length === 0 ? [] : [put];
  });
}

/** Work that is delayed until the transaction of a change has ended. */
export interface Ending {
  readonly operation: ChangeOperation;
  /** After a rollback: restores the caller's object. */
  readonly undo: (() => void) | undefined;
  /** After the commit: runs the hook. */
  readonly after: (() => void | Promise<void>) | undefined;
}

/** Collects endings until a transaction ends. */
export interface Deferred {
  add(ending: Ending): void;
}

/** A filter that finds a cell exactly if the expectation is satisfied and the row exists. */
function filterOf(expectation: Expectation): Filter {
  if (expectation.kind === 'filter') return expectation.filter;
  const { family, qualifier } = expectation;
  switch (expectation.kind) {
    case 'absent':
      // No value sorts before the empty one.
      return filters.singleColumnValue(family, qualifier, 'LESS', EMPTY_BYTES, { filterIfMissing: false });
    case 'present':
      return filters.singleColumnValue(family, qualifier, 'GREATER_OR_EQUAL', EMPTY_BYTES, {
        filterIfMissing: true,
      });
    case 'equal':
      return filters.singleColumnValue(family, qualifier, 'EQUAL', expectation.value, {
        filterIfMissing: true,
      });
  }
}

/** A get that finds a cell exactly if all expectations on an existing row are satisfied. */
export function getIf(row: Uint8Array, expectations: readonly Expectation[]): Get {
  return new Get(row).setFilter(joined(expectations));
}

/**
 * Every other filter finds cells of existing rows only. So a first-cell filter is dropped beside others, from which
 * it would hide later cells.
 */
function joined(expectations: readonly Expectation[]): Filter {
  const all = expectations.map(filterOf);
  const others = all.filter(({ kind }) => kind !== 'firstKeyOnly');
  const parts = others.length === 0 ? all.slice(0, 1) : others;
  return parts.length === 1 ? parts[0]! : filters.all(...parts);
}

/**
 * The mutations with their condition as one step. With several expectations the row must exist: an "absent" on a row
 * that may be missing has to be the only one.
 */
export function checked(
  row: Uint8Array,
  expectations: readonly Expectation[],
  mutations: readonly RowMutation[],
): CheckAndMutate {
  const action = asAction(row, mutations);
  const needed = withoutImplied(expectations);
  const only = needed.length === 1 ? needed[0]! : undefined;
  switch (only?.kind) {
    case 'absent':
      return CheckAndMutate.ifNotExists(only.family, only.qualifier, action);
    case 'equal':
      return CheckAndMutate.ifEquals(only.family, only.qualifier, only.value, action);
    case 'present':
      return CheckAndMutate.ifMatches(
        { family: only.family, qualifier: only.qualifier, operator: 'NOT_EQUAL', value: null },
        action,
      );
    default:
      return CheckAndMutate.ifFilter(joined(needed), action);
  }
}

/**
 * Applies the mutations in one step if the row meets the expectations. @returns undefined, and nothing is written, where it does not.
 */
export async function applyIf(
  table: Table,
  row: Uint8Array,
  expectations: readonly Expectation[],
  mutations: readonly RowMutation[],
  options: OperationOptions | undefined,
): Promise<Result | undefined> {
  if (expectations.length === 0) return applyAction(table, asAction(row, mutations), options);
  const { success, result } = await table.checkAndMutate(checked(row, expectations, mutations), options);
  return success ? (result ?? Result.EMPTY) : undefined;
}

/** Two absences on a row that may be missing are no filter. The first is on the marker, and implies the second. */
function withoutImplied(expectations: readonly Expectation[]): readonly Expectation[] {
  return expectations.every(({ kind }) => kind === 'absent') ? expectations.slice(0, 1) : expectations;
}

/**
 * Runs the work after a write. Its errors say that the write itself has taken effect. Returns a promise only where a
 * hook does.
 */
export function afterWrite(change: Change): void | Promise<void> {
  return following(change.operation, change.onApplied);
}

/** As {@link afterWrite}, for a change whose transaction was committed. */
export function runEnding({ operation, after }: Ending): void | Promise<void> {
  return following(operation, after);
}

function following(
  operation: ChangeOperation,
  run: (() => void | Promise<void>) | undefined,
): void | Promise<void> {
  const failed = (cause: unknown): never => {
    throw new RowanError(
      'ERR_HOOK',
      `The ${operation} has taken effect, but a hook that runs after it threw: ${cause instanceof Error ? cause.message : String(cause)}. ` +
        'Do not repeat the write; repeat only the work of the hook.',
      { cause, details: { operation } },
    );
  };
  try {
    return run?.()?.then(undefined, failed);
  } catch (cause) {
    return failed(cause);
  }
}

type Entity = Record<string, unknown>;

/** Hooks and object updates after a write has taken effect, or after the commit of its transaction. */
export class AfterCommit {
  private readonly lifecycle: EntityLifecycle;

  constructor(
    schema: EntitySchema,
    /** The version property, and the version after one. Undefined: there is none. */
    private readonly lock: { readonly property: string; next(before: unknown): unknown } | undefined,
    /** The transaction that delays this work. Undefined: it runs at once. */
    private readonly deferred: Deferred | undefined,
  ) {
    this.lifecycle = schema.lifecycle;
  }

  /** After the write of an entity: increments its version property, then runs `@AfterPut`. */
  afterWrite(
    operation: ChangeOperation,
    entity: Entity,
    failed: (() => void) | undefined,
  ): Change['onApplied'] {
    const { lock, deferred } = this;
    const { afterWrite } = this.lifecycle;
    const after = afterWrite && (() => afterWrite(entity));
    if (lock === undefined)
      return deferred && failed
        ? () => deferred.add({ operation, undo: failed, after })
        : this.hook(operation, after);
    const { property } = lock;
    const before = entity[property];
    const next = lock.next(before);
    return () => {
      entity[property] = next;
      if (deferred === undefined) return after?.();
      const undo = (): void => {
        entity[property] = before;
        failed?.();
      };
      deferred.add({ operation, undo, after });
    };
  }

  /** Runs a hook after the write, or after the commit of its transaction. */
  hook(operation: ChangeOperation, after: Change['onApplied']): Change['onApplied'] {
    const { deferred } = this;
    if (after === undefined || deferred === undefined) return after;
    return () => deferred.add({ operation, undo: undefined, after });
  }
}

// — Executors apply change sets. One interface, because engines differ in what one atomic step is.

/**
 * Chunks of the changes in their order, each of distinct rows. @param fits whether a chunk, which has a change already, may have the
 * next one too.
 */
export function* chunksOf(
  changes: readonly Change[],
  fits: (chunk: readonly Change[], next: Change) => boolean,
): Generator<Change[]> {
  let chunk: Change[] = [];
  const rows = new Set<string>();
  for (const change of changes) {
    const row = toLatin1(change.row);
    if (chunk.length > 0 && (rows.has(row) || !fits(chunk, change))) {
      yield chunk;
      chunk = [];
      rows.clear();
    }
    chunk.push(change);
    rows.add(row);
  }
  if (chunk.length > 0) yield chunk;
}

/** The outcome of one change of several. */
export type ChangeOutcome =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: RowanError };

/** The outcome of a change that answers nothing. */
export const DONE: ChangeOutcome = Object.freeze({ ok: true, result: Result.EMPTY });

/** Applies the changes of one table. */
export interface ChangeExecutor {
  /** Applies one change. @throws the change's mismatch, or the engine's error; nothing was written then. */
  run(change: Change, options: OperationOptions | undefined): Promise<Result>;
  /**
   * Applies the mutations of a row, as `run` of a change without conditions and reads. Absent, or while there are observers: use `run`.
   */
  readonly write?:
    | ((
        row: Uint8Array,
        mutations: readonly RowMutation[],
        options: OperationOptions | undefined,
      ) => Promise<void>)
    | undefined;
  /** Like `write`, only if the row meets the expectation; false, and nothing is written, where it does not. */
  readonly writeIf?:
    | ((
        row: Uint8Array,
        mutations: readonly RowMutation[],
        expected: Expectation,
        options: OperationOptions | undefined,
      ) => Promise<boolean>)
    | undefined;
  /** Applies each change by itself, with an outcome for each. Changes of one row are applied in their order. */
  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]>;
  /** Applies puts that consist of entities' cells only, as `runAll` would. Absent: use `runAll`. */
  readonly putAll?:
    | ((puts: readonly Put[], options: OperationOptions | undefined) => Promise<ChangeOutcome[]>)
    | undefined;
  /** As `putAll`. The puts must not be changed until it resolves. Absent: use `putAll`. */
  readonly putPacked?:
    | ((puts: PackedPuts, options: OperationOptions | undefined) => Promise<ChangeOutcome[]>)
    | undefined;
  /**
   * As `runAll` of inserts, with `atomic` as `runAtomic`. A put whose row does not meet `absent` fails with the error that `mismatch`
   * returns for its position. The puts must not be changed until it resolves. Absent: use `runAll` or `runAtomic`.
   */
  readonly insertPacked?:
    | ((
        puts: PackedPuts,
        absent: Expectation,
        mismatch: (position: number) => RowanError,
        options: OperationOptions | undefined,
        atomic: boolean,
      ) => Promise<ChangeOutcome[]>)
    | undefined;
  /**
   * Applies all changes or none. Each sees the effects of those before it. @throws the first error, or
   * `ERR_UNSUPPORTED`.
   */
  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]>;
}
