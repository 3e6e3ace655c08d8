import { toLatin1 } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { Get } from '../table/get-and-scan.js';
import { isGet } from '../table/get-and-scan.js';
import type { RowMutation } from '../table/mutation.js';
import { Result } from '../table/result.js';
import type { CheckAndMutate, RowMutations } from '../table/row-mutations.js';
import type { BatchAction, BatchOptions, BatchOutcome } from '../table/table.js';
import type { BigtableClient } from './client.js';
import { asBigtableError, isUnsent, Status } from './errors.js';
import { MAX_MUTATIONS } from './names.js';
import type { CellMutation } from './wire.js';

/** Batches: which actions share a request, in which order, and the result of each. */

/** The approximate largest size of one MutateRows request in bytes. */
const MAX_REQUEST = 8 * 1024 * 1024;
/** The largest number of rows in one MutateRows request. */
const MAX_ROWS = 2000;

/** The changes of a row. */
export interface RowEntry {
  readonly row: Uint8Array;
  readonly mutations: readonly CellMutation[];
}

interface MutateRowsResponse {
  readonly entries?: readonly {
    readonly index?: string | number | null;
    readonly status?: { readonly code?: number | null; readonly message?: string | null } | null;
  }[];
}

/**
 * Changes different rows, each on its own; returns the error of each that failed, by index. Transient failures are
 * retried until the deadline, but for changes that may be made only `once`.
 * @param longest Milliseconds for one attempt; default: all that is left.
 */
export async function mutateRows(
  client: BigtableClient,
  name: string,
  tableId: string,
  entries: readonly RowEntry[],
  options: BatchOptions,
  longest?: number,
): Promise<Map<number, RowanError>> {
  const asked = { call: 'mutateRows', table: name };
  const deadline = client.deadline(asked, options);
  const failed = new Map<number, RowanError>();
  for (const request of requestsOf(entries)) {
    let open = request;
    while (open.length > 0) {
      const errors = new Map<number, RowanError>();
      let broken: RowanError | undefined;
      const unanswered = new Set(open);
      try {
        const sent = {
          entries: open.map((at) => ({ rowKey: entries[at]!.row, mutations: entries[at]!.mutations })),
        };
        const sentRows = open;
        const take = (answer: MutateRowsResponse): void => {
          for (const { index, status } of answer.entries ?? []) {
            const at = sentRows[Number(index ?? 0)]!;
            unanswered.delete(at);
            const code = status?.code ?? Status.OK;
            if (code !== Status.OK) errors.set(at, asBigtableError(code, status?.message ?? '', asked));
          }
        };
        await client.read('mutateRows', tableId, sent, deadline, take, longest);
      } catch (error) {
        broken = deadline.errorOf(error);
      }
      for (const at of unanswered) {
        errors.set(
          at,
          broken ?? asBigtableError(Status.UNAVAILABLE, 'the response does not mention this row', asked),
        );
      }
      open = [];
      for (const [at, error] of errors) {
        failed.set(at, error);
        if (error.retryable && (options.once !== true || isUnsent(error.message))) open.push(at);
      }
      if (open.length === 0) break;
      try {
        await deadline.retry(failed.get(open[0]!)!, true);
      } catch {
        break;
      }
      for (const at of open) failed.delete(at);
    }
  }
  return failed;
}

/** The approximate bytes of an entry in a request. */
export function sizeOf({ row, mutations }: RowEntry): number {
  return mutations.reduce((sum, { setCell }) => sum + 32 + (setCell?.value.length ?? 0), row.length);
}

/** Groups entries into requests. */
function* requestsOf(entries: readonly RowEntry[]): Generator<number[]> {
  let open: number[] = [];
  let count = 0;
  let bytes = 0;
  for (const [at, entry] of entries.entries()) {
    const { mutations } = entry;
    const size = sizeOf(entry);
    const isFull =
      open.length >= MAX_ROWS || count + mutations.length > MAX_MUTATIONS || bytes + size > MAX_REQUEST;
    if (isFull && open.length > 0) {
      yield open;
      open = [];
      count = 0;
      bytes = 0;
    }
    open.push(at);
    count += mutations.length;
    bytes += size;
  }
  if (open.length > 0) yield open;
}

/** The operations of a table that a batch needs. */
export interface BatchRunner {
  getAll(gets: readonly Get[]): Promise<Result[]>;
  /**
   * Makes the changes, which concern different rows and do not depend on their content; returns the error of each that
   * failed, by index.
   */
  changeAll(changes: readonly (RowMutation | RowMutations)[]): Promise<Map<number, RowanError>>;
  change(change: RowMutation | RowMutations): Promise<Result>;
  check(check: CheckAndMutate): Promise<{ readonly success: boolean; readonly result: Result | undefined }>;
  /** Whether a change can share a request with changes of other rows. */
  isSimple(change: RowMutation | RowMutations): boolean;
}

/**
 * Returns a result for each action. Actions on one row take effect in order: when a row occurs again, a new part
 * begins.
 */
export async function runBatch(
  actions: readonly BatchAction[],
  runner: BatchRunner,
): Promise<BatchOutcome[]> {
  const outcomes: BatchOutcome[] = new Array(actions.length);
  for (const part of partsOf(actions)) {
    const gets: number[] = [];
    const simple: number[] = [];
    const others: Promise<void>[] = [];
    for (const at of part) {
      const action = actions[at]!;
      if (isGet(action)) gets.push(at);
      else if (action.kind === 'checkAndMutate') {
        others.push(
          runFor(outcomes, [at], async () => {
            const { success, result } = await runner.check(action);
            outcomes[at] = { ok: true, result: result ?? Result.EMPTY, success };
          }),
        );
      } else if (runner.isSimple(action)) simple.push(at);
      else {
        others.push(
          runFor(outcomes, [at], async () => {
            outcomes[at] = { ok: true, result: await runner.change(action) };
          }),
        );
      }
    }
    if (gets.length > 0) {
      others.push(
        runFor(outcomes, gets, async () => {
          const results = await runner.getAll(gets.map((at) => actions[at] as Get));
          for (const [i, at] of gets.entries()) outcomes[at] = { ok: true, result: results[i]! };
        }),
      );
    }
    if (simple.length > 0) {
      others.push(
        runFor(outcomes, simple, async () => {
          const failed = await runner.changeAll(
            simple.map((at) => actions[at] as RowMutation | RowMutations),
          );
          for (const [i, at] of simple.entries()) {
            const error = failed.get(i);
            outcomes[at] = error === undefined ? { ok: true, result: Result.EMPTY } : { ok: false, error };
          }
        }),
      );
    }
    await Promise.all(others);
  }
  return outcomes;
}

async function runFor(
  outcomes: BatchOutcome[],
  places: readonly number[],
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RowanError)) throw error;
    for (const at of places) outcomes[at] = { ok: false, error };
  }
}

/** Groups consecutive actions on different rows; gets of one row may share a group. */
function* partsOf(actions: readonly BatchAction[]): Generator<number[]> {
  let part: number[] = [];
  let rows = new Map<string, boolean>();
  for (const [at, action] of actions.entries()) {
    const row = toLatin1(action.row);
    const reads = isGet(action);
    const before = rows.get(row);
    if (before !== undefined && !(before && reads)) {
      yield part;
      part = [];
      rows = new Map();
    }
    rows.set(row, reads);
    part.push(at);
  }
  if (part.length > 0) yield part;
}
