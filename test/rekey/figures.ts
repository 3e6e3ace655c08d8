/** Summaries of entities whose keys are changed, and what their figures must be. */

import { expect } from 'vitest';
import type { Database } from '../../src/database.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';

/** Summaries of an entity with the key part `b`, a text `x`, a number `y` and a counter `n`. */
export const SUMMARIES = {
  byX: { by: ['x'], figures: { rows: 'count', total: { sum: 'n' } } },
  withX: { by: [], figures: { rows: 'count', values: { count: 'n' } }, where: { x: { ne: null } } },
};

/** As above, with a figure that takes an index. */
export const SUMMARIES_WITH_INDEX = {
  ...SUMMARIES,
  byX: { ...SUMMARIES.byX, figures: { ...SUMMARIES.byX.figures, last: { max: 'b' } } },
};

interface Group {
  readonly x: string;
  readonly rows: number;
  readonly total: bigint;
  readonly last?: number;
}

/** Checks the figures of an entity's summaries against its rows. */
export async function checkFigures(db: Database, target: KeyedClass, where: string): Promise<void> {
  const hasLast = db.schema.entity(target).indexes.some(({ name }) => name === 'byX_b');
  const groups = new Map<string, Group>();
  let all = { rows: 0, values: 0 };
  const rows = (await db
    .repository(target)
    .find({} as never, { fullScan: true })
    .all()) as unknown as { b: number; x?: string; n?: bigint }[];
  for (const { b, x, n } of rows) {
    if (x == null) continue;
    all = { rows: all.rows + 1, values: all.values + (n === undefined ? 0 : 1) };
    const known = groups.get(x) ?? { x, rows: 0, total: 0n, last: b };
    groups.set(x, {
      x,
      rows: known.rows + 1,
      total: known.total + (n ?? 0n),
      ...(hasLast && { last: Math.max(known.last!, b) }),
    });
  }
  const byX = (await db.summary(target, 'byX' as never).find({} as never)) as unknown as Group[];
  expect(
    byX.map((group) => ({ ...group })),
    where,
  ).toEqual([...groups.values()].sort((a, b) => (a.x < b.x ? -1 : 1)));
  const withX = await db.summary(target, 'withX' as never).get({} as never);
  expect(withX, where).toEqual(all.rows === 0 ? null : all);
}

/** A summary of all rows with a number `value`. */
export const TOTALS = { all: { by: [], figures: { rows: 'count', total: { sum: 'value' } } } } as const;

/** Checks that summary against the rows. */
export async function checkTotals(db: Database, target: KeyedClass, where: string): Promise<void> {
  const rows = (await db
    .repository(target)
    .find({} as never, { fullScan: true })
    .all()) as unknown as { value: number }[];
  const total = rows.reduce((sum, { value }) => sum + value, 0);
  const found = await db.summary(target, 'all' as never).get({} as never);
  expect(found, where).toEqual(rows.length === 0 ? null : { rows: rows.length, total });
}
