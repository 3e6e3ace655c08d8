import type { Counters } from './types.js';

/** Sums by name, being counted. */
export class CounterSet {
  private readonly sums: Map<string, number>;

  constructor(start: Counters = {}) {
    this.sums = new Map(Object.entries(start));
  }

  add(name: string, by: number): void {
    this.sums.set(name, (this.sums.get(name) ?? 0) + by);
  }

  addAll(counters: Counters): void {
    for (const [name, by] of Object.entries(counters)) this.add(name, by);
  }

  clear(): void {
    this.sums.clear();
  }

  /** In the order of their names. */
  toCounters(): Counters {
    return Object.fromEntries([...this.sums].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
