import { type BytesLike, compareBytes, EMPTY_BYTES, toBytes } from '../bytes/index.js';
import type { Cell } from './cell.js';

const NO_CELLS: readonly Cell[] = Object.freeze([]);

/**
 * What a get, a scan step, an increment or an append answers: cells of one row, in HBase's order (families in byte
 * order, qualifiers in byte order, newest version first).
 */
export class Result {
  /** The answer "nothing": no row, no cells. */
  static readonly EMPTY: Result = new Result(EMPTY_BYTES, NO_CELLS);

  constructor(
    /** The row; empty when the result is. */
    readonly row: Uint8Array,
    readonly cells: readonly Cell[],
    /** True when the next result of the scan goes on with the same row (only with `Scan.setBatch`). */
    readonly partial: boolean = false,
  ) {}

  get isEmpty(): boolean {
    return this.cells.length === 0;
  }

  /**
   * Whether a replica of the region answered, which may lag behind the primary (`consistency: 'TIMELINE'`): rows may be
   * missing, and values old. HBase's `Result.isStale`; false on the embedded engine.
   */
  get isStale(): boolean {
    return false;
  }

  /** The newest cell of a column, or undefined. */
  getLatest(family: string, qualifier: BytesLike): Cell | undefined {
    const wanted = toBytes(qualifier);
    for (const cell of this.cells) {
      if (cell.family === family && compareBytes(cell.qualifier, wanted) === 0) return cell;
    }
    return undefined;
  }

  /** The newest value of a column, or undefined when the result has none. */
  getValue(family: string, qualifier: BytesLike): Uint8Array | undefined {
    return this.getLatest(family, qualifier)?.value;
  }

  /** Every returned version of a column, newest first. */
  getColumnCells(family: string, qualifier: BytesLike): Cell[] {
    const wanted = toBytes(qualifier);
    return this.cells.filter((cell) => cell.family === family && compareBytes(cell.qualifier, wanted) === 0);
  }
}

/** What a replica answered. A class of its own, so that other results have no field for it. */
export class StaleResult extends Result {
  override get isStale(): boolean {
    return true;
  }
}
