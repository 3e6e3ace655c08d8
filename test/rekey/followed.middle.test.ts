/** Keys that are changed by copies, where a step is one row, of entities with summaries and change
 * feeds: the figures of both layouts, and what readers are told. */

import { expect, test } from 'vitest';
import { BUCKETS, bucketOf } from '../../src/features/changes/log-rows.js';
import { compileSchema } from '../../src/mapper/index.js';
import { isMark } from '../../src/repository/index.js';
import { canonicalTableName, Scan } from '../../src/table/index.js';
import { fromMiddle } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { changeUnderWriters, declareLayouts } from './copied-keys.js';
import { checkFigures, SUMMARIES } from './figures.js';
import { CHANGES, END_IDS, FeedEnd, Reader } from './reader.js';

const SEEDS = fromMiddle(6, 60);
const ROWS = 30;
const FED = { ...CHANGES, summaries: SUMMARIES };

test('the last rows that a reader waits for are in all buckets of the log', () => {
  const { key, table } = compileSchema([FeedEnd]).entity(FeedEnd);
  const name = canonicalTableName(table.descriptor.name);
  const buckets = END_IDS.map((id) => bucketOf(name, key.encode({ id })));
  expect(new Set(buckets).size).toBe(BUCKETS);
});

test('figures and feeds are those of the rows before and behind the cut-over, under writers, pauses and aborts', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await using store = await openStepless();
    const layouts = declareLayouts(seed, FED);
    const { db } = await store.program(layouts.from, layouts.to, FeedEnd);
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

test('a reader is told every change once, and goes on behind the cut-over', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await using store = await openStepless();
    const { from, to } = declareLayouts(seed, FED);
    const { db } = await store.program(from, to, FeedEnd);
    const { db: other } = await store.program(from, FeedEnd);
    const where = `seed ${seed}`;
    const [reader, slow] = [new Reader(from, [from, to]), new Reader(from, [from, to])];
    const [olds, news] = [db.repository(from), db.repository(to)];
    const put = (things: typeof olds, b: number, x: string) => things.put({ a: `k${b % 3}`, b, x } as never);
    const remove = (things: typeof olds, b: number) => things.delete({ a: `k${b % 3}`, b } as never);
    for (let b = 0; b < ROWS; b++) await put(b % 2 ? olds : other.repository(from), b, 'before');
    await reader.check(db, from, `${where}, before`);
    const rekey = db.rekey(from, to);
    await rekey.run({ batchRows: 4 });
    for (let b = 0; b < ROWS; b += 3) await (b % 2 ? put(olds, b, 'meanwhile') : remove(olds, b));
    await reader.check(db, from, `${where}, ready`);
    await expect(new Reader(to, []).catchUp(db, where)).rejects.toThrow('ERR_UNSUPPORTED');
    for (let b = 1; b < ROWS; b += 4) await put(olds, b, 'last');
    await rekey.cutOver();
    const schema = db.schema.entity(to);
    for await (const { cells } of db.engine.table(schema.table.descriptor.name).scan(new Scan()))
      expect(cells.filter((cell) => isMark(schema, cell))).toEqual([]);
    for (let b = 0; b < ROWS; b += 2) await (b % 4 ? put(news, b, 'behind') : remove(news, b));
    // Where the reader stands, the changes up to the cut-over are still those of the old entity.
    const early = db.watch(to, {}, { from: reader.position })[Symbol.asyncIterator]();
    await expect(early.next()).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
    for await (const { changes } of db.watch(to, {}, { from: 'start' })) {
      const { after } = changes[0] as { readonly after?: { readonly x: string } };
      expect(['behind', undefined]).toContain(after?.x);
      break;
    }
    await reader.check(db, to, `${where}, cut over`);
    expect(reader.entity).toBe(to);
    await rekey.cleanup();
    await put(news, 1, 'done');
    for (const each of [reader, slow]) await each.check(db, to, `${where}, done`);
  }
});

test.each([false, true])(
  'a change whose writer died before the cut-over is told if it was made; cleaned up: %s',
  async (isCleanedUp) => {
    const seen = new Set<string | undefined>();
    for (let steps = 0; ; steps++) {
      let ahead = 0;
      await using store = await openStepless(() => Date.now() + ahead);
      const { from, to } = declareLayouts(1, FED);
      const { db } = await store.program(from, to, FeedEnd);
      const { db: dying, mortal } = await store.program(from, FeedEnd);
      const key = { a: 'k', b: 1 };
      await dying.repository(from).put({ ...key, x: 'first' } as never);
      mortal.dieAfter(steps);
      const isDead = await dying
        .repository(from)
        .put({ ...key, x: 'second' } as never)
        .then(
          () => false,
          () => true,
        );
      ahead += 60_000;
      const rekey = db.rekey(from, to);
      await rekey.run();
      await rekey.cutOver();
      if (isCleanedUp) await rekey.cleanup();
      const reader = new Reader(from, [from, to]);
      await reader.check(db, to, `dead after ${steps} steps`);
      await db.summary(from, 'byX' as never).drain({ settledAfter: 0 });
      await checkFigures(db, to, `dead after ${steps} steps`);
      seen.add(reader.rows.get('1'));
      if (!isDead) break;
    }
    // It was made where the writer died late, and not where it died early.
    expect(seen.size).toBe(2);
  },
);
