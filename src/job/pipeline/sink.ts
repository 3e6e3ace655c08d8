import type { JsonValue } from '../../codec/index.js';
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
  open(context: SplitContext): SinkWriter<T> | Promise<SinkWriter<T>>;
  /**
   * Called when all splits are done, with the data that each stored with its last checkpoint. Called again if it is
   * interrupted.
   */
  complete?(kept: ReadonlyMap<number, JsonValue>, context: SplitContext): Promise<void>;
  /** Called when the job is done: removes temporary data. May be called more than once. */
  dispose?(job: string, run: number): Promise<void>;
}

/** The part of a repository that the sink uses. */
export interface PutTarget<E> {
  readonly entityName: string;
  putMany(entities: readonly E[]): Promise<void>;
}

/** Puts entities. Repeating a put after an interruption replaces the entity by itself. */
export function entitySink<E>(target: PutTarget<E>): Sink<E> {
  return {
    signature: `entities ${target.entityName}`,
    open: () => ({ write: (items) => target.putMany(items) }),
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
