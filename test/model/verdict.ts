/** What the model's filters answer, and what they share. */

import { compareText, nameBytes, type StoredCell } from './cells.js';

/** Whether a cell passes, and from where on the filter wants to see cells again. */
export interface Verdict {
  readonly pass: boolean;
  readonly next: 'cell' | 'column' | 'row' | Place;
}

/** A place in the order of cells; without a family, the beginning of the row. */
export interface Place {
  readonly row: string;
  readonly family: string | undefined;
  readonly qualifier: string;
  readonly timestamp: number;
}

export const PASS: Verdict = { pass: true, next: 'cell' };
export const PASS_COLUMN: Verdict = { pass: true, next: 'column' };
export const DROP: Verdict = { pass: false, next: 'cell' };
export const NEXT_COLUMN: Verdict = { pass: false, next: 'column' };
export const NEXT_ROW: Verdict = { pass: false, next: 'row' };

export const ANY_TIME = Number.POSITIVE_INFINITY;

/** Whether a cell lies before a place, in the direction of the scan. */
export function isBefore(cell: StoredCell, place: Place, reversed: boolean): boolean {
  const row = compareText(cell.row, place.row);
  if (row !== 0) return reversed ? row > 0 : row < 0;
  if (place.family === undefined) return false;
  const order =
    compareText(nameBytes(cell.family), nameBytes(place.family)) ||
    compareText(cell.qualifier, place.qualifier);
  return order !== 0 ? order < 0 : cell.timestamp > place.timestamp;
}

/** A filter at work. What is left out lets everything pass. */
export abstract class ModelFilter {
  /** Between rows. */
  reset(): void {}
  get done(): boolean {
    return false;
  }
  /** Whether to drop the row by its key. */
  dropKey(_row: string): boolean {
    return false;
  }
  abstract see(cell: StoredCell): Verdict;
  /** The value to give instead. */
  value(value: string): string {
    return value;
  }
  /** Whether it decides over whole rows. */
  get wholeRows(): boolean {
    return false;
  }
  keep(cells: StoredCell[]): StoredCell[] {
    return cells;
  }
  dropRow(): boolean {
    return false;
  }
}
