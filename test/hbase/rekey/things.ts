/** One entity under an old and a new layout, each in a table of its own, for processes that change its keys until they are killed. */

import { defineEntity, defineTable, part, salt } from '../../../decorators/index.js';
import { int53, text } from '../../../src/codec/index.js';
import { RowanError } from '../../../src/errors.js';
import type { Rekey } from '../../../src/features/rekey/handle.js';
import type { CutOverOptions, RekeyRecord } from '../../../src/features/rekey/strategy.js';
import { TOTALS } from '../../rekey/figures.js';
import { CHANGES } from '../../rekey/reader.js';

const declare = (name: string, salts: number, isFollowed: boolean) =>
  defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: {}, e: { versions: 3 }, m: {} } }),
    key: [salt(salts), part('id')],
    columns: (c) => ({ value: c.column('d:v', int53), note: c.column('e:n', text).optional() }),
    ...(isFollowed ? { summaries: TOTALS, ...CHANGES } : {}),
  });

/** Cuts over, again where the servers were too slow for the rest of writes: as a program would. */
export async function cutOver(rekey: Rekey, options: CutOverOptions = {}): Promise<RekeyRecord> {
  for (;;) {
    try {
      return await rekey.cutOver(options);
    } catch (error) {
      if (!(error instanceof RowanError) || error.code !== 'ERR_BUSY') throw error;
    }
  }
}

/**
 * @param round tells them from those of other rounds, whose changes of keys are remembered.
 * @param isFollowed whether they have a summary and change feeds.
 */
export function declareThings(round: string, isFollowed = false) {
  return {
    Old: declare(`KilledOld${round}`, 4, isFollowed),
    New: declare(`KilledNew${round}`, 16, isFollowed),
  };
}
