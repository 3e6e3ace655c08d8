import { compareBytes, EMPTY_BYTES, equalBytes, toStringBinary } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { Cell } from '../../table/cell.js';
import { Result, StaleResult } from '../../table/result.js';

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
