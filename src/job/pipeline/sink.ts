/** Where the outcome of a job goes. */

import type { JsonValue } from '../../codec/index.js';
import type { SplitContext } from '../types.js';

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
  return {
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
