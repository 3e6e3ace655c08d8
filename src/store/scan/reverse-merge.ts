import { compareSlices } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import { CellMerge } from './cell-merge.js';

/** The cursor must look for its last row below the bound. */
const STALE = 0;
/** The cursor stands at the first cell of its last row below the bound. */
const PARKED = 1;
/** The cursor has no row below the bound. */
const EXHAUSTED = 2;

/** As {@link CellMerge}, a row at a time from the last to the first; within a row cells are in their usual order. */
export class ReverseMerge extends CellMerge {
  private readonly states: Uint8Array;
  /** Holds the greatest row below the bound; null when there is none. The row's cells may all be too new to be seen. */
  head: CellCursor | null = null;

  constructor(cursors: readonly CellCursor[], readPoint: number) {
    super(cursors, readPoint);
    this.states = new Uint8Array(cursors.length);
  }

  /** Finds the last row below `bound`, or the last of all when it is null. */
  previousRow(bound: Uint8Array | null): void {
    this.clear();
    const { cursors, states } = this;
    let head: CellCursor | null = null;
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      if (states[i] === PARKED && bound !== null && compareRow(cursor, bound) >= 0) states[i] = STALE;
      if (states[i] === STALE) states[i] = cursor.seekToPreviousRow(bound) ? PARKED : EXHAUSTED;
      if (states[i] === PARKED && (head === null || compareRows(cursor, head) > 0)) head = cursor;
    }
    this.head = head;
  }

  /** Brings the cells of the row that `previousRow` found to the top. */
  enterRow(): void {
    const { cursors, states } = this;
    const head = this.head!;
    let own = 0;
    for (let i = 0; i < cursors.length; i++) {
      if (cursors[i] === head) own = i;
      else if (states[i] === PARKED && compareRows(cursors[i]!, head) === 0) this.enter(i);
    }
    // The head's bytes change when it moves, so it comes last.
    this.enter(own);
    this.takeLeast();
  }

  private enter(index: number): void {
    const cursor = this.cursors[index]!;
    this.states[index] = STALE;
    if (this.settle(cursor)) this.insert(cursor);
  }
}

function compareRows(a: CellCursor, b: CellCursor): number {
  return compareSlices(a.key, a.rowOffset, a.rowLength, b.key, b.rowOffset, b.rowLength);
}

function compareRow(cursor: CellCursor, row: Uint8Array): number {
  return compareSlices(cursor.key, cursor.rowOffset, cursor.rowLength, row, 0, row.length);
}
