import { compareBytes, EMPTY_BYTES, equalBytes, toStringBinary } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { Cell } from '../../table/checks.js';
import { bytesOf, Result, StaleResult } from '../../table/result.js';
import type { CellReader } from '../wire/cell-codec.js';

/** Rows that a scan has fetched, consumed one after the other. */
export interface FetchedRows {
  readonly taken: number;
  readonly left: number;
  /** Of all cells. */
  readonly bytes: number;
  /** The next row. Call only while there is one. */
  take(): Result;
}

/** Rows assembled when their answer arrived. */
export class MadeRows implements FetchedRows {
  taken = 0;

  constructor(private readonly results: readonly Result[]) {}

  get left(): number {
    return this.results.length - this.taken;
  }

  get bytes(): number {
    return this.results.reduce((sum, { cells }) => sum + bytesOf(cells), 0);
  }

  take(): Result {
    return this.results[this.taken++]!;
  }
}

/**
 * Whole rows of one answer, decoded from its cell block when they are accessed. A row that is read and dropped costs the garbage
 * collector almost nothing; thousands of rows decoded ahead would survive its young generation and be copied twice.
 */
export class BlockRows implements FetchedRows {
  taken = 0;
  /** Reads at any position of the block; every cell of it has been checked. */
  readonly reader: CellReader;
  /** Of all cells, as they were sent. */
  readonly bytes: number;
  /** The offset at which each row begins. */
  private readonly starts: Uint32Array;
  private count: number;

  /** @throws as {@link CellReader.passRows}, when `cells` is not positioned at rows with these counts. */
  constructor(
    cells: CellReader,
    /** Number of cells of each row, at least one each; not empty. */
    private readonly counts: readonly number[],
    readonly isStale: boolean,
  ) {
    this.starts = cells.passRows(counts);
    this.bytes = cells.offset - this.starts[0]!;
    this.reader = cells.fork();
    this.count = counts.length;
  }

  get firstRow(): Uint8Array {
    return this.reader.rowOf(this.starts[0]!);
  }

  get lastRow(): Uint8Array {
    return this.reader.rowOf(this.starts[this.starts.length - 1]!);
  }

  get left(): number {
    return this.count - this.taken;
  }

  /** Keeps only the first `rows`. */
  truncate(rows: number): void {
    this.count = Math.min(this.count, rows);
  }

  take(): Result {
    const at = this.taken++;
    return new BlockResult(this, this.starts[at]!, this.counts[at]!);
  }
}

/** The methods of `Result` without its fields, which would shadow the lazy getters. */
const ResultMethods = class {} as unknown as new () => Pick<
  Result,
  'getLatest' | 'getValue' | 'getColumnCells'
>;
Object.setPrototypeOf(ResultMethods.prototype, Result.prototype);

/** A result whose cells are decoded on first access. */
class BlockResult extends ResultMethods implements Result {
  private made: Cell[] | undefined;

  constructor(
    private readonly rows: BlockRows,
    private readonly start: number,
    private readonly count: number,
  ) {
    super();
  }

  get cells(): readonly Cell[] {
    this.made ??= this.rows.reader.readAt(this.start, this.count);
    return this.made;
  }

  get row(): Uint8Array {
    return this.cells[0]!.row;
  }

  get partial(): boolean {
    return false;
  }

  get isEmpty(): boolean {
    return false;
  }

  get isStale(): boolean {
    return this.rows.isStale;
  }

  /** Serializes as a `Result` does. */
  toJSON(): object {
    const { row, cells, partial } = this;
    return { row, cells, partial };
  }

  /** For `console.log`. */
  [Symbol.for('nodejs.util.inspect.custom')](): Result {
    const { row, cells } = this;
    return this.isStale ? new StaleResult(row, cells) : new Result(row, cells);
  }
}

/**
 * Assembles the pieces of a scanner's answers into results: whole rows, or with a batch size runs of exactly that many cells,
 * `partial` for all but a row's last. An incomplete row is held back, because its next piece may come with the next answer, or
 * never.
 */
export class RowAssembler {
  private held: Cell[] = [];
  private heldRow: Uint8Array = EMPTY_BYTES;
  /** Cells of the held row up to this one were returned before the scanner was reopened. */
  private skipUpTo: Cell | undefined;
  /** The last returned cell of a row whose end is not known yet. */
  private lastOfOpenRow: Cell | undefined;
  /** Whether the pieces come from a replica. */
  isStale = false;
  /** The last row that was returned completely. */
  lastCompleteRow: Uint8Array | undefined;

