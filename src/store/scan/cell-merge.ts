import { compareSlices } from '../../bytes/index.js';
import { CellType } from '../../table/index.js';
import { type CellCursor, compareCursors, compareToSeekKey, type SeekKey } from '../cursor.js';

/** The puts that a scan has met beyond its read point. */
export class PendingPuts {
  /** The first of their rows in the direction of the scan; undefined if there are none. */
  first: Uint8Array | undefined;

  constructor(private readonly reversed: boolean) {}

  note({ type, key, rowOffset, rowLength }: CellCursor): void {
    if (type !== CellType.Put) return;
    const { first } = this;
    if (first !== undefined) {
      const order = compareSlices(key, rowOffset, rowLength, first, 0, first.length);
      if (this.reversed ? order <= 0 : order >= 0) return;
    }
    this.first = key.slice(rowOffset, rowOffset + rowLength);
  }
}

/**
 * Merges the cells of several cursors in order, without cells beyond the read point. The least cursor is kept apart from the others,
 * which are sorted: while it stays the least, a step costs one comparison.
 */
export class CellMerge {
  /** The cursor at the current cell; null at the end. */
  top: CellCursor | null = null;
  /** The other cursors that are not at their end, least first. */
  private readonly rest: CellCursor[] = [];

  constructor(
    protected readonly cursors: readonly CellCursor[],
    /** Cells with a higher sequence number are skipped. */
    private readonly readPoint: number,
    /** Is told of puts that are skipped. */
    private readonly pendingPuts?: PendingPuts,
  ) {}

  /** Moves to the first cell at or after `key`. */
  seek(key: SeekKey): void {
    this.clear();
    const { cursors } = this;
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      if (cursor.seek(key) && this.skipInvisible(cursor)) this.insert(cursor);
    }
    this.advanceTop();
  }

  /** Starts from the present positions of the cursors. */
  begin(): void {
    this.clear();
    for (const cursor of this.cursors) if (cursor.valid && this.skipInvisible(cursor)) this.insert(cursor);
    this.advanceTop();
  }

  next(): void {
    const top = this.top!;
    if (top.next() && (top.seq <= this.readPoint || this.skipInvisible(top))) {
      if (this.rest.length > 0 && compareCursors(top, this.rest[0]!) > 0) this.swap(top);
    } else {
      this.advanceTop();
    }
  }

  /** Whether no other cursor has cells of the row of the current cell, which is its row's first. */
  get isRowAlone(): boolean {
    const { rest } = this;
    return rest.length === 0 || compareRows(this.top!, rest[0]!) < 0;
  }

  /** Moves to the row after the current one, which `encodedRow` of the current cursor has just read. All its cells must be visible. */
  leaveRow(): void {
    const top = this.top!;
    top.leaveRow();
    if (!top.valid) this.advanceTop();
    else if (this.rest.length > 0 && compareCursors(top, this.rest[0]!) > 0) this.swap(top);
  }

  /** Moves to the first cell at or after `key`, which is not before the present cell. */
  reseek(key: SeekKey): void {
    for (;;) {
      const top = this.top;
      if (top === null || compareToSeekKey(top, key) >= 0) return;
      if (top.reseek(key) && this.skipInvisible(top)) {
        if (this.rest.length > 0 && compareCursors(top, this.rest[0]!) > 0) this.swap(top);
      } else {
        this.advanceTop();
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

  /** Moves a valid cursor to its first visible cell. */
  protected skipInvisible(cursor: CellCursor): boolean {
    while (cursor.seq > this.readPoint) {
      this.pendingPuts?.note(cursor);
      if (!cursor.next()) return false;
    }
    return true;
  }

  protected advanceTop(): void {
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

  /** Replaces the least cursor, `cursor`, which is now greater than the first of the others. */
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

/** The cursor must find its last row below the bound. */
const STALE = 0;
/** The cursor is at the first cell of its last row below the bound. */
const PARKED = 1;
/** The cursor has no row below the bound. */
const EXHAUSTED = 2;

/** Like {@link CellMerge}, row by row from the last to the first; cells within a row are in their usual order. */
export class ReverseMerge extends CellMerge {
  private readonly states: Uint8Array;
  /** The cursor with the greatest row below the bound; null when there is none. All cells of the row may be invisible. */
  head: CellCursor | null = null;

  constructor(cursors: readonly CellCursor[], readPoint: number, pendingPuts?: PendingPuts) {
    super(cursors, readPoint, pendingPuts);
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

  /** Starts the merge of the cells of the row that `previousRow` found. */
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
    this.advanceTop();
  }

  private enter(index: number): void {
    const cursor = this.cursors[index]!;
    this.states[index] = STALE;
    if (this.skipInvisible(cursor)) this.insert(cursor);
  }
}

function compareRows(a: CellCursor, b: CellCursor): number {
  return compareSlices(a.key, a.rowOffset, a.rowLength, b.key, b.rowOffset, b.rowLength);
}

function compareRow(cursor: CellCursor, row: Uint8Array): number {
  return compareSlices(cursor.key, cursor.rowOffset, cursor.rowLength, row, 0, row.length);
}
