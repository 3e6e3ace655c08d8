/** Reports the writes of a repository to observers. */

import { toStringBinary } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { Literal, Operations, RunningOperation } from '../query/index.js';
import type { EntitySchema } from '../schema/types.js';
import {
  Get,
  type OperationOptions,
  type Put,
  Result,
  type RowMutation,
  type Table,
} from '../table/index.js';
import {
  type Change,
  type ChangeExecutor,
  type ChangeOutcome,
  deleteOutlived,
  getIf,
  isSatisfiedBy,
  resolvedFor,
} from './change.js';
import { RowImage } from './row-image.js';

/** Without observers every call goes to the inner executor unchanged. */
export class ObservedExecutor implements ChangeExecutor {
  readonly write: ChangeExecutor['write'];
  readonly writeIf: ChangeExecutor['writeIf'];
  readonly putAll: ChangeExecutor['putAll'];
  readonly putPacked: ChangeExecutor['putPacked'];
  readonly insertPacked: ChangeExecutor['insertPacked'];

  constructor(
    private readonly inner: ChangeExecutor,
    private readonly operations: Operations,
    private readonly schema: EntitySchema,
  ) {
    this.putAll =
      inner.putAll &&
      ((puts, options) =>
        operations.hasListeners
          ? this.puts(puts, (): Promise<ChangeOutcome[]> => inner.putAll!(puts, options))
          : inner.putAll!(puts, options));
    this.putPacked =
      inner.putPacked &&
      ((puts, options) =>
        operations.hasListeners
          ? this.puts(puts.toPuts(), (): Promise<ChangeOutcome[]> => inner.putPacked!(puts, options))
          : inner.putPacked!(puts, options));
    // While there are observers, callers use `run`, `runAll` and `runAtomic`.
    this.write = inner.write;
    this.writeIf = inner.writeIf;
    this.insertPacked = inner.insertPacked;
  }

  run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (!this.operations.hasListeners) return this.inner.run(change, options);
    return this.begin([change]).follow(async (running) => {
      const result = await this.inner.run(counted(change, running), options);
      running.rows = 1;
      return result;
    });
  }

  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    if (!this.operations.hasListeners) return this.inner.runAll(changes, options);
    return this.begin(changes).follow(async (running) => {
      const outcomes = await this.inner.runAll(
        changes.map((change) => counted(change, running)),
        options,
      );
      running.rows = outcomes.filter(({ ok }) => ok).length;
      return outcomes;
    });
  }

  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]> {
    if (!this.operations.hasListeners) return this.inner.runAtomic(changes, options);
    return this.begin(changes).follow(async (running) => {
      const results = await this.inner.runAtomic(
        changes.map((change) => counted(change, running)),
        options,
      );
      running.rows = changes.length;
      return results;
    });
  }

  /** Reports puts that need no change sets. */
  puts<T>(puts: readonly Put[], write: () => Promise<T>): Promise<T> {
    const rows = puts.map(({ row }) => row);
    return this.beginAt('put', rows).follow(async (running) => {
      const answer = await write();
      running.rows = rows.length;
      running.bytes = bytesOf(puts);
      return answer;
    });
  }

  private begin(changes: readonly Change[]): RunningOperation {
    const first = changes[0]?.operation ?? 'batch';
    return this.beginAt(
      changes.every(({ operation }) => operation === first) ? first : 'batch',
      changes.map(({ row }) => row),
    );
  }

  private beginAt(operation: Change['operation'] | 'batch', rows: readonly Uint8Array[]): RunningOperation {
    return beginOfRows(this.operations, this.schema, operation, rows);
  }
}

/** Begins the report of an operation on rows that are given by key. */
export function beginOfRows(
  operations: Operations,
  schema: EntitySchema,
  operation: Change['operation'] | 'get' | 'getMany' | 'exists' | 'batch',
  rows: readonly Uint8Array[],
): RunningOperation {
  return operations.begin({
    operation,
    table: schema.table.descriptor.name,
    entities: [schema.name],
    ranges: rows.length,
    plan: () => ({ kind: rows.length === 1 ? 'point' : 'points', index: undefined }),
    conditions: (literal) => keysText(schema, rows, literal),
  });
}

/** The first key, and the number of the others. */
function keysText(schema: EntitySchema, rows: readonly Uint8Array[], literal: Literal): string {
  const [row] = rows;
  if (row === undefined) return '';
  let text: string;
  try {
    const key = schema.key.decode(row);
    text = schema.key.parts.map(({ name }) => `${name} = ${literal(key[name])}`).join(' and ');
  } catch {
    // A text whose id is not loaded, or a row of another type.
    text = `row = ${literal(toStringBinary(row))}`;
  }
  const others = rows.length - 1;
  return others === 0 ? text : `${text} and ${others} other key${others === 1 ? '' : 's'}`;
}

/** The change; counts its mutations in the report. */
function counted(change: Change, running: RunningOperation): Change {
  let attempts = 0;
  let bytes = 0;
  return {
    ...change,
    resolve: (before) => {
      const resolved = change.resolve(before);
      running.bytes -= bytes;
      bytes = bytesOf(resolved.mutations);
      running.bytes += bytes;
      running.attempts = Math.max(running.attempts, ++attempts);
      return resolved;
    },
  };
}

function bytesOf(mutations: readonly RowMutation[]): number {
  let bytes = 0;
  for (const mutation of mutations)
    if (mutation.kind === 'put') for (const { value } of mutation.cells) bytes += value.length;
  return bytes;
}

/** Change sets that are decided on by the rows as they are, and not sent: for a preview of a write. */
export class RecordingExecutor implements ChangeExecutor {
  readonly mutations: RowMutation[] = [];

  constructor(private readonly table: Table) {}

  async run(change: Change): Promise<Result> {
    const { row, expects } = change;
    const image = RowImage.of(row, await this.table.get(new Get(row)));
    for (const expectation of expects) {
      const holds =
        expectation.kind === 'filter'
          ? !(await this.table.get(getIf(row, [expectation]))).isEmpty
          : isSatisfiedBy(expectation, image.value(expectation.family, expectation.qualifier));
      if (!holds) throw change.mismatch!();
    }
    const { mutations, outlived } = resolvedFor(change, image);
    if (outlived !== undefined && outlived.length > 0) this.mutations.push(deleteOutlived(row, outlived));
    this.mutations.push(...mutations);
    return Result.EMPTY;
  }

  async runAll(changes: readonly Change[]): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (const change of changes) {
      try {
        outcomes.push({ ok: true, result: await this.run(change) });
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        outcomes.push({ ok: false, error });
      }
    }
    return outcomes;
  }

  /** Each change by the row as it is stored: it does not see those before it. */
  async runAtomic(changes: readonly Change[]): Promise<Result[]> {
    const results: Result[] = [];
    for (const change of changes) results.push(await this.run(change));
    return results;
  }
}
