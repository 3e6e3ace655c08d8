import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { mutableCopy } from '../../repository/entity-input.js';
import type { ItemOutcome } from '../../repository/options.js';
import { describe, isCallable, isRecord } from '../../table/checks.js';
import type { Engine, Put, Result, RowMutation, RowMutations } from '../../table/index.js';
import { type BulkFolder, BulkTarget, rowOfItem } from '../bulk/bulk-load.js';
import type { SplitContext } from '../types.js';

/** Sinks: where the results of a job go. */

/** Writes the results of one attempt at a split. Its methods are called one at a time. */
export interface SinkWriter<T> {
  write(items: readonly T[]): void | Promise<void>;
  /**
   * Called before each checkpoint: makes what was written durable. The next attempt at the split receives its result as
   * `context.resumed`, and writes again whatever was written after it.
   */
  commit?(): JsonValue | undefined | Promise<JsonValue | undefined>;
  /** Called at the end of the attempt, whether it succeeded or failed. */
  close?(): void | Promise<void>;
}

/** A destination of items, written by many splits at once. */
export interface Sink<T> {
  /** Part of the job's signature. */
  readonly signature: string;
  /**
   * Whether it writes files alone, or another database, to which it may write everything anew. Who may only read the engine's tables can
   * then run the job. Default false.
   */
  readonly filesOnly?: boolean;
  open(context: SplitContext): SinkWriter<T> | Promise<SinkWriter<T>>;
  /**
   * Called when all splits are done, with the data that each stored with its last checkpoint. Called again if it is
   * interrupted.
   */
  complete?(kept: ReadonlyMap<number, JsonValue>, context: SplitContext): Promise<void>;
  /** Called when the job is done: removes temporary data. May be called more than once. */
  dispose?(job: string, run: number): Promise<void>;
}

/** The part of a repository by which jobs put entities. */
export interface PutTarget<E> {
  readonly entityName: string;
  /** The property with `@Version`, if there is one. */
  readonly schema: { readonly versionProperty: string | undefined };
  putMany(entities: readonly E[]): Promise<void>;
  getMany(
    keys: readonly never[],
    options?: { readonly withDeleted?: boolean },
  ): Promise<readonly (object | null)[]>;
  batch(fill: (batch: { put(entity: never): unknown }) => unknown): Promise<readonly ItemOutcome[]>;
}

/** How often entities are put anew of which other programs have changed the version meanwhile. */
const OTHERS_ROUNDS = 64;

/**
 * Puts entities over what is stored. With `@Version`, an entity without a version takes the stored one; an entity
 * with a version is put only over that version.
 * @throws ConflictError when an entity has another version than the stored one; the first failure of a put.
 */
export async function putOverStored<E>(target: PutTarget<E>, entities: readonly E[]): Promise<void> {
  const { versionProperty } = target.schema;
  if (versionProperty === undefined) return target.putMany(entities);
  const lacksVersion = (one: unknown): one is Record<string, unknown> =>
    isRecord(one) && (one[versionProperty] ?? null) === null;
  let left = entities;
  for (let round = 0; left.length > 0; round++) {
    // Most are new. The others are read once their put is refused.
    const stored = round === 0 ? [] : await target.getMany(left as readonly never[], { withDeleted: true });
    const outcomes = await target.batch((batch) => {
      for (const [i, one] of left.entries()) {
        const version = (stored[i] as Readonly<Record<string, unknown>> | undefined)?.[versionProperty];
        const put = lacksVersion(one) ? Object.assign(mutableCopy(one), { [versionProperty]: version }) : one;
        batch.put(put as never);
      }
    });
    left = left.filter((one, i) => {
      const outcome = outcomes[i]!;
      const error = outcome.ok ? outcome.hookError : outcome.error;
      if (error === undefined) return false;
      // It is stored, another item of its key was put first, or another program was faster.
      if (
        round < entities.length + OTHERS_ROUNDS &&
        lacksVersion(one) &&
        error.code === 'ERR_CONFLICT' &&
        error.details['property'] === versionProperty
      )
        return true;
      throw error;
    });
  }
}

/**
 * Puts entities. Repeating a put after an interruption replaces the entity by itself. With `@Version`, an entity without
 * a version is put over whatever is stored; an entity with a version only over that version (ConflictError).
 */
export function entitySink<E>(target: PutTarget<E>): Sink<E> {
  const { putMany, entityName } = ((target as unknown) ?? {}) as Partial<PutTarget<E>>;
  if (!isCallable(putMany) || typeof entityName !== 'string')
    throw new InvalidArgumentError(`entitySink() takes a repository, not ${describe(target)}.`);
  return {
    signature: `entities ${target.entityName}`,
    open: () => ({ write: (items) => putOverStored(target, items) }),
  };
}

