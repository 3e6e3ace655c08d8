import type { JsonValue } from '../../codec/index.js';
import type { Engine, Put, Result, RowMutation, RowMutations } from '../../table/index.js';
import { type BulkFolder, BulkTarget, rowOfItem } from '../bulk/bulk-load.js';
import type { SplitContext } from '../types.js';

/** Where the outcome of a job goes. */

/** Takes what one attempt at a split gives. Calls come one after another. */
export interface SinkWriter<T> {
  write(items: readonly T[]): void | Promise<void>;
  /**
   * Before each checkpoint: what was written has to last. What it answers is given to the next attempt at the split as
   * `context.resumed`; what was written after it is written again then.
   */
  commit?(): JsonValue | undefined | Promise<JsonValue | undefined>;
  /** At the end of the attempt, whatever it was. */
  close?(): void | Promise<void>;
}

/** A place that takes items, of many splits at once. */
export interface Sink<T> {
  /** Part of the job's signature. */
  readonly signature: string;
  open(context: SplitContext): SinkWriter<T> | Promise<SinkWriter<T>>;
  /**
   * When all splits are done, given what each kept with its last checkpoint. Done again when it did not come to its end.
   */
  complete?(kept: ReadonlyMap<number, JsonValue>, context: SplitContext): Promise<void>;
  /** When the job is done: removes what is not needed any more. May be called again. */
  dispose?(job: string, run: number): Promise<void>;
}

/** What repositories have that entities are put into. */
export interface PutTarget<E> {
  readonly entityName: string;
  putMany(entities: readonly E[]): Promise<void>;
}

/** Puts entities. An entity that is put again by a later attempt replaces itself. */
export function entitySink<E>(target: PutTarget<E>): Sink<E> {
  return {
    signature: `entities ${target.entityName}`,
    open: () => ({ write: (items) => target.putMany(items) }),
  };
}

/**
 * Writes changes of rows of a table as they are (HBase `TableOutputFormat`). What is begun again after a crash is written again: with
 * timestamps of their own puts and deletes then change nothing, increments and appends count twice.
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

/** One sink of many, chosen by what each item says. */
export type Tagged<Sinks extends Readonly<Record<string, Sink<never>>>> = {
  [Name in keyof Sinks & string]: {
    readonly to: Name;
    readonly item: Sinks[Name] extends Sink<infer T> ? T : never;
  };
}[keyof Sinks & string];

/** Several sinks at once (HBase `MultiTableOutputFormat`): each item says which it goes to. */
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

/** What the splits kept of one of several sinks. */
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

/** A table as a sink that is filled by files (HBase `HFileOutputFormat2`). */

/**
 * Puts, and rows with their cells, into a table past log and memory: each split sorts its own in `options.folder`, and when all are done
 * they are loaded at once. The table is seen unchanged until then. Neither observers nor indexes are told.
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
