import { decimalText } from '../../codec/index.js';
import { QueryError } from '../../errors.js';
import { typeName } from '../evaluate.js';

/** A running sum of numbers of one kind. */
export interface RunningSum {
  add(value: unknown): void;
  /** The sum, in the type of the values. */
  readonly total: number | bigint | string;
  /** total / count, rounded to the nearest double. */
  average(count: number): number;
}

/** The error of a value that cannot be summed. */
function notSummable(property: string, value: unknown): QueryError {
  return new QueryError(
    `sum and avg take numbers, bigints and decimals: ${property} holds a ${typeName(value)}.`,
    { details: { property } },
  );
}

/** Decimal digits computed of an average: more than a double holds. */
const QUOTIENT_DIGITS = 40;

/** (unscaled / 10^scale) / count, rounded to the nearest double. */
export function quotient(unscaled: bigint, scale: number, count: number): number {
  const digits = (unscaled * 10n ** BigInt(QUOTIENT_DIGITS)) / BigInt(count);
  return Number(`${digits}e-${QUOTIENT_DIGITS + scale}`);
}

/** An exact sum of bigints. */
class BigintSum implements RunningSum {
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

const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;

/** An exact sum of decimals. */
class DecimalSum implements RunningSum {
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

  /** With as many digits after the point as the longest of the values. */
  get total(): string {
    return decimalText(this.unscaled, this.scale);
  }

  average(count: number): number {
    return quotient(this.unscaled, this.scale, count);
  }
}

/**
 * The sum of doubles by Neumaier's compensated summation (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
 * endlicher Summen", ZAMM 54, 1974).
 */
class DoubleSum implements RunningSum {
  private sum = 0;
  private lost = 0;
  /** The uncompensated sum: correct where infinities or NaN are among the values. */
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

/**
 * Sums without lost digits: integers and decimals as bigints, doubles with compensation.
 * @throws QueryError naming the property when the value is no number.
 */
export function sumFor(property: string, first: unknown): RunningSum {
  switch (typeof first) {
    case 'number':
      return new DoubleSum(property);
    case 'bigint':
      return new BigintSum(property);
    case 'string':
      return new DecimalSum(property);
    default:
      throw notSummable(property, first);
  }
}