  constructor(
    private readonly batch: number | undefined,
    private readonly out: Result[],
  ) {}

  /** The row that was returned in part; only with a batch size. */
  get openRow(): Uint8Array | undefined {
    return this.lastOfOpenRow?.row;
  }

  /** Whether whole rows can be returned unchanged: nothing is held back, and rows are not divided. */
  get takesWholeRows(): boolean {
    return this.heldRow.length === 0 && this.skipUpTo === undefined && this.batch === undefined;
  }

  /** Whether a piece of this row would continue one that is held back or was returned in part. */
  goesOnWith(row: Uint8Array): boolean {
    return (
      equalBytes(row, this.heldRow) ||
      (this.lastOfOpenRow !== undefined && equalBytes(row, this.lastOfOpenRow.row))
    );
  }

  /**
   * Adds the next piece. `mayGoOn`: the piece after it may be of the same row.
   * @throws CorruptionError when it does not sort after the earlier pieces: a server that repeats itself could keep a scan running
   * for ever.
   */
  add(piece: Cell[], mayGoOn: boolean): void {
    const row = piece[0]!.row;
    if (this.heldRow.length > 0 && !equalBytes(row, this.heldRow)) this.completeHeld();
    if (this.heldRow.length === 0) {
      if (!mayGoOn && this.skipUpTo === undefined && this.batch === undefined) {
        this.out.push(this.resultOf(row, piece));
        this.lastCompleteRow = row;
        return;
      }
      this.heldRow = row;
    }
    const last = this.held.at(-1);
    if (last !== undefined && compareInRow(piece[0]!, last) < 0) throw outOfOrder(row);
    const cells = this.skipUpTo === undefined ? piece : this.unseen(piece, this.skipUpTo);
    this.held = this.held.length === 0 ? cells : this.held.concat(cells);
    if (this.batch !== undefined) this.handOutFull(this.batch);
    if (!mayGoOn) this.completeHeld();
  }

  /** Completes the held row: no piece of it follows. */
  completeHeld(): void {
    if (this.heldRow.length === 0) return;
    if (this.held.length > 0) this.out.push(this.resultOf(this.heldRow, this.held));
    this.lastCompleteRow = this.heldRow;
    this.heldRow = EMPTY_BYTES;
    this.held = [];
    this.skipUpTo = undefined;
    this.lastOfOpenRow = undefined;
  }

  /** Drops the held cells: the scanner is lost and will be reopened where {@link openRow} or the next row begins. */
  restart(): void {
    this.held = [];
    this.heldRow = EMPTY_BYTES;
    this.skipUpTo = this.lastOfOpenRow;
  }

  private resultOf(row: Uint8Array, cells: Cell[], partial = false): Result {
    return this.isStale ? new StaleResult(row, cells, partial) : new Result(row, cells, partial);
  }

  /** Returns runs of `batch` cells while at least one more cell of the row is known. */
  private handOutFull(batch: number): void {
    let from = 0;
    while (this.held.length - from > batch) {
      const run = this.held.slice(from, from + batch);
      this.out.push(this.resultOf(this.heldRow, run, true));
      this.lastOfOpenRow = run[batch - 1]!;
      from += batch;
    }
    if (from > 0) this.held = this.held.slice(from);
  }

  private unseen(piece: Cell[], last: Cell): Cell[] {
    if (!equalBytes(piece[0]!.row, last.row)) return piece;
    return piece.filter((cell) => compareInRow(cell, last) > 0);
  }
}

/** The error of a server that repeats rows. Retryable, for another server may not. */
export function outOfOrder(row: Uint8Array): CorruptionError {
  return new CorruptionError(
    `A server answered row ${toStringBinary(row)} of a scan out of order. Try again, or check that server.`,
    { retryable: true },
  );
}

/** The order of cells in a row: families, then qualifiers, newest first, higher types first. */
function compareInRow(a: Cell, b: Cell): number {
  if (a.family !== b.family) return compareBytes(Buffer.from(a.family), Buffer.from(b.family));
  const byQualifier = compareBytes(a.qualifier, b.qualifier);
  if (byQualifier !== 0) return byQualifier;
  if (a.timestamp !== b.timestamp) return b.timestamp - a.timestamp;
  return b.type - a.type;
}
