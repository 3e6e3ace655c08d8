/** Writes that say a time of their own, where what follows a row goes by what is written last. */

import { UnsupportedError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { LATEST_TIMESTAMP, type RowMutation } from '../../table/index.js';

/**
 * All cells of a row have the time of the write: what was given another may stand behind what is there already.
 * @throws UnsupportedError on mutations with a time.
 */
export function refuseTimes({ name }: EntitySchema, mutations: readonly RowMutation[]): void {
  const timed = mutations.some((mutation) => {
    if (!('cells' in mutation)) return false;
    const times = [mutation.timestamp, ...mutation.cells.map(({ timestamp }) => timestamp)];
    return times.some((time) => time !== LATEST_TIMESTAMP);
  });
  if (!timed) return;
  throw new UnsupportedError(
    `${name} has changes that are told, copies, referential rules or summaries, or others have them about it: on HBase its rows are not written with a timestamp. Leave it out.`,
    { details: { entity: name } },
  );
}
