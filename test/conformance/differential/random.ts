/** Repeatable randomness: the same seed gives the same choices (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** In [0, 1). */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };

  /** In [0, count). */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** From low to high, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** Some of the list, at least one, in its order. */
  some<T>(list: readonly T[]): T[] {
    const chosen = list.filter(() => this.chance(0.5));
    return chosen.length > 0 ? chosen : [this.pick(list)];
  }
}
