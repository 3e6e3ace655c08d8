/** One entity under an old and a new layout, for processes that change its keys until they are killed. */

import { defineEntity, defineTable, part, salt } from '../../decorators/index.js';
import { int53, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { scaled } from '../proof/scale.js';
import { TOTALS } from './figures.js';
import { FeedEnd } from './reader.js';

const declare = (name: string, salts: number) =>
  defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: {} } }),
    key: [salt(salts), part('id')],
    columns: (c) => ({ value: c.column('d:v', int53), note: c.column('d:n', text).optional() }),
    summaries: TOTALS,
    changes: { keep: 3600_000 },
  });

export const Old = declare('Old', 4);
export const New = declare('New', 16);

export const WRITERS = 4;
/** Keys of each writer. */
export const KEYS = 20;

export const keyOf = (writer: number, n: number): string => `${writer}-${n % KEYS}`;

/** The rows that were there before, of which writers only touch those of their own. */
export const FILLED = scaled(500, 2000, 2000);

export function openOrders(path: string, background: 'inline' | 'worker'): Promise<Database<EmbeddedEngine>> {
  return open({ path, background, entities: [Old, New, FeedEnd] });
}
