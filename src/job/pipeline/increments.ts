/** Counters as a sink. */

import { toTagged } from '../../mapper/tagged.js';
import type { Sink, SinkWriter } from './sink.js';

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
