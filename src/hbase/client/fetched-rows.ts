import type { Cell } from '../../table/cell.js';
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
