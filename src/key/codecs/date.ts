import { BaseCodec, badBytes, badValue, type ScalarCodec, type ValueRange } from './base.js';
import { wrongLength } from './integer-bytes.js';
import { readSafe, SIGN, writeSafe } from './long-bytes.js';
import { signedPieces } from './signed-pieces.js';
import type { KeyWriter } from './writer.js';

/** Milliseconds of a valid Date. */
export function timeOf(value: unknown, codec: string): number {
  const ms = value instanceof Date ? value.getTime() : Number.NaN;
  if (Number.isNaN(ms)) throw badValue(codec, value, 'a valid Date');
  return ms;
}

/** The largest distance from 1970 that a Date can have, in ms. */
export const MAX_DATE = 8.64e15;

/** A Date as 8 bytes of two's complement ms, the first one XOR `flip`. */
export class DateCodec extends BaseCodec<Date> {
  readonly fixedLength = 8;
  override readonly ordered: boolean;

  constructor(
    readonly name: string,
    private readonly flip: number,
  ) {
    super();
    this.ordered = flip !== 0;
  }

  write(value: Date, out: KeyWriter): void {
    writeSafe(timeOf(value, this.name), this.flip, out);
  }

  read(bytes: Uint8Array, start: number, end: number): Date {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const ms = readSafe(bytes, start, this.flip);
    if (Math.abs(ms) > MAX_DATE)
      throw badBytes(this.name, bytes, start, end, 'it is beyond what a Date can hold');
    return new Date(ms);
  }

  override get order(): BaseCodec<Date> {
    return date as BaseCodec<Date>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] | undefined {
    if (this.ordered) return undefined;
    const bound = (end: ValueRange['lower']) =>
      end && { value: timeOf(end.value, this.name), inclusive: end.inclusive };
    const asDate = (end: ValueRange['lower']) =>
      end && { value: new Date(end.value as number), inclusive: end.inclusive };
    const numbers = { lower: bound(range.lower), upper: bound(range.upper) };
    return signedPieces(numbers, -MAX_DATE, 0, -1, MAX_DATE).map((piece) => ({
      lower: asDate(piece.lower),
      upper: asDate(piece.upper),
    }));
  }
}

/** A Date, to the millisecond, before and after 1970. */
export const date: ScalarCodec<Date> = new DateCodec('date', SIGN);
