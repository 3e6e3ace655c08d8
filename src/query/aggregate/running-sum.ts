import { QueryError } from '../../errors.js';
import { typeName } from '../compare.js';

/** A sum of one kind of number. */
export interface RunningSum {
  add(value: unknown): void;
  /** In the type of the values. */
  readonly total: number | bigint | string;
  /** The nearest double of total / count. */
  average(count: number): number;
}

/** The error of a value that cannot be added. */
export function notSummable(property: string, value: unknown): QueryError {
  return new QueryError(
    `sum and avg take numbers, bigints and decimals: ${property} holds a ${typeName(value)}.`,
    { details: { property } },
  );
}

/** Digits that the quotient of an average is worked out to: more than a double holds. */
const QUOTIENT_DIGITS = 40;

/** The nearest double of (unscaled / 10^scale) / count. */
export function quotient(unscaled: bigint, scale: number, count: number): number {
  const digits = (unscaled * 10n ** BigInt(QUOTIENT_DIGITS)) / BigInt(count);
  return Number(`${digits}e-${QUOTIENT_DIGITS + scale}`);
}

/** unscaled / 10^scale, with that many digits behind the point. */
export function decimalText(unscaled: bigint, scale: number): string {
  const sign = unscaled < 0n ? '-' : '';
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString();
  if (scale === 0) return sign + digits;
  const padded = digits.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}