/**
 * Writes mutations to a table unchanged (HBase's `TableOutputFormat`). After a crash some are repeated: puts and
 * deletes with explicit timestamps then change nothing, but increments and appends count twice.
 * @throws the first failure.
 */
export function tableSink(engine: Engine, table: string): Sink<RowMutation | RowMutations> {
  const into = engine.table(table);
  return {
    signature: `table ${into.name}`,
    open: () => ({
      async write(changes) {
        for (const outcome of await into.batch(changes)) if (!outcome.ok) throw outcome.error;
      },
    }),
  };
}

/** An item with the name of the sink that it goes to. */
export type Tagged<Sinks extends Readonly<Record<string, Sink<never>>>> = {
  [Name in keyof Sinks & string]: {
    readonly to: Name;
    readonly item: Sinks[Name] extends Sink<infer T> ? T : never;
  };
}[keyof Sinks & string];

/** Combines several sinks (HBase's `MultiTableOutputFormat`): each item names the one that it goes to. */
export function several<const Sinks extends Readonly<Record<string, Sink<never>>>>(
  sinks: Sinks,
): Sink<Tagged<Sinks>> {
  const names = Object.keys(sinks);
  const completing = names.filter((name) => sinks[name]!.complete !== undefined);
  return {
    ...(completing.length === 0
      ? {}
      : {
          async complete(kept, context) {
            for (const name of completing) await sinks[name]!.complete!(keptOf(kept, name), context);
          },
        }),
    async dispose(job, run) {
      for (const name of names) await sinks[name]!.dispose?.(job, run);
    },
    filesOnly: names.every((name) => sinks[name]!.filesOnly === true),
    signature: `several ${names.map((name) => `${name}: ${sinks[name]!.signature}`).join(', ')}`,
    async open(context) {
      const kept = (context.resumed ?? {}) as Readonly<Record<string, JsonValue>>;
      const writers = new Map<string, SinkWriter<unknown>>();
      for (const name of names) {
        const sink = sinks[name] as Sink<unknown>;
        writers.set(name, await sink.open({ ...context, resumed: kept[name] }));
      }
      return new SeveralWriter(writers);
    },
  };
}

/** The checkpoint data of the splits for one of several sinks. */
function keptOf(kept: ReadonlyMap<number, JsonValue>, name: string): Map<number, JsonValue> {
  const own = new Map<number, JsonValue>();
  for (const [split, all] of kept) {
    const one = (all as Readonly<Record<string, JsonValue>> | null)?.[name];
    if (one !== undefined) own.set(split, one);
  }
  return own;
}

class SeveralWriter implements SinkWriter<{ readonly to: string; readonly item: unknown }> {
  constructor(private readonly writers: ReadonlyMap<string, SinkWriter<unknown>>) {}

  async write(items: readonly { readonly to: string; readonly item: unknown }[]): Promise<void> {
    for (const [name, writer] of this.writers) {
      const own = items.filter(({ to }) => to === name).map(({ item }) => item);
      if (own.length > 0) await writer.write(own);
    }
  }

  async commit(): Promise<JsonValue> {
    const kept: Record<string, JsonValue> = {};
    for (const [name, writer] of this.writers) {
      const own = await writer.commit?.();
      if (own !== undefined) kept[name] = own;
    }
    return kept;
  }

  async close(): Promise<void> {
    for (const writer of this.writers.values()) await writer.close?.();
  }
}

/**
 * A sink that loads files into a table (HBase's `HFileOutputFormat2`). Loads puts, and rows with their cells, into a
 * table, bypassing WAL and memstore. Each split sorts its items in `options.folder`; when all are done they are loaded
 * at once, and until then the table is unchanged. Observers and indexes are bypassed.
 * @throws InvalidArgumentError without a folder; UnsupportedError for an engine without bulk loads.
 */
export function bulkLoad(engine: Engine, table: string, options: BulkFolder): Sink<Put | Result> {
  const target = new BulkTarget(engine, table, options);
  return {
    signature: target.signature,
    async open(context) {
      const runs = await target.runs(context);
      return {
        async write(items) {
          const now = engine.now();
          await runs.add(items.map((item) => rowOfItem(item, now)));
        },
        commit: () => runs.commit(),
      };
    },
    complete: (kept, context) => target.load(kept, context),
    dispose: (job, run) => target.dispose(job, run),
  };
}
