/** Ids that rise with the time at which they are made: for `@Default` of key parts. */

import { randomBytes } from 'node:crypto';

/** Ids of one millisecond count on from each other, so that those of one process always rise. */
class RisingBits {
  private time = -1;
  private low: bigint = 0n;

  constructor(private readonly bits: bigint) {}

  next(now: number): { readonly time: number; readonly low: bigint } {
    if (now > this.time) {
      this.time = now;
      // The highest bit is free, so that counting on does not overflow.
      this.low = BigInt(`0x${randomBytes(10).toString('hex')}`) & ((1n << (this.bits - 1n)) - 1n);
    } else {
      this.low += 1n;
    }
    return { time: this.time, low: this.low };
  }
}

const uuidBits = new RisingBits(74n);
const ulidBits = new RisingBits(80n);

/**
 * A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then 74 random ones. Ids of one process rise, also within a
 * millisecond and when the clock steps back.
 */
export function newUuid(): string {
  const { time, low } = uuidBits.next(Date.now());
  const a = low >> 62n;
  const b = low & ((1n << 62n) - 1n);
  const value = (BigInt(time) << 80n) | (7n << 76n) | (a << 64n) | (2n << 62n) | b;
  const hex = value.toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of milliseconds and 80 random ones as 26 characters of Crockford's base 32, rising as `newUuid`. */
export function newUlid(): string {
  const { time, low } = ulidBits.next(Date.now());
  let value = (BigInt(time) << 80n) | low;
  let out = '';
  for (let i = 0; i < 26; i++) {
    out = CROCKFORD[Number(value & 31n)] + out;
    value >>= 5n;
  }
  return out;
}
