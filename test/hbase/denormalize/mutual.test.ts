/** Mutual links on a real HBase: programs that end behind any call, and programs that write both sides at once. */

import { expect, test } from 'vitest';
import { endLinkingAfterCalls, entities, writeBothSides } from '../../denormalize/mutual.js';
import { scaled } from '../../proof/scale.js';
import { programsOf } from './programs.js';

const { database, program } = programsOf(entities);

test('a program may end behind any call: check tells it, the outbox ends it, and repair then finds nothing', async () => {
  const { died, off } = await endLinkingAfterCalls(database(), program, scaled(13, 5, 1));
  expect(died).toBeGreaterThan(scaled(4, 15, 60));
  expect(off).toBeGreaterThan(0);
});

test('writers of both sides at once, in three programs: both are equal once the outbox is drained', async () => {
  const programs = await Promise.all([program(), program(), program()]);
  const most = scaled(6, 40, 200);
  await writeBothSides(
    programs.map(({ db }) => db),
    (writes) => writes < most,
  );
});
