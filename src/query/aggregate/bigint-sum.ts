import { notSummable, quotient, type RunningSum } from './running-sum.js';

/** The sum of bigints, exact. */
export class BigintSum implements RunningSum {
  total = 0n;

  constructor(private readonly property: string) {}

  add(value: unknown): void {
    if (typeof value !== 'bigint') throw notSummable(this.property, value);
    this.total += value;
  }

  average(count: number): number {
    return quotient(this.total, 0, count);
  }
}
