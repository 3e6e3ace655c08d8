import { InvalidArgumentError } from '../../errors.js';
import { toTagged } from '../../mapper/tagged.js';
import { describe } from '../../table/checks.js';
import type { Sink, SinkWriter } from './sink.js';

// — Looks up entities of other tables that the items of a job refer to: in one call for each batch, with a cache.

/** The part of a repository that look-ups use. */
export interface LookupTarget<K, E> {
  readonly entityName: string;
  getMany(keys: readonly K[]): Promise<readonly (E | null)[]>;
}

export interface LookupOptions {
  /**
   * How many recently used entities, and keys without an entity, each process and thread caches; 0: none. Cached
   * entities are not refreshed. Default 10,000.
   */
  readonly kept?: number;
}

/** The declaration of a look-up. */
export interface LookupStep {
  readonly target: LookupTarget<unknown, unknown>;
  readonly keyOf: (item: unknown) => unknown;
  readonly kept: number;
}

const DEFAULT_KEPT = 10_000;

/**
 * Checks and creates the declaration.
 * @throws InvalidArgumentError for wrong arguments.
 */
export function lookupStep(
  target: unknown,
  keyOf: unknown,
  { kept = DEFAULT_KEPT }: LookupOptions,
): LookupStep {
  const { getMany, entityName } = (target ?? {}) as Partial<LookupTarget<unknown, unknown>>;
  if (typeof getMany !== 'function' || typeof entityName !== 'string' || typeof keyOf !== 'function') {
    throw new InvalidArgumentError(
      'lookup() takes a repository and a function that returns the key for an item: lookup(pages, (visit) => ({ id: visit.page })).',
    );
  }
  if (!Number.isSafeInteger(kept) || kept < 0) {
    throw new InvalidArgumentError(
      `kept is the number of entities that a look-up caches; it must be a whole number, not ${describe(kept)}.`,
    );
  }
  return { target: target as LookupStep['target'], keyOf: keyOf as LookupStep['keyOf'], kept };
}

/** A look-up at run time. Several splits may use it at a time. */
export class Lookup {
  /** By key, in the order of last use. */
  private readonly known = new Map<string, unknown>();

  constructor(private readonly step: LookupStep) {}

  /** Part of the job's signature. */
  get name(): string {
    return this.step.target.entityName;
  }

  /** Returns for each item the entity that it refers to; null if there is none, or the item refers to none. */
  async find(items: readonly unknown[]): Promise<unknown[]> {
    const { target, keyOf } = this.step;
    const names = items.map((item) => {
      const key = keyOf(item);
      return key === undefined || key === null ? undefined : { key, name: JSON.stringify(toTagged(key)) };
    });
    const found = new Map<string, unknown>();
    const missing = new Map<string, unknown>();
    for (const named of names) {
      if (named === undefined || found.has(named.name)) continue;
      if (this.known.has(named.name)) found.set(named.name, this.known.get(named.name));
      else missing.set(named.name, named.key);
    }
    const got = missing.size === 0 ? [] : await target.getMany([...missing.values()]);
    for (const [at, name] of [...missing.keys()].entries()) found.set(name, got[at] ?? null);
    for (const [name, entity] of found) this.keep(name, entity);
    return names.map((named) => (named === undefined ? null : found.get(named.name)));
  }

  private keep(name: string, entity: unknown): void {
    const { known, step } = this;
    known.delete(name);
    known.set(name, entity);
    if (known.size > step.kept) known.delete(known.keys().next().value!);
  }
}

// — A sink that increments counters.

/** The part of a repository that the sink uses. */
export interface IncrementTarget<K, A> {
  readonly entityName: string;
  increment(key: K, amounts: A): Promise<unknown>;
}

/** The increments of one entity's counters. */
export interface Increments<K, A> {
  readonly key: K;
  readonly by: A;
}

/** How many entities' sums are collected before they are written. */
const MAX_SUMS = 10_000;
const AT_ONCE = 32;

/**
 * Increments counters of entities, summed by entity between checkpoints. Delivery is at least once: increments written
 * after the last checkpoint of an interrupted split are repeated. For exact counts, count in a `reduce` and put its
 * result.
 */
export function increments<K extends object, A extends Readonly<Record<string, number | bigint | undefined>>>(
  target: IncrementTarget<K, A>,
): Sink<Increments<K, A>> {
  return {
    signature: `increments ${target.entityName}`,
    open: () => new IncrementWriter(target),
  };
}

class IncrementWriter<K extends object, A extends Readonly<Record<string, number | bigint | undefined>>>
  implements SinkWriter<Increments<K, A>>
{
  private readonly sums = new Map<string, { readonly key: K; readonly by: Map<string, bigint> }>();

  constructor(private readonly target: IncrementTarget<K, A>) {}

  async write(items: readonly Increments<K, A>[]): Promise<void> {
    for (const { key, by } of items) {
      const name = JSON.stringify(toTagged(key));
      const sum = this.sums.get(name) ?? { key, by: new Map<string, bigint>() };
      this.sums.set(name, sum);
      for (const [counter, amount] of Object.entries(by)) {
        if (amount !== undefined) sum.by.set(counter, (sum.by.get(counter) ?? 0n) + BigInt(amount));
      }
    }
    if (this.sums.size > MAX_SUMS) await this.flush();
  }

  async commit(): Promise<undefined> {
    await this.flush();
    return undefined;
  }

  private async flush(): Promise<void> {
    const sums = [...this.sums.values()];
    this.sums.clear();
    for (let at = 0; at < sums.length; at += AT_ONCE) {
      await Promise.all(
        sums
          .slice(at, at + AT_ONCE)
          .map(({ key, by }) => this.target.increment(key, Object.fromEntries(by) as unknown as A)),
      );
    }
  }
}
