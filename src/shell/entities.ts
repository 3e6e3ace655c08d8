import type { Result } from '../table/index.js';
import type { RubyHash } from './ruby/index.js';

/** Rows from `startRow` to before `stopRow`; empty ends are open. */
export interface RowInterval {
  readonly startRow: Uint8Array;
  readonly stopRow: Uint8Array;
}

/** What rows mean, where the declarations of their entities are known (`--entities`). */
export interface EntityView {
  /** The row of a key given by its parts. @throws RowanError when it is no key of the table's. */
  rowOf(table: string, key: RubyHash): Uint8Array;
  /** Where the rows are whose keys have these parts. @throws RowanError when no key of the table's has them in front. */
  rangesOf(table: string, key: RubyHash): readonly RowInterval[];
  /** A line that says what a row is; undefined for one that is no entity's. */
  describe(table: string, result: Result): string | undefined;
}
