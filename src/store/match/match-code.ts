/** What a matcher tells a scanner to do with a cell and where to go on (HBase `ScanQueryMatcher.MatchCode`). */

/** Give the cell, go on with the next. */
export const INCLUDE = 0;
/** Leave the cell out, go on with the next. */
export const SKIP = 1;
/** Leave the cell and the rest of its column out. */
export const SEEK_NEXT_COLUMN = 2;
/** Leave the cell and the rest of its row out. */
export const SEEK_NEXT_ROW = 3;
/** Leave the cell out, go on where the filter says. */
export const SEEK_HINT = 4;
/** Give the cell, leave the rest of its column out. */
export const INCLUDE_NEXT_COLUMN = 5;
/** Give the cell, leave the rest of its row out. */
export const INCLUDE_NEXT_ROW = 6;
/** Nothing more of this family, in any row: the filter has ended the scan. */
export const DONE_SCAN = 7;

export type MatchCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;
