import { compareBytes, compareSlices, copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import { CellType, type RawRow } from '../../table/index.js';
import {
  type CellCursor,
  compareInRow,
  isInColumn,
  isInRow,
  type PutVisitor,
  SeekKey,
  TYPE_MINIMUM,
} from '../cursor.js';
import { COLUMN_UNDECIDED, FAMILY_MARKED, NewestPut, ROW_UNDECIDED, SHOWN } from './newest-put.js';
import type { CellMaker, RowBuilder } from './row-builder.js';

/** With more columns rows have little in common, and to look for one of them costs more than it saves. */
const MOST_KNOWN = 64;

/** Which columns the rows of a family have, as far as they were read: {@link RowRun} reads rows that have no others. */
export class KnownColumns {
  /** In byte order. Nobody is given them, so that nobody can change them. */
  readonly columns: Uint8Array[] = [];
  /** The same, as the rows that are read share them. */
  readonly given: Uint8Array[] = [];
  private crowded = false;

  /** Whether there is anything to be gained by looking. */
  get any(): boolean {
    return this.columns.length > 0 && !this.crowded;
  }

  /** Takes in the columns of a row from its cell `from` on. */
  learn(row: RawRow, from: number): void {
    if (this.crowded) return;
    const { columns, given } = this;
    let at = 0;
    for (let i = from; i < row.count; i++) {
      const qualifier = row.qualifiers[i]!;
      let order = -1;
      while (at < columns.length) {
        order = compareBytes(qualifier, columns[at]!);
        if (order <= 0) break;
        at++;
      }
      if (at < columns.length && order === 0) continue;
      if (columns.length === MOST_KNOWN) {
        this.crowded = true;
        return;
      }
      columns.splice(at, 0, qualifier.slice());
      given.splice(at, 0, qualifier);
    }
  }
}

/**
 * Readers of one row of a family, for gets, scans and raw rows: {@link PlainRow} from cursors, {@link RowRun} from the bytes of
 * cells. They find cells; what is seen of them {@link NewestPut} says.
 */

/** Cells of older versions of a row that are walked over where none can be skipped; where there are more a scanner is quicker. */
export const MOST_OLDER = 32;
/** Cells of older versions of one column that are walked over before the cursor is sent behind all of them. */
const FEW_OLDER = 8;
/** Cells of columns that are not asked for; where there are more a scanner is quicker. */
export const MOST_PASSED = 64;

/** Reads the cells of one family and row after another. */
export class PlainRow {
  /** Where the cells go: into `raw`, or when it is null into `out`. */
  raw: RawRow | null = null;
  out: RowBuilder | null = null;
  /** Every cell goes into `out` as it is stored, markers among them: what a raw scan of all versions sees (R47). */
  stored = false;
  /** Says what is seen. Its read point is set before rows are read. */
  readonly rule = new NewestPut();
  /** The cursors that stand in the row, `count` of them, in the order of their cells. Of others none is kept: they hold blocks. */
  private readonly cursors: (CellCursor | undefined)[] = [];
  private count = 0;
  private maker: CellMaker | undefined;
  private row: Uint8Array | undefined;
  /** Nothing more of this column is to be seen; of a stored row: the column of the last cell. */
  private done: Uint8Array | undefined;
  /** Of the last cell of a stored row. */
  private lastTimestamp = -1;
  private lastType = -1;
  private made = 0;
  private older = 0;
  /** The columns asked for, in order, null for all; and how many of them are before the present cell. */
  private columns: readonly Uint8Array[] | null = null;
  private before = 0;
  private passed = 0;
  private fresh = false;
  /** Whether the rest of the present cell's column is not seen. */
  private skips = false;
  /** Behind that column. */
  private readonly behind = new SeekKey();

  /** Lets go of the cursors taken in. */
  begin(): void {
    const { cursors } = this;
    for (let i = 0; i < cursors.length; i++) cursors[i] = undefined;
    this.count = 0;
  }

  /** The cursor taken in, if it is the only one. */
  get only(): CellCursor | undefined {
    return this.count === 1 ? this.cursors[0] : undefined;
  }

  /** Takes in a cursor that stands in the row. */
  add(cursor: CellCursor): void {
    const { cursors } = this;
    let at = this.count++;
    for (; at > 0 && compareInRow(cursor, cursors[at - 1]!) < 0; at--) cursors[at] = cursors[at - 1];
    cursors[at] = cursor;
  }

  /**
   * Reads the row from the cursors taken in, and leaves them behind it. False when a marker of one version, a cell with
   * a time to live of its own, many versions or many other columns are about: it takes a matcher then, what was read is
   * of no use, and the cursors stand anywhere in the row.
   * @param columns the only qualifiers that are wanted, in order; null: all
   * @param fresh `row` was just made by `copyRowAhead`, and no cursor was moved since
   */
  read(
    maker: CellMaker,
    row: Uint8Array,
    columns: readonly Uint8Array[] | null,
    oldestUnexpired: number,
    fresh: boolean,
  ): boolean {
    this.maker = maker;
    this.row = row;
    this.rule.begin(oldestUnexpired);
    this.done = undefined;
    this.made = 0;
    this.older = 0;
    this.columns = columns;
    this.before = 0;
    this.passed = 0;
    this.fresh = fresh;
    this.skips = false;
    return this.count === 1 ? this.readAlone(row) : this.merge(row);
  }

  /** From a cursor that alone stands in the row. */
  private readAlone(row: Uint8Array): boolean {
    const cursor = this.cursors[0]!;
    this.begin();
    do {
      if (this.rule.sees(cursor) && !this.take(cursor)) return false;
      this.fresh = false;
    } while (this.advance(cursor, row));
    return true;
  }

  private merge(row: Uint8Array): boolean {
    const { cursors } = this;
    let { count } = this;
    this.count = 0;
    while (count > 0) {
      const top = cursors[0]!;
      if (this.rule.sees(top) && !this.take(top)) {
        this.begin();
        return false;
      }
      this.fresh = false;
      if (!this.advance(top, row)) {
        count--;
        for (let i = 0; i < count; i++) cursors[i] = cursors[i + 1];
        cursors[count] = undefined;
      } else if (count > 1 && compareInRow(top, cursors[1]!) > 0) {
        let at = 1;
        cursors[0] = cursors[1];
        while (at + 1 < count && compareInRow(top, cursors[at + 1]!) > 0) {
          cursors[at] = cursors[at + 1];
          at++;
        }
        cursors[at] = top;
      }
    }
    return true;
  }

  /** To the next cell of the row that may be seen; false when there is none. */
  private advance(cursor: CellCursor, row: Uint8Array): boolean {
    if (!this.skips) return cursor.nextInRow(row);
    this.skips = false;
    this.older = 0;
    const { behind } = this;
    const { key, qualifierOffset, qualifierLength } = cursor;
    behind.setRow(row);
    // The cursor's own bytes may be others before it has come there.
    if (behind.qualifier.length < qualifierLength) behind.qualifier = new Uint8Array(2 * qualifierLength);
    copySlice(key, qualifierOffset, qualifierLength, behind.qualifier, 0);
    behind.qualifierLength = qualifierLength;
    behind.timestamp = -1;
    behind.type = TYPE_MINIMUM;
    const found = cursor.reseek(behind) && isInRow(cursor, row);
    behind.row = EMPTY_BYTES;
    return found;
  }

  /** False when it takes a matcher. */
  private take(cell: CellCursor): boolean {
    if (this.stored) return this.takeStored(cell);
    const verdict = this.rule.judge(cell);
    if (verdict === FAMILY_MARKED) return true;
    if (verdict === ROW_UNDECIDED) return false;
    if (this.columns !== null && !this.isWanted(cell, this.columns)) return ++this.passed <= MOST_PASSED;
    const { done } = this;
    if (done !== undefined && isInColumn(cell, done)) return this.passOlder(cell);
    const maker = this.maker!;
    if (verdict === SHOWN) {
      if (this.raw !== null) {
        this.done = maker.makeRaw(cell, this.raw, this.made++);
      } else {
        const made = maker.make(cell, this.row!, this.made++, this.fresh);
        this.done = made.qualifier;
        this.out!.add(made);
      }
      return true;
    }
    if (verdict === COLUMN_UNDECIDED) return false;
    // Older puts are hidden each by itself, which costs less than to keep the column of a put that nobody is given.
    if (cell.type === CellType.Put) return this.passOlder(cell);
    this.done = maker.qualifierOf(cell, this.made);
    return true;
  }

  /** Of cells that differ in nothing but when they were written the last one counts. */
  private takeStored(cell: CellCursor): boolean {
    const { type, timestamp } = cell;
    if (cell.ttl !== 0) return false;
    const { done } = this;
    if (
      done !== undefined &&
      timestamp === this.lastTimestamp &&
      type === this.lastType &&
      isInColumn(cell, done)
    )
      return true;
    this.lastTimestamp = timestamp;
    this.lastType = type;
    const made = this.maker!.make(cell, this.row!, this.made++, this.fresh);
    this.done = made.qualifier;
    this.out!.add(made);
    return true;
  }

  /** Passes over a cell behind which nothing of its column can be seen. */
  private passOlder({ qualifierLength }: CellCursor): boolean {
    if (++this.older <= FEW_OLDER) return true;
    // Among the cells of the empty qualifier stand the markers of the family.
    if (qualifierLength === 0) return this.older <= MOST_OLDER;
    this.skips = true;
    return true;
  }

  /** Whether the cell, which is not before the last one, is of a column asked for. */
  private isWanted(
    { key, qualifierOffset, qualifierLength }: CellCursor,
    columns: readonly Uint8Array[],
  ): boolean {
    for (; this.before < columns.length; this.before++) {
      const column = columns[this.before]!;
      const order = compareSlices(key, qualifierOffset, qualifierLength, column, 0, column.length);
      if (order <= 0) return order === 0;
    }
    return false;
  }
}

/** Rows read from the bytes of their cells. */

/** A family whose rows are read. */
export interface RunFamily {
  readonly name: string;
  readonly known: KnownColumns;
  /** The only columns that are asked for, in byte order; null: all. */
  readonly columns: readonly Uint8Array[] | null;
  /** Puts of earlier times have expired. */
  readonly oldestUnexpired: number;
}

/**
 * Reads a row that one memstore or block has all of, from the bytes of its cells and without a step of a cursor for each:
 * most rows are puts of columns that rows before had. Any other is for a {@link PlainRow}, which gives the same of these.
 */
export class RowRun implements PutVisitor {
  /** Says what is seen. Its read point is set before rows are read. */
  readonly rule = new NewestPut();
  private raw: RawRow | undefined;
  private family = '';
  private columns: readonly Uint8Array[] = [];
  /** The columns are those that are asked for, of others that there may be. */
  private only = false;
  /** The qualifiers that rows are given, one for each column: the same bytes, shared. */
  private given: readonly Uint8Array[] = [];
  /** The place behind the last column that the row has had. */
  private place = 0;
  private older = 0;
  private passed = 0;

  /**
   * Adds what can be seen of the row, at whose first cell the cursor stands, to `raw`, and moves the cursor behind it. False:
   * it takes more than this; both are as they were.
   */
  read(cursor: CellCursor, raw: RawRow, { name, known, columns, oldestUnexpired }: RunFamily): boolean {
    if (columns === null && !known.any) return false;
    this.raw = raw;
    this.family = name;
    this.columns = columns ?? known.columns;
    this.given = columns ?? known.given;
    this.only = columns !== null;
    this.rule.begin(oldestUnexpired);
    this.place = 0;
    this.older = 0;
    this.passed = 0;
    const { count } = raw;
    if (cursor.visitRow(this)) return true;
    raw.count = count;
    return false;
  }

  get readPoint(): number {
    return this.rule.readPoint;
  }

  visit(bytes: Uint8Array, at: number, length: number, timestamp: number, valueLength: number): boolean {
    const { columns } = this;
    let { place } = this;
    for (; place < columns.length; place++) {
      const column = columns[place]!;
      // Rows mostly have every column, so this is looked at first.
      if (!isColumn(bytes, at, length, column)) {
        if (compareSlices(bytes, at, length, column, 0, column.length) > 0) continue;
        break;
      }
      this.place = place + 1;
      if (!this.rule.showsPut(timestamp)) return ++this.older <= MOST_OLDER;
      this.raw!.add(this.family, this.given[place]!, timestamp, bytes, at + length, valueLength);
      return true;
    }
    // Rows mostly have one version of a column, so this is looked at last.
    if (this.place > 0 && isColumn(bytes, at, length, columns[this.place - 1]!))
      return ++this.older <= MOST_OLDER;
    return this.only && ++this.passed <= MOST_PASSED;
  }
}

function isColumn(bytes: Uint8Array, at: number, length: number, column: Uint8Array): boolean {
  if (length !== column.length) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== column[i]) return false;
  return true;
}
