/** Rows of known columns, read from the encoded bytes of their cells: the fast path beside {@link PlainRow}. */

import { compareBytes, compareSlices, EMPTY_BYTES } from '../../bytes/index.js';
import type { RawRow } from '../../table/index.js';
import type { CellCursor, PutVisitor } from '../cursor.js';
import { MAX_OLDER, MAX_OTHER_COLUMNS, NewestPut, type PlainRow } from './newest-put.js';
import { endRow, putOf, StoredRowBuilder } from './row-builder.js';

/** With more columns, rows have little in common, and comparing with them costs more than it saves. */
const MAX_KNOWN = 64;

/** The columns seen so far in rows of a family: {@link RowRun} reads rows that have no others. */
export class KnownColumns {
  /** In byte order. Not returned to callers, who could change them. */
  readonly columns: Uint8Array[] = [];
  /** The same, as returned in rows, which share them. */
  readonly given: Uint8Array[] = [];
  private crowded = false;

  /** Whether rows can be compared with known columns. */
  get any(): boolean {
    return this.columns.length > 0 && !this.crowded;
  }

  /** Adds the columns of a row from its cell `from` on. */
  learn(row: RawRow | StoredRowBuilder, from: number): void {
    if (this.crowded) return;
    const { columns, given } = this;
    let at = 0;
    for (let i = from; i < row.count; i++) {
      const qualifier = row instanceof StoredRowBuilder ? row.cells[i]!.qualifier : row.qualifiers[i]!;
      let order = -1;
      while (at < columns.length) {
        order = compareBytes(qualifier, columns[at]!);
        if (order <= 0) break;
        at++;
      }
      if (at < columns.length && order === 0) continue;
      if (columns.length === MAX_KNOWN) {
        this.crowded = true;
        return;
      }
      columns.splice(at, 0, qualifier.slice());
      given.splice(at, 0, qualifier);
    }
  }
}

/** A family whose rows are read. */
export interface RunFamily {
  readonly name: string;
  readonly known: KnownColumns;
  /** The requested columns, in byte order; null: all. */
  readonly columns: readonly Uint8Array[] | null;
  /** Puts before this timestamp have expired. */
  readonly oldestUnexpired: number;
}

/**
 * Reads a row from the encoded bytes of its cells, without moving a cursor to each, where each source has it completely in one memstore
 * or block. Most rows consist of puts to columns that earlier rows had; any other row is left to {@link PlainRow}. For rows that both can
 * read the results are equal.
 */
export class RowRun implements PutVisitor {
  /** Decides which cells are visible. Its read point is set before rows are read. */
  readonly rule = new NewestPut();
  /** The target: `raw`, or `out` when `raw` is null. */
  raw: RawRow | null = null;
  out: StoredRowBuilder | null = null;
  private family = '';
  private columns: readonly Uint8Array[] = [];
  /** The columns are the requested ones, and rows may have others. */
  private only = false;
  /** The qualifiers that are returned, one for each column; rows share their bytes. */
  private given: readonly Uint8Array[] = [];
  /** The index after the last column of the row so far. */
  private place = 0;
  private older = 0;
  private passed = 0;
  /** There is one source, whose cells are added to the target as they come, in order. */
  private direct = false;
  private row: Uint8Array = EMPTY_BYTES;
  /** As in {@link putOf}. */
  private fresh = false;
  /** Otherwise the newest put of each column so far: its timestamp, -1 for none, and its value. */
  private readonly timestamps = new Float64Array(MAX_KNOWN);
  private readonly bytes: Uint8Array[] = Array.from({ length: MAX_KNOWN }, () => EMPTY_BYTES);
  private readonly offsets = new Int32Array(MAX_KNOWN);
  private readonly lengths = new Int32Array(MAX_KNOWN);

