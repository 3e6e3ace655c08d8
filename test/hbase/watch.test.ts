/** Feeds of a real HBase: programs that end behind any call, and programs that write the same rows at once. */

import { expect, test } from 'vitest';
import { scaled } from '../proof/scale.js';
import { endToldBehindCalls, told, writeToldAtOnce } from '../watch/told.js';
import { programsOf } from './denormalize/programs.js';

const { database, program } = programsOf(told);
/** Ends what hangs; the calls of these tests come one after another, however slow each is. */
const timeout = 900_000;

test('a program may end behind any call: what is told is what has happened', { timeout }, async () => {
  expect(await endToldBehindCalls(database(), program, scaled(9, 3, 1))).toBeGreaterThan(5);
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
