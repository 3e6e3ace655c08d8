import { decimalText, notSummable, quotient, type RunningSum } from './running-sum.js';

const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;

/** The sum of decimals, exact. */
export class DecimalSum implements RunningSum {
  private unscaled = 0n;
  private scale = 0;

  constructor(private readonly property: string) {}

  add(value: unknown): void {
    if (typeof value !== 'string' || !DECIMAL.test(value)) throw notSummable(this.property, value);
    const point = value.indexOf('.');
    const scale = point < 0 ? 0 : value.length - point - 1;
    const digits = BigInt(point < 0 ? value : value.slice(0, point) + value.slice(point + 1));
    if (scale > this.scale) {
      this.unscaled *= 10n ** BigInt(scale - this.scale);
      this.scale = scale;
    }
    this.unscaled += scale === this.scale ? digits : digits * 10n ** BigInt(this.scale - scale);
  }

  /** With as many digits behind the point as the value that had most. */
  get total(): string {
    return decimalText(this.unscaled, this.scale);
  }

  average(count: number): number {
    return quotient(this.unscaled, this.scale, count);
  }
}