  /**
   * Adds the visible cells of the row, at whose first cells the sources' cursors are. They stay there. False: the row cannot be read this
   * way, and nothing was added.
   * @param head as in `PlainRow.read`
   */
  read(sources: PlainRow, row: Uint8Array, family: RunFamily, head: CellCursor | null): boolean {
    const { cursors, count } = sources;
    if (count === 1) return this.readOne(cursors[0]!, row, family, head);
    const columns = family.columns ?? family.known.columns;
    if (columns.length > MAX_KNOWN || !this.begin(row, family, head)) return false;
    this.direct = false;
    this.timestamps.fill(-1, 0, columns.length);
    for (let i = 0; i < count; i++) {
      if (this.visitSource(cursors[i]!)) continue;
      // They would retain blocks.
      this.bytes.fill(EMPTY_BYTES);
      return false;
    }
    this.give();
    if (head !== null) endRow(head);
    return true;
  }

  /** Like `read`, for a row that only one source has. */
  readOne(cursor: CellCursor, row: Uint8Array, family: RunFamily, head: CellCursor | null): boolean {
    if (!this.begin(row, family, head)) return false;
    this.direct = true;
    const target = this.raw ?? this.out!;
    const before = target.count;
    if (!this.visitSource(cursor)) {
      target.count = before;
      return false;
    }
    if (head !== null) endRow(head);
    return true;
  }

  /** False when no row of the family can be read. */
  private begin(row: Uint8Array, family: RunFamily, head: CellCursor | null): boolean {
    const { columns, known } = family;
    if (columns === null && !known.any) return false;
    this.family = family.name;
    this.columns = columns ?? known.columns;
    this.given = columns ?? known.given;
    this.only = columns !== null;
    this.row = row;
    this.fresh = head !== null;
    this.rule.begin(family.oldestUnexpired);
    return true;
  }

  private visitSource(cursor: CellCursor): boolean {
    this.place = 0;
    this.older = 0;
    this.passed = 0;
    return cursor.visitRow(this);
  }

  get readPoint(): number {
    return this.rule.readPoint;
  }

  visit(bytes: Uint8Array, at: number, length: number, timestamp: number, valueLength: number): boolean {
    const { columns } = this;
    let { place } = this;
    for (; place < columns.length; place++) {
      const column = columns[place]!;
      // First, because most rows have every column.
      if (!isColumn(bytes, at, length, column)) {
        if (compareSlices(bytes, at, length, column, 0, column.length) > 0) continue;
        break;
      }
      this.place = place + 1;
      if (!this.rule.showsPut(timestamp)) return ++this.older <= MAX_OLDER;
      if (!this.direct) return this.keep(place, bytes, at + length, timestamp, valueLength);
      this.add(place, timestamp, bytes, at + length, valueLength);
      return true;
    }
    // Last, because most rows have one version of a column.
    if (this.place > 0 && isColumn(bytes, at, length, columns[this.place - 1]!))
      return ++this.older <= MAX_OLDER;
    return this.only && ++this.passed <= MAX_OTHER_COLUMNS;
  }

  /** Keeps the put if it is the newest of its column so far. False for one of several sources that have the same timestamp. */
  private keep(place: number, bytes: Uint8Array, at: number, timestamp: number, length: number): boolean {
    const { timestamps } = this;
    if (timestamp <= timestamps[place]!) return timestamp < timestamps[place]!;
    timestamps[place] = timestamp;
    this.bytes[place] = bytes;
    this.offsets[place] = at;
    this.lengths[place] = length;
    return true;
  }

  private give(): void {
    const { given, timestamps, bytes, offsets, lengths } = this;
    for (let place = 0; place < given.length; place++) {
      const timestamp = timestamps[place]!;
      if (timestamp < 0) continue;
      this.add(place, timestamp, bytes[place]!, offsets[place]!, lengths[place]!);
      // It would retain a block.
      bytes[place] = EMPTY_BYTES;
    }
  }

  private add(place: number, timestamp: number, bytes: Uint8Array, at: number, length: number): void {
    const { raw, family } = this;
    const qualifier = this.given[place]!;
    if (raw !== null) raw.add(family, qualifier, timestamp, bytes, at, length);
    else this.out!.add(putOf(this.row, family, qualifier, timestamp, bytes, at, length, this.fresh));
  }
}

function isColumn(bytes: Uint8Array, at: number, length: number, column: Uint8Array): boolean {
  if (length !== column.length) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== column[i]) return false;
  return true;
}
