import { EMPTY_BYTES } from '../bytes/index.js';
import { checkRow } from './checks.js';
import { type Durability, Put } from './mutation.js';
import type { OperationOptions } from './table.js';

/** A column of packed puts. */
interface PackedColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/** A table that takes {@link PackedPuts}. */
export interface PackedPutsTable {
  /** As {@link Table.putAll} of the same puts. The puts must not be changed afterwards. */
  putPacked(puts: PackedPuts, options?: OperationOptions): Promise<void>;
}

export function takesPackedPuts(table: object): table is PackedPutsTable {
  return 'putPacked' in table;
}

/**
 * Puts of many rows as numbers and one buffer: no object and no array for each cell. All cells get the time of the write as their
 * timestamp, and have no time to live.
 */
export class PackedPuts {
  readonly rows: Uint8Array[] = [];
  /** For each row: the number of cells of this row and those before it. */
  readonly rowEnds: number[] = [];
  /** For each cell: the position of its column in `columns`. */
  readonly cells: number[] = [];
  /** For each cell: where its value ends in `bytes`. It begins where that of the cell before ends. */
  readonly valueEnds: number[] = [];
  /** The values of all cells, one after the other. Bytes after the last have no meaning. */
  bytes: Uint8Array = EMPTY_BYTES;

  constructor(
    readonly columns: readonly PackedColumn[],
    readonly durability: Durability,
  ) {}

  /** Ends a row whose cells were added. Cells after the last row belong to no put. @throws InvalidArgumentError when the row is empty or too long. */
  endRow(row: Uint8Array): void {
    this.rows.push(checkRow(row));
    this.rowEnds.push(this.cells.length);
  }

  /** The same puts, one object each. Their values are views of `bytes`. */
  toPuts(): Put[] {
    const { columns, bytes, cells, valueEnds } = this;
    let cell = 0;
    let from = 0;
    return this.rows.map((row, i) => {
      const put = new Put(row).setDurability(this.durability);
      for (; cell < this.rowEnds[i]!; cell++) {
        const { family, qualifier } = columns[cells[cell]!]!;
        put.addColumn(family, qualifier, bytes.subarray(from, valueEnds[cell]));
        from = valueEnds[cell]!;
      }
      return put;
    });
  }
}
