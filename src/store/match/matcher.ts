import type { CellCursor } from '../cursor.js';
import type { MatchCode } from './match-code.js';

/**
 * Decides cell by cell what a read or a compaction of one family keeps. Cells come in order (R2), each row whole or
 * from its start to where the scanner leaves it; `startRow` stands between rows.
 */
export abstract class Matcher {
  /** Forgets what it knew of the last row. */
  abstract startRow(): void;
  /** What to do with the cell under the cursor. */
  abstract match(cell: CellCursor): MatchCode;
  /** After SEEK_NEXT_COLUMN or INCLUDE_NEXT_COLUMN: the only column still wanted next, or null for the next there is. */
  abstract nextColumn(): Uint8Array | null;
}
