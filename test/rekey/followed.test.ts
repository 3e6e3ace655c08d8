/** Keys that are changed by copies, where a step is one row, of entities with summaries: the figures of both layouts. */

import { expect, test } from 'vitest';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { changeUnderWriters, declareLayouts } from './copied-keys.js';
import { checkFigures, SUMMARIES } from './figures.js';

const SEEDS = scaled(1, 6, 60);
const ROWS = 30;

test('figures are those of the rows before and behind the cut-over, under writers, pauses and aborts', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await using store = await openStepless();
    const layouts = declareLayouts(seed, { summaries: SUMMARIES });
    const { db } = await store.program(layouts.from, layouts.to);
    await changeUnderWriters(db, layouts, db.rekey(layouts.from, layouts.to), seed);
  }
});

test('an abort leaves empty figures of the new layout, and the next run counts anew', async () => {
  await using store = await openStepless();
  const { from, to } = declareLayouts(1, { summaries: SUMMARIES });
  const { db } = await store.program(from, to);
  const row = (b: number) => ({ a: 'k', b, x: `${b % 3}` }) as never;
  for (let b = 0; b < ROWS; b++) await db.repository(from).put(row(b));
  const rekey = db.rekey(from, to);
  await rekey.run();
  await checkFigures(db, to, 'ready');
  expect(await db.summary(to, 'withX' as never).get({} as never)).toMatchObject({ rows: ROWS });
  await rekey.abort();
  await checkFigures(db, to, 'aborted');
  await db.repository(from).delete({ a: 'k', b: 0 } as never);
  await rekey.run();
  await rekey.cutOver();
  for (const each of [from, to]) {
    await checkFigures(db, each, 'cut over');
    expect(await db.summary(each, 'byX' as never).check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
  }
});
