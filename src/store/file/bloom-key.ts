/**
 * What bloom filters and the tables of blocks hash. A point read hashes its row, and its column, once for all files. A
 * column is hashed on top of its row, so that the columns of one row cost only themselves.
 */

import { SeekKey } from '../cursor.js';
import { hashBytes, hashRow, lane1, lane2 } from '../encoding/row-hash.js';

/** The row, and maybe the column, of a point read. Reused: `setRow` forgets the column. */
export class BloomKey {
  /** The start of the row. */
  readonly target = new SeekKey();
  row1 = 0;
  row2 = 0;
  hasColumn = false;
  column1 = 0;
  column2 = 0;

  /** `row` must stay as it is while the key is used. */
  setRow(row: Uint8Array, offset = 0, length = row.length): this {
    this.target.setRow(row, offset, length);
    hashRow(row, offset, length);
    this.row1 = lane1;
    this.row2 = lane2;
    this.hasColumn = false;
    return this;
  }

  /** The column of the row that was set before. */
  setColumn(qualifier: Uint8Array, offset = 0, length = qualifier.length): this {
    hashBytes(qualifier, offset, length, this.row1, this.row2);
    this.column1 = lane1;
    this.column2 = lane2;
    this.hasColumn = true;
    return this;
  }
}
