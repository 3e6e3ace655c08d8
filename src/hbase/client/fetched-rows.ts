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
 * Whole rows of one answer, made of its cell block as they are taken: a row that is read and forgotten costs the garbage
 * collector next to nothing, while thousands that wait to be read are copied twice.
 */
export class BlockRows implements FetchedRows {
  taken = 0;
  private count: number;

  constructor(
    /** Stands at the first row; every cell has been checked. */
    private readonly reader: CellReader,
    /** Cells of each row, at least one. */
    private readonly counts: readonly number[],
    readonly firstRow: Uint8Array,
    readonly lastRow: Uint8Array,
    private readonly isStale: boolean,
  ) {
    this.count = counts.length;
  }

  get left(): number {
    return this.count - this.taken;
  }

  /** Leaves out all but the first `rows`. */
  truncate(rows: number): void {
    this.count = Math.min(this.count, rows);
  }

  take(): Result {
    const cells = this.reader.read(this.counts[this.taken++]!);
    const { row } = cells[0]!;
    return this.isStale ? new StaleResult(row, cells) : new Result(row, cells);
  }
}
