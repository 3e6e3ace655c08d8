/**
 * Numbers as whole multiples of a unit, and those as limbs of 32 bits that are added to one by one. Adding limbs needs no
 * carry, so sums are kept by increments alone, in any order, and lose nothing.
 */

import { decimalText, quotient } from '../../query/index.js';
import type { SumKind } from '../../schema/types.js';

const LIMB_BITS = 32n;
const LIMB_MASK = (1n << LIMB_BITS) - 1n;
/** The unit of doubles is 2 to the minus so much. */
const DOUBLE_SHIFT = 1074;
const MANTISSA_BITS = 53;

/** What has no place among the multiples of a unit. */
export type Beyond = 'negative infinity' | 'infinity' | 'NaN';

/** A value of the codec in units. */
export function unitsOf(value: unknown, kind: SumKind): bigint | Beyond {
  switch (kind.unit) {
    case 'one':
      return BigInt(value as number | bigint);
    case 'decimal':
      return BigInt((value as string).replace('.', ''));
    case 'double':
      return doubleUnits(value as number);
  }
}

const view = new DataView(new ArrayBuffer(8));

function doubleUnits(value: number): bigint | Beyond {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'infinity' : 'negative infinity';
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const units = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
  return value < 0 ? -units : units;
}

/** Calls `each` with the limbs that are not zero, the lowest is number 0. All of them have the sign of the number. */
export function eachLimb(units: bigint, each: (limb: number, amount: bigint) => void): void {
  const sign = units < 0n ? -1n : 1n;
  let rest = units * sign;
  for (let limb = 0; rest > 0n; limb++) {
    const amount = rest & LIMB_MASK;
    if (amount > 0n) each(limb, sign * amount);
    rest >>= LIMB_BITS;
  }
}

/** What an amount of limb n stands for. */
export function limbUnits(limb: number, amount: bigint): bigint {
  return amount << (LIMB_BITS * BigInt(limb));
}

/** A sum in the type of the values. */
export function sumOf(units: bigint, kind: SumKind): number | bigint | string {
  switch (kind.unit) {
    case 'one':
      return kind.as === 'bigint' ? units : Number(units);
    case 'decimal':
      return decimalText(units, kind.scale);
    case 'double':
      return toDouble(units, 1n);
  }
}

/** The double that is nearest to the sum of so many values divided by their number. */
export function averageOf(units: bigint, kind: SumKind, count: number): number {
  if (kind.unit === 'double') return toDouble(units, BigInt(count));
  return quotient(units, kind.unit === 'decimal' ? kind.scale : 0, count);
}

/** The nearest double of units / divisor, in units of doubles; ties go to even, as everywhere. */
function toDouble(units: bigint, divisor: bigint): number {
  if (units < 0n) return -toDouble(-units, divisor);
  if (units === 0n) return 0;
  // As many units together as leave the bits of a mantissa: never less than one, so the smallest doubles are right too.
  const step = Math.max(0, bitsOf(units / divisor) - MANTISSA_BITS);
  const bottom = divisor << BigInt(step);
  const whole = units / bottom;
  const twice = 2n * (units - whole * bottom);
  const up = twice > bottom || (twice === bottom && whole % 2n === 1n);
  // Exact, but where it is more than a double can be.
  return Number(up ? whole + 1n : whole) * 2 ** (step - DOUBLE_SHIFT);
}

function bitsOf(value: bigint): number {
  if (value === 0n) return 0;
  const hex = value.toString(16);
  return hex.length * 4 - Math.clz32(Number.parseInt(hex[0]!, 16)) + 28;
}
