import { DeltaDecoder } from './delta-decoder.js';
import { DeltaFlag } from './delta-format.js';

export class PrefixDecoder extends DeltaDecoder {
  protected override decodeKey(): void {
    const sharedRow = this.number();
    const restOfRow = this.number();
    const sharedQualifier = this.number();
    const restOfQualifier = this.number();
    this.valueLength = this.number();
    this.type = this.byte();
    this.timestamp = this.number();
    this.seq = this.number();
    this.ttl = this.number();
    const rowAt = this.at;
    const qualifierAt = rowAt + restOfRow;
    this.setRow(sharedRow, rowAt, restOfRow);
    this.setQualifier(sharedQualifier, qualifierAt, restOfQualifier);
    this.valueAt = qualifierAt + restOfQualifier;
    this.at = this.valueAt + this.valueLength;
  }
}

/** DIFF and FAST_DIFF, which differ in how they write timestamp and seq. */
abstract class FlaggedDecoder extends DeltaDecoder {
  protected override decodeKey(): void {
    const flags = this.byte();
    const sameRow = (flags & DeltaFlag.SameRow) !== 0;
    const sameQualifier = (flags & DeltaFlag.SameQualifier) !== 0;
    const sharedRow = sameRow ? 0 : this.number();
    const restOfRow = sameRow ? 0 : this.number();
    const sharedQualifier = sameQualifier ? 0 : this.number();
    const restOfQualifier = sameQualifier ? 0 : this.number();
    if ((flags & DeltaFlag.SameValueLength) === 0) this.valueLength = this.number();
    if ((flags & DeltaFlag.SameType) === 0) this.type = this.byte();
    this.decodeNumbers(flags);
    this.ttl = (flags & DeltaFlag.Ttl) === 0 ? 0 : this.number();
    const rowAt = this.at;
    const qualifierAt = rowAt + restOfRow;
    if (sameRow) this.key.keepRow();
    else this.setRow(sharedRow, rowAt, restOfRow);
    if (!sameQualifier) this.setQualifier(sharedQualifier, qualifierAt, restOfQualifier);
    this.at = qualifierAt + restOfQualifier;
    if ((flags & DeltaFlag.SameValue) !== 0) return;
    this.valueAt = this.at;
    this.at += this.valueLength;
  }

  protected abstract decodeNumbers(flags: number): void;
}

export class DiffDecoder extends FlaggedDecoder {
  protected override decodeNumbers(flags: number): void {
    if ((flags & DeltaFlag.SameValue) !== 0) throw this.bad('there is an unknown flag');
    const time = this.number();
    const seq = this.number();
    this.timestamp += (flags & DeltaFlag.EarlierTimestamp) === 0 ? time : -time;
    this.seq += (flags & DeltaFlag.LowerSeq) === 0 ? seq : -seq;
    if (!isNumber(this.timestamp) || !isNumber(this.seq)) throw this.bad('a distance is too large');
  }
}

export class FastDiffDecoder extends FlaggedDecoder {
  protected override decodeNumbers(flags: number): void {
    if ((flags & (DeltaFlag.EarlierTimestamp | DeltaFlag.LowerSeq)) !== 0)
      throw this.bad('there is an unknown flag');
    const counts = this.byte();
    this.timestamp = this.withLowBytes(this.timestamp, counts & 15);
    this.seq = this.withLowBytes(this.seq, counts >>> 4);
  }

  /** `value` with its `count` low bytes replaced by those that follow. */
  private withLowBytes(value: number, count: number): number {
    if (count === 0) return value;
    if (count > 7 || this.at + count > this.end) throw this.bad('a number has too many bytes');
    const { bytes, at } = this;
    let low = 0;
    let scale = 1;
    for (let i = 0; i < count; i++) {
      low += bytes[at + i]! * scale;
      scale *= 256;
    }
    this.at = at + count;
    const whole = value - (value % scale) + low;
    if (!isNumber(whole)) throw this.bad('a number is too large');
    return whole;
  }
}

function isNumber(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
