import { equalBytes } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { Marker } from '../schema/types.js';
import {
  type Cell,
  CheckAndMutate,
  Delete,
  type Filter,
  filters,
  Get,
  type OperationOptions,
  Put,
  Result,
  type RowMutation,
  RowMutations,
  type Table,
} from '../table/index.js';
import type { RowImage } from './row-image.js';

/** The mutations of one row as one request. */

/** One mutation as it is, several as one atomic change of the row. */
export function asAction(row: Uint8Array, mutations: readonly RowMutation[]): RowMutation | RowMutations {
  return mutations.length === 1 ? mutations[0]! : new RowMutations(row).add(...mutations);
}

/** Whether the change leaves a delete marker behind. */
export function hasDelete(action: RowMutation | RowMutations): boolean {
  if (action.kind === 'rowMutations') return action.mutations.some((mutation) => mutation.kind === 'delete');
  return action.kind === 'delete';
}

/** Applies the change as it is. */
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

/** A write before an engine applies it: one change set for every way of writing. */

/** The ways of writing that hooks, observers and maintainers tell apart. */
export type ChangeOperation = 'put' | 'insert' | 'replace' | 'update' | 'delete' | 'mutate';

/** Something that must hold of the row for a change to take effect. */
export type Expectation =
  | { readonly kind: 'absent' | 'present'; readonly family: string; readonly qualifier: Uint8Array }
  | {
      readonly kind: 'equal';
      readonly family: string;
      readonly qualifier: Uint8Array;
      readonly value: Uint8Array;
    }
  | { readonly kind: 'filter'; readonly filter: Filter };

/** Whether a column with this value, or none, is as expected. */
export function isMetBy(
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
 * Cells of an earlier life of the row: they outlive the end of their entity a little. A write that begins a new life deletes them
 * first, so that none becomes part of it.
 */
export interface Remains {
  /** What must be read of the row to find them. */
  readonly reads: Get;
  /** Those in the row as it was read. */
  in(row: RowImage): readonly Cell[];
}

/** The mutations of a change, all of one row and one atomic step. */
export interface ResolvedChange {
  readonly mutations: readonly RowMutation[];
  /** Conditions that the row still is as it was read; empty where reading and writing are one step. */
  readonly seen: readonly Expectation[];
  /** Cells that go, with what is older, before the mutations take effect: they, or what is below them, would outlive what hides them. */
  readonly outlived?: readonly Cell[];
  /** Of a write that begins a life: what the one before may have left. */
  readonly remains?: Remains;
  /** Whether what is written in their place has a time of its own. */
  readonly isDated?: boolean;
}

/**
 * The delete of cells and what is older than they. Cells of `time` and later go as of now, which makes what is written behind it
 * later; without it each goes at its own time.
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
 * One change of one row. Compiled when the call is made, so that later changes of the caller's objects change nothing.
 * What depends on the stored row (the version of an update, the rest of a time to live) is settled by `resolve`.
 */
export interface Change {
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  /** The caller's expectation of the row, as one engine step can check it. */
  readonly expects: readonly Expectation[];
  /** The error when it is not so. */
  readonly mismatch: (() => RowanError) | undefined;
  /** The columns of the row that `resolve` needs; undefined: none. */
  readonly reads: Get | undefined;
  /** @throws RowanError when the row is not as the caller expects. */
  resolve(before: RowImage | undefined): ResolvedChange;
  /**
   * The marker, where the change writes nothing else of its family: a row that has it keeps it as it is, so that writes of one
   * family leave the others alone.
   */
  readonly markerApart?: Marker | undefined;
  /** Whether it leaves the row's own columns as they should be: copies in it need not be looked at. */
  readonly isAmended?: boolean;
  /** To be called when the change has taken effect, and awaited when it answers a promise. */
  readonly settled: (() => void | Promise<void>) | undefined;
  /** To be called when it has not. */
  readonly failed: (() => void) | undefined;
}

/** The mutations of a change of a row that was read, as far as `image` knows it. */
export function resolvedFor(change: Change, image: RowImage): ResolvedChange {
  const resolved = change.resolve(image);
  const { markerApart } = change;
  if (markerApart === undefined) return resolved;
  const same: Expectation = { kind: 'equal', ...markerApart };
  if (!isMetBy(same, image.value(markerApart.family, markerApart.qualifier))) return resolved;
  const { mutations, seen, ...rest } = resolved;
  return { mutations: withoutMarker(mutations, markerApart), seen: [...seen, same], ...rest };
}

/** The change of a row that is expected to have its marker already; undefined where the change expects nothing of the row. */
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
      const { mutations, ...rest } = change.resolve(before);
      return { mutations: withoutMarker(mutations, markerApart), ...rest };
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

/** Work behind a change, once the transaction that it is part of has ended. */
export interface Ending {
  readonly operation: ChangeOperation;
  /** Puts back what was set on the caller's object: it was not committed. */
  readonly undo: (() => void) | undefined;
  /** The hook that runs behind the write: it was committed. */
  readonly after: (() => void | Promise<void>) | undefined;
}

/** Where endings wait for the end of a transaction. */
export interface Deferred {
  add(ending: Ending): void;
}

/** A filter by which an engine finds something in the row exactly if the expectation is met (and the row is there). */
function filterOf(expectation: Expectation): Filter {
  if (expectation.kind === 'filter') return expectation.filter;
  const { family, qualifier } = expectation;
  switch (expectation.kind) {
    case 'absent':
      // No value is before the empty one.
      return filters.singleColumnValue(family, qualifier, 'LESS', EMPTY, { filterIfMissing: false });
    case 'present':
      return filters.singleColumnValue(family, qualifier, 'GREATER_OR_EQUAL', EMPTY, {
        filterIfMissing: true,
      });
    case 'equal':
      return filters.singleColumnValue(family, qualifier, 'EQUAL', expectation.value, {
        filterIfMissing: true,
      });
  }
}

const EMPTY = new Uint8Array(0);

/** A get that finds something exactly if all expectations, of a row that is there, are met. */
export function getIf(row: Uint8Array, expectations: readonly Expectation[]): Get {
  return new Get(row).setFilter(joined(expectations));
}

/**
 * What any other filter lets through is of a row that is there. A filter of the first cell is left out beside others, which it
 * would keep from the cells behind that one.
 */
function joined(expectations: readonly Expectation[]): Filter {
  const all = expectations.map(filterOf);
  const others = all.filter(({ kind }) => kind !== 'firstKeyOnly');
  const parts = others.length === 0 ? all.slice(0, 1) : others;
  return parts.length === 1 ? parts[0]! : filters.all(...parts);
}

/**
 * The mutations as one step that checks and writes. Several expectations hold only of rows that are there: "absent" of
 * a row that may be missing stands alone.
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

/** Absence of two cells of a row that may be missing is no filter: the first is the row's own sign, and says enough. */
function withoutImplied(expectations: readonly Expectation[]): readonly Expectation[] {
  return expectations.every(({ kind }) => kind === 'absent') ? expectations.slice(0, 1) : expectations;
}

/**
 * Runs what follows a write; an error there says that the write itself has taken effect. A promise only where there is
 * something to wait for: counting up the versions of many rows is not.
 */
export function settle(change: Change): void | Promise<void> {
  return following(change.operation, change.settled);
}

/** As {@link settle}, of a change whose transaction was committed. */
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
        'Do not repeat the write; mend what the hook was to do.',
      { cause, details: { operation } },
    );
  };
  try {
    return run?.()?.then(undefined, failed);
  } catch (cause) {
    return failed(cause);
  }
}
