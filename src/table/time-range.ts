import { InvalidArgumentError } from '../errors.js';
import { LATEST_TIMESTAMP } from './cell.js';
import { checkTimestamp } from './checks.js';

/** Timestamps from `min` (inclusive) to `max` (exclusive); `max` = LATEST_TIMESTAMP is open (R52). */
export class TimeRange {
  static readonly ALL: TimeRange = new TimeRange(0, LATEST_TIMESTAMP);

  constructor(
    readonly min: number,
    readonly max: number,
  ) {
    checkTimestamp(min);
    checkTimestamp(max);
    if (max < min)
      throw new InvalidArgumentError(`A time range ends at or after its start; got [${min}, ${max}).`);
  }

  get isAll(): boolean {
    return this.min === 0 && this.max === LATEST_TIMESTAMP;
  }

  contains(timestamp: number): boolean {
    return timestamp >= this.min && (timestamp < this.max || this.max === LATEST_TIMESTAMP);
  }
}
