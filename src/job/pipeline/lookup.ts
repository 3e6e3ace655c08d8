/** What the items of a job name in other tables: got for a batch of items at once, and kept for those that come. */

import { InvalidArgumentError } from '../../errors.js';
import { toTagged } from '../../mapper/tagged.js';
import { describe } from '../../table/checks.js';

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
