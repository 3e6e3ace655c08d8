/** What became of a change that nobody has closed: its row tells, and is marked anew where its writer may still come. */

import { equalBytes } from '../../bytes/index.js';
import { CheckAndMutate, Get, Put, type Table } from '../../table/index.js';
import type { ChangeLog } from './change-log.js';
import { freshMark, type LogPlace, MARK_QUALIFIER, markedNumber, numberMark } from './log-rows.js';

/** A change that is under way, or whose writer has ended. */
export interface UndecidedChange extends LogPlace {
  readonly row: Uint8Array;
  /** The mark that the row had before. */
  readonly mark: Uint8Array;
}

/**
 * Closes a change by its row. The row has the mark of the change: it was made. It has another than before: it was not, and
 * cannot be any more, for whoever changes the row behind a change closes that first. It has that of before: its writer may still
 * be about to; with `ends` it is kept from it, and begins anew.
 * @returns whether it is closed.
 */
export async function decideChange(
  change: UndecidedChange,
  where: { readonly log: ChangeLog; readonly table: Table; readonly marks: string; readonly kept: number },
  ends: boolean,
): Promise<boolean> {
  const { row, mark, bucket, number } = change;
  const { log, table, marks, kept } = where;
  const found = await table.get(new Get(row));
  const is = found.getValue(marks, MARK_QUALIFIER);
  const isMade = is !== undefined && equalBytes(is, numberMark(number));
  if (is !== undefined && equalBytes(is, mark)) {
    if (!ends) return false;
    const earlier = markedNumber(mark);
    if (earlier !== undefined) await log.close([{ place: { bucket, number: earlier }, isMade: true, kept }]);
    const isGone = found.cells.every(({ family }) => family === marks);
    const put = new Put(row).addColumn(marks, MARK_QUALIFIER, freshMark()).setTtl(isGone ? kept : undefined);
    const { success } = await table.checkAndMutate(CheckAndMutate.ifEquals(marks, MARK_QUALIFIER, mark, put));
    // Its writer was faster, or another: the next look tells.
    if (!success) return false;
  }
  await log.close([{ place: { bucket, number }, isMade, kept }]);
  return true;
}
