import { InvalidArgumentError } from '../../errors.js';
import { toTagged } from '../../mapper/tagged.js';
import { describe } from '../../table/checks.js';
import type { Sink, SinkWriter } from './sink.js';

/** What the items of a job name in other tables: got for a batch of items at once, and kept for those that come. */

/** What repositories have that entities are looked up in. */
export interface LookupTarget<K, E> {
  readonly entityName: string;
  getMany(keys: readonly K[]): Promise<readonly (E | null)[]>;
}

export interface LookupOptions {
  /**
   * How many entities each process and thread keeps of those that were asked for last, and keys that have none; 0: none. What is kept
   * is as it was when it was got. Default 10,000.
   */
  readonly kept?: number;
}

/** A lookup as a job declares it. */
export interface LookupStep {
  readonly target: LookupTarget<unknown, unknown>;
  readonly keyOf: (item: unknown) => unknown;
  readonly kept: number;
}

const DEFAULT_KEPT = 10_000;

/** @throws InvalidArgumentError for what no lookup can be. */
export function lookupStep(
  target: unknown,
  keyOf: unknown,
  { kept = DEFAULT_KEPT }: LookupOptions,
): LookupStep {
  const { getMany, entityName } = (target ?? {}) as Partial<LookupTarget<unknown, unknown>>;
  if (typeof getMany !== 'function' || typeof entityName !== 'string' || typeof keyOf !== 'function') {
    throw new InvalidArgumentError(
      'A job looks up in a repository, by a function that answers the key for an item: lookup(pages, (visit) => ({ id: visit.page })).',
    );
  }
  if (!Number.isSafeInteger(kept) || kept < 0) {
    throw new InvalidArgumentError(
      `kept is how many entities a lookup keeps, a whole number from 0, not ${describe(kept)}.`,
    );
  }
  return { target: target as LookupStep['target'], keyOf: keyOf as LookupStep['keyOf'], kept };
}

/** A lookup at work. Several splits may use it at a time. */
export class Lookup {
  /** By their keys; those that were asked for last are the last. */
  private readonly known = new Map<string, unknown>();

  constructor(private readonly step: LookupStep) {}

  /** Part of the job's signature. */
  get name(): string {
    return this.step.target.entityName;
  }

  /** Of each item the entity that it names; null where there is none, or the item names none. */
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

/** Counters as a sink. */

/** What repositories have whose counters are added to. */
export interface IncrementTarget<K, A> {
  readonly entityName: string;
  increment(key: K, amounts: A): Promise<unknown>;
}

/** What is added to the counters of one entity. */
export interface Increments<K, A> {
  readonly key: K;
  readonly by: A;
}

/** Sums of so many entities are kept before they are added. */
const MOST_SUMS = 10_000;
const AT_ONCE = 32;

/**
 * Adds to counters of entities, summed up by entity between checkpoints. At least once: what was added after the last
 * checkpoint of a split that is begun again is added again. Where that must not be, count in a `reduce`, and put what it answers.
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
    if (this.sums.size > MOST_SUMS) await this.flush();
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
