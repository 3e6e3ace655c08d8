import { compareBytes } from '../../bytes/index.js';
import type { RawRow } from '../../table/index.js';

/** With more columns rows have little in common, and to look for one of them costs more than it saves. */
const MOST_KNOWN = 64;

/** Which columns the rows of a family have, as far as they were read: {@link RowRun} reads rows that have no others. */
export class KnownColumns {
  /** In byte order. Nobody is given them, so that nobody can change them. */
  readonly columns: Uint8Array[] = [];
  /** The same, as the rows that are read share them. */
  readonly given: Uint8Array[] = [];
  private crowded = false;

  /** Whether there is anything to be gained by looking. */
  get any(): boolean {
    return this.columns.length > 0 && !this.crowded;
  }

  /** Takes in the columns of a row from its cell `from` on. */
  learn(row: RawRow, from: number): void {
    if (this.crowded) return;
    const { columns, given } = this;
    let at = 0;
    for (let i = from; i < row.count; i++) {
      const qualifier = row.qualifiers[i]!;
      let order = -1;
      while (at < columns.length) {
        order = compareBytes(qualifier, columns[at]!);
        if (order <= 0) break;
        at++;
      }
      if (at < columns.length && order === 0) continue;
      if (columns.length === MOST_KNOWN) {
        this.crowded = true;
        return;
      }
      columns.splice(at, 0, qualifier.slice());
      given.splice(at, 0, qualifier);
    }
  }
}
