import { KeyError } from '../../../errors.js';
import { describe } from '../../../table/checks.js';

/** value mod n, 0..n-1, of a whole number, a bigint or the ms of a Date. @throws KeyError. */
export function modulo(name: string, value: unknown, n: number): number | bigint {
  const number = value instanceof Date ? value.getTime() : value;
  if (typeof number === 'bigint') return ((number % BigInt(n)) + BigInt(n)) % BigInt(n);
  if (typeof number === 'number' && Number.isSafeInteger(number)) return ((number % n) + n) % n;
  throw new KeyError(
    `Key part "${name}": ${describe(value)} has no modulo. Buckets go with whole numbers, bigints and Dates; spread others with salt().`,
    { details: { property: name } },
  );
}
