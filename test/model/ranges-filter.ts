import type { FilterRange } from '../../src/table/index.js';
import { latin1 } from './cells.js';
import { ANY_TIME, ModelFilter, NEXT_ROW, PASS, type Verdict } from './verdict.js';

/** `MultiRowRangeFilter`: seeks to the nearest range that lies ahead. */
export class RangesFilter extends ModelFilter {
  private verdict: Verdict = PASS;
  private exhausted = false;
  private readonly ranges: readonly { start: string; stop: string; range: FilterRange }[];

  constructor(
    ranges: readonly FilterRange[],
    private readonly reversed: boolean,
  ) {
    super();
    this.ranges = ranges.map((range) => ({
      start: latin1(range.startRow),
      stop: latin1(range.stopRow),
      range,
    }));
  }

  override get done(): boolean {
    return this.exhausted;
  }

  override dropKey(row: string): boolean {
    if (this.exhausted) return true;
    if (this.ranges.some(({ start, stop, range }) => isIn(row, start, stop, range))) {
      this.verdict = PASS;
      return false;
    }
    const ahead = this.ranges
      .map(({ start, stop }) => (this.reversed ? stop : start))
      .filter((end) => (this.reversed ? end !== '' && end <= row : end >= row))
      .sort();
    const next = this.reversed ? ahead.at(-1) : ahead[0];
    this.exhausted = next === undefined;
    this.verdict =
      next === undefined
        ? NEXT_ROW
        : { pass: false, next: { row: next, family: undefined, qualifier: '', timestamp: ANY_TIME } };
    return false;
  }

  override see(): Verdict {
    return this.verdict;
  }
}

function isIn(row: string, start: string, stop: string, range: FilterRange): boolean {
  const fromStart = start === '' || row > start || (row === start && range.startInclusive);
  return fromStart && (stop === '' || row < stop || (row === stop && range.stopInclusive));
}
