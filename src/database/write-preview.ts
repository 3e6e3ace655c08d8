/** Previews a write: runs it without storing anything, and collects its mutations. */

import { InvalidArgumentError, UnsupportedError } from '../errors.js';
import { RecordingExecutor, Repository } from '../repository/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { describe, isCallable } from '../table/checks.js';
import type {
  AtomicStep,
  CheckAndMutate,
  Engine,
  Result,
  RowMutation,
  RowMutations,
  Table,
  TableChange,
} from '../table/index.js';
import type { BatchSource } from './batch.js';

/** A mutation that a write would make. */
export interface PreviewedMutation {
  readonly table: string;
  readonly change: RowMutation | RowMutations;
}

/** The mutations of a write. */
export interface WritePreview {
  /** In the order in which they take effect. */
  readonly mutations: readonly PreviewedMutation[];
  /**
   * True: these are all of them, entries of indexes, copies, summaries and changes of other rows included. False, on engines without
   * transactions: they are those of the rows that the write names.
   */
  readonly complete: boolean;
}

/** A write of one entity, as `explainWrite` is given it. */
export type WriteOf<C extends KeyedClass> = (repository: Repository<C>) => Promise<unknown>;

/** Thrown to roll back the transaction of a preview. */
class Previewed extends Error {}

/**
 * Runs a write and returns its mutations. On engines with transactions it runs in a transaction that is rolled back,
 * otherwise over an executor that reads the rows and sends nothing.
 * @throws what the write throws; UnsupportedError where a write stores something before its row (ids of a
 *   dictionary).
 */
export async function previewWrite<C extends KeyedClass>(
  source: BatchSource,
  target: C,
  write: WriteOf<C>,
): Promise<WritePreview> {
  if (!isCallable(write)) {
    throw new InvalidArgumentError(
      `explainWrite takes a function, (orders) => orders.update(…), not ${describe(write)}.`,
    );
  }
  const schema = source.schemaOf(target);
  if (schema.key.dictionaries !== undefined) {
    throw new UnsupportedError(
      `${schema.name}: texts of its key get ids in a dictionary before its rows are written, and keep them. Its writes cannot be tried.`,
      { details: { entity: schema.name } },
    );
  }
  return source.engine.transaction === undefined || !source.engine.capabilities.sync
    ? rowsOnly(source, schema, write)
    : inTransaction(source, source.engine.transaction.bind(source.engine), target, write);
}

async function inTransaction<C extends KeyedClass>(
  source: BatchSource,
  transaction: NonNullable<Engine['transaction']>,
  target: C,
  write: WriteOf<C>,
): Promise<WritePreview> {
  const mutations: PreviewedMutation[] = [];
  try {
    await transaction(async (tables) => {
      mutations.length = 0;
      const recorded = { table: (name: string) => recording(tables.table(name), mutations) };
      await write(source.within(recorded).repository(target));
      throw new Previewed();
    });
  } catch (error) {
    if (!(error instanceof Previewed)) throw error;
  }
  return { mutations, complete: true };
}

async function rowsOnly<C extends KeyedClass>(
  source: BatchSource,
  schema: EntitySchema,
  write: WriteOf<C>,
): Promise<WritePreview> {
  const context = source.contexts.of(schema);
  const executor = new RecordingExecutor(context.access.table);
  await write(new Repository<C>(schema, { ...context, executor, putsAlone: false }));
  const table = context.access.table.name;
  return { mutations: executor.mutations.map((change) => ({ table, change })), complete: false };
}

/** Methods of a table that change one row and take the change as an argument. */
const CHANGES: ReadonlySet<PropertyKey> = new Set(['put', 'delete', 'increment', 'append', 'mutateRow']);

/** A table of a transaction that records its changes. */
function recording(table: Table, into: PreviewedMutation[]): Table {
  const note = (change: RowMutation | RowMutations): void => {
    into.push({ table: table.name, change });
  };
  return new Proxy(table, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      if (typeof own !== 'function') return own;
      if (CHANGES.has(name)) {
        return async (change: RowMutation | RowMutations, ...rest: unknown[]): Promise<unknown> => {
          const answer: unknown = await own.call(target, change, ...rest);
          note(change);
          return answer;
        };
      }
      if (name === 'checkAndMutate') {
        return async (check: CheckAndMutate, ...rest: unknown[]): Promise<unknown> => {
          const answer = (await own.call(target, check, ...rest)) as { success: boolean };
          if (answer.success) note(check.action);
          return answer;
        };
      }
      if (name === 'atomic') {
        return (decide: (step: AtomicStep) => unknown, ...rest: unknown[]): unknown =>
          own.call(target, (step: AtomicStep) => decide(recordingStep(step, into)), ...rest);
      }
      return own.bind(target) as unknown;
    },
  });
}

function recordingStep(step: AtomicStep, into: PreviewedMutation[]): AtomicStep {
  return {
    time: step.time,
    isShared: step.isShared,
    read: step.read,
    scan: step.scan,
    apply({ table, change, ...rest }: TableChange): Result {
      const result = step.apply({ table, change, ...rest });
      into.push({ table, change });
      return result;
    },
    attempt<T>(work: () => T): T {
      const before = into.length;
      try {
        return step.attempt(work);
      } catch (error) {
        into.length = before;
        throw error;
      }
    },
  };
}
