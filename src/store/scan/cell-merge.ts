import { compareSlices } from '../../bytes/index.js';
import { type CellCursor, compareCursors, compareToSeekKey, type SeekKey } from '../cursor.js';

/**
 * The cells of several cursors as one sorted run, without those that are too new to be seen. The least cursor stands
 * apart from the others, which are kept in order: as long as it stays the least, a step costs one comparison.
 */
export class CellMerge {
  /** Where the run stands; null at its end. */
  top: CellCursor | null = null;
  /** The other cursors that are not at their end, from least to greatest. */
  private readonly rest: CellCursor[] = [];

  constructor(
    protected readonly cursors: readonly CellCursor[],
    /** Cells of later writes are passed over. */
    private readonly readPoint: number,
  ) {}

  /** To the first cell at or after `key`. */
  seek(key: SeekKey): void {
    this.clear();
    const { cursors } = this;
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      if (cursor.seek(key) && this.settle(cursor)) this.insert(cursor);
    }
    this.takeLeast();
  }

  /** Takes the cursors where they stand. */
  begin(): void {
    this.clear();
    for (const cursor of this.cursors) if (cursor.valid && this.settle(cursor)) this.insert(cursor);
    this.takeLeast();
  }

  next(): void {
    const top = this.top!;
    if (top.next() && (top.seq <= this.readPoint || this.settle(top))) {
      if (this.rest.length > 0 && compareCursors(top, this.rest[0]!) > 0) this.swap(top);
    } else {
      this.takeLeast();
    }
  }

  /** To the first cell at or after `key`, which is not before the present one. */
  reseek(key: SeekKey): void {
    for (;;) {
      const top = this.top;
      if (top === null || compareToSeekKey(top, key) >= 0) return;
      if (top.reseek(key) && this.settle(top)) {
        if (this.rest.length > 0 && compareCursors(top, this.rest[0]!) > 0) this.swap(top);
      } else {
        this.takeLeast();
      }
    }
  }

  close(): void {
    this.clear();
    for (const cursor of this.cursors) cursor.close();
  }

  protected clear(): void {
    this.top = null;
    this.rest.length = 0;
  }

  /** Moves a valid cursor to its first cell that can be seen. */
  protected settle(cursor: CellCursor): boolean {
    while (cursor.seq > this.readPoint) if (!cursor.next()) return false;
    return true;
  }

  protected takeLeast(): void {
    this.top = this.rest.length === 0 ? null : this.rest.shift()!;
  }

  protected insert(cursor: CellCursor): void {
    const { rest } = this;
    let low = 0;
    let high = rest.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareCursors(cursor, rest[middle]!) < 0) high = middle;
      else low = middle + 1;
    }
    rest.push(cursor);
    for (let i = rest.length - 1; i > low; i--) rest[i] = rest[i - 1]!;
    rest[low] = cursor;
  }

  /** The first of the others takes the place of `cursor`, which is known to be greater. */
  private swap(cursor: CellCursor): void {
    const { rest } = this;
    this.top = rest[0]!;
    let low = 1;
    let high = rest.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareCursors(cursor, rest[middle]!) < 0) high = middle;
      else low = middle + 1;
    }
    for (let i = 1; i < low; i++) rest[i - 1] = rest[i]!;
    rest[low - 1] = cursor;
  }
}

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
