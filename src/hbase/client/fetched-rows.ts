import { compareBytes, EMPTY_BYTES, equalBytes, toStringBinary } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { Cell } from '../../table/checks.js';
import { Result, StaleResult } from '../../table/result.js';
import type { CellReader } from '../wire/cell-codec.js';

/** Rows that a scan has fetched, to be taken one after the other. */
export interface FetchedRows {
  readonly taken: number;
  readonly left: number;
  /** The next row; there is one. */
  take(): Result;
}

/** Rows that were put together when they came. */
export class MadeRows implements FetchedRows {
  taken = 0;

  constructor(private readonly results: readonly Result[]) {}

  get left(): number {
    return this.results.length - this.taken;
  }

  take(): Result {
    return this.results[this.taken++]!;
  }
}

/**
 * Whole rows of one answer, which stay in its cell block until somebody looks at them: a row that is read and forgotten costs
 * the garbage collector next to nothing, while thousands that wait to be read are copied twice.
 */
export class BlockRows implements FetchedRows {
  taken = 0;
  /** Stands anywhere in the block, of which every cell has been checked. */
  readonly reader: CellReader;
  /** Where each row begins. */
  private readonly starts: Uint32Array;
  private count: number;

  /** @throws as {@link CellReader.passRows}, for `cells` that do not stand at such rows. */
  constructor(
    cells: CellReader,
    /** Cells of each row, at least one; of one row or more. */
    private readonly counts: readonly number[],
    readonly isStale: boolean,
  ) {
    this.starts = cells.passRows(counts);
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

  /** Leaves out all but the first `rows`. */
  truncate(rows: number): void {
    this.count = Math.min(this.count, rows);
  }

  take(): Result {
    const at = this.taken++;
    return new BlockResult(this, this.starts[at]!, this.counts[at]!);
  }
}

/** What results can do, without the fields that they are given: those would hide what is made when it is asked for. */
const ResultMethods = class {} as unknown as new () => Pick<
  Result,
  'getLatest' | 'getValue' | 'getColumnCells'
>;
Object.setPrototypeOf(ResultMethods.prototype, Result.prototype);

/** A result whose cells are made of the block when they are first asked for. */
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

  /** As results are written whose fields are there. */
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
 * Puts the pieces that a scanner answers together to results: whole rows, or with a batch size runs of exactly that many
 * cells, `partial` for all but a row's last. A row that is not complete yet is held back, for its next piece may come
 * with the next answer, or never.
 */
export class RowAssembler {
  private held: Cell[] = [];
  private heldRow: Uint8Array = EMPTY_BYTES;
  /** Cells of the held row up to here were handed out already, before the scanner was opened anew. */
  private skipUpTo: Cell | undefined;
  /** The last cell handed out of a row whose end was not seen yet. */
  private lastOfOpenRow: Cell | undefined;
  /** Whether what comes is of a replica. */
  isStale = false;
  /** The last row of which everything was handed out. */
  lastCompleteRow: Uint8Array | undefined;

  constructor(
    private readonly batch: number | undefined,
    private readonly out: Result[],
  ) {}

  /** The row whose first cells were handed out and whose end was not; only with a batch size. */
  get openRow(): Uint8Array | undefined {
    return this.lastOfOpenRow?.row;
  }

  /** Whether whole rows are results as they are: nothing is held, and no row is divided. */
  get takesWholeRows(): boolean {
    return this.heldRow.length === 0 && this.skipUpTo === undefined && this.batch === undefined;
  }

  /** Whether a piece of this row would go on with what is held or handed out of it. */
  goesOnWith(row: Uint8Array): boolean {
    return (
      equalBytes(row, this.heldRow) ||
      (this.lastOfOpenRow !== undefined && equalBytes(row, this.lastOfOpenRow.row))
    );
  }

  /**
   * Takes the next piece. `mayGoOn`: the next piece may be of the same row.
   * @throws CorruptionError when it does not come behind the pieces before it: such answers could go on for ever.
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

  /** Says that no piece of the held row follows. */
  completeHeld(): void {
    if (this.heldRow.length === 0) return;
    if (this.held.length > 0) this.out.push(this.resultOf(this.heldRow, this.held));
    this.lastCompleteRow = this.heldRow;
    this.heldRow = EMPTY_BYTES;
    this.held = [];
    this.skipUpTo = undefined;
    this.lastOfOpenRow = undefined;
  }

  /** Forgets the held cells: the scanner is lost, and will be opened where {@link openRow} or the next row begins. */
  restart(): void {
    this.held = [];
    this.heldRow = EMPTY_BYTES;
    this.skipUpTo = this.lastOfOpenRow;
  }

  private resultOf(row: Uint8Array, cells: Cell[], partial = false): Result {
    return this.isStale ? new StaleResult(row, cells, partial) : new Result(row, cells, partial);
  }

  /** Hands out runs of `batch` cells as long as at least one more cell of the row is known. */
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

/** What a server that repeats itself, or is none, is stopped with. Another one may do better. */
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
