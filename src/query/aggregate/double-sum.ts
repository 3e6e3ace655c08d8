import { notSummable, type RunningSum } from './running-sum.js';

/**
 * The sum of doubles by Neumaier's compensated summation (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
 * endlicher Summen", ZAMM 54, 1974).
 */
export class DoubleSum implements RunningSum {
  private sum = 0;
  private lost = 0;
  /** What the values come to without compensation: right where infinities and NaN are among them. */
  private plain = 0;

  constructor(private readonly property: string) {}

  add(value: unknown): void {
    if (typeof value !== 'number') throw notSummable(this.property, value);
    const next = this.sum + value;
    this.lost += Math.abs(this.sum) >= Math.abs(value) ? this.sum - next + value : value - next + this.sum;
    this.sum = next;
    this.plain += value;
  }

  get total(): number {
    const total = this.sum + this.lost;
    return Number.isFinite(total) ? total : this.plain;
  }

  average(count: number): number {
    return this.total / count;
  }
}
