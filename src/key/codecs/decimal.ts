import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { badValue, type ScalarCodec } from './base.js';
import { BigNumberCodec, readBig, writeBig } from './big-number-codec.js';
import type { KeyWriter } from './writer.js';

class DecimalCodec extends BigNumberCodec<string> {
  readonly name: string;

  constructor(private readonly scale: number) {
    super();
    this.name = `decimal(${scale})`;
  }

  write(value: string, out: KeyWriter): void {
    writeBig(this.unscaled(value), out, this.name);
  }

  private unscaled(value: string): bigint {
    const match = typeof value === 'string' ? /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(value) : null;
    const fraction = match?.[3] ?? '';
    if (match === null || fraction.length > this.scale) {
      throw badValue(
        this.name,
        value,
        `a text of digits with at most ${this.scale} behind the point, like "-12.5" (nothing is rounded)`,
      );
    }
    const magnitude = BigInt(match[2]! + fraction.padEnd(this.scale, '0'));
    return match[1] === '-' ? -magnitude : magnitude;
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    const value = readBig(bytes, start, end, this.name);
    const digits = (value < 0n ? -value : value).toString().padStart(this.scale + 1, '0');
    const sign = value < 0n ? '-' : '';
    if (this.scale === 0) return sign + digits;
    const point = digits.length - this.scale;
    return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  }
}

/**
 * An exact decimal number as text, with `scale` (0..100) digits behind the point. It is given back with exactly that
 * many digits: "12.5" with `decimal(2)` becomes "12.50". More digits than that are an error, never rounded.
 */
export function decimal(scale: number): ScalarCodec<string> {
  if (!Number.isInteger(scale) || scale < 0 || scale > 100) {
    throw new SchemaError(
      `decimal(): the scale must be a whole number of digits from 0 to 100, not ${describe(scale)}.`,
    );
  }
  return new DecimalCodec(scale);
}
