/** Cells that are changed by those only who know what stood there before. */

import { equalBytes } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import { Get } from './get.js';
import { Put } from './mutation.js';
import { CheckAndMutate } from './row-mutations.js';
import type { Table } from './table.js';

export interface CellPlace {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Sets a cell if its value is `before`, or, where that is undefined, if there is none. False: another one was faster. Of a
 * call whose answer was lost, what stands there says whether it was made: values must be such that no other writes the same.
 */
export async function compareAndSet(
  table: Table,
  { row, family, qualifier }: CellPlace,
  before: Uint8Array | undefined,
  after: Uint8Array,
): Promise<boolean> {
  const put = new Put(row).addColumn(family, qualifier, after);
  const check =
    before === undefined
      ? CheckAndMutate.ifNotExists(family, qualifier, put)
      : CheckAndMutate.ifEquals(family, qualifier, before, put);
  try {
    return (await table.checkAndMutate(check)).success;
  } catch (error) {
    if (!(error instanceof RowanError)) throw error;
    const now = await readValue(table, { row, family, qualifier }).catch(() => undefined);
    if (now !== undefined && equalBytes(now, after)) return true;
    throw error;
  }
}

async function readValue(
  table: Table,
  { row, family, qualifier }: CellPlace,
): Promise<Uint8Array | undefined> {
  return (await table.get(new Get(row).addColumn(family, qualifier))).getValue(family, qualifier);
}
