/** Feeds of a real HBase: programs that end behind any call, and programs that write the same rows at once. */

import { expect, test } from 'vitest';
import { scaled } from '../proof/scale.js';
import {
  endToldAfterCalls,
  expectRefused,
  expectReplayed,
  Replay,
  told,
  Ware,
  writeToldAtOnce,
} from '../watch/told.js';
import { programsOf } from './denormalize/programs.js';

const { database, program } = programsOf(told);
/** Ends what hangs; the calls of these tests come one after another, however slow each is. */
const timeout = 900_000;

test('a program may end behind any call: what is told is what has happened', { timeout }, async () => {
  expect(await endToldAfterCalls(database(), program, scaled(9, 3, 1))).toBeGreaterThan(5);
});

test('writers of the same rows in three programs, and readers beside them: what was told makes the rows that are there', {
  timeout,
}, async () => {
  const programs = await Promise.all([program(), program(), program()]);
  const most = scaled(2, 10, 60);
  await writeToldAtOnce(
    programs.map(({ db }) => db),
    (writes) => writes < most,
    scaled(6, 16, 16),
  );
});

test('inserts beside deletes of other programs, most of which find nothing: no insert that is told is hidden', {
  timeout,
}, async () => {
  const programs = await Promise.all([program(), program(), program()]);
  const { db } = programs[0]!;
  const replay = new Replay();
  await expectReplayed(db, replay, 'before', { settledAfter: 0 });
  const writes = scaled(10, 30, 120);
  for (let round = 0; round < scaled(2, 6, 24); round++) {
    const writing = programs.flatMap((one, place) =>
      ['0', '1', '2', '3'].map(async (no) => {
        const wares = one.db.repository(Ware);
        for (let i = 0; i < writes; i++) {
          const inserts = place === 0 && i % 2 === 0;
          const done = inserts
            ? wares.insert({ shop: 'b', no, status: `${i}` })
            : wares.delete({ shop: 'b', no });
          await done.catch(expectRefused);
        }
      }),
    );
    await Promise.all(writing);
    await expectReplayed(db, replay, `round ${round}`, { settledAfter: 0 });
  }
});
