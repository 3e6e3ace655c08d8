/** Copies, referential rules, summaries and feeds on Bigtable: programs that end behind any call, and programs that write at once. */

import { describe, expect, it } from 'vitest';
import { endCopyingAfterCalls, entities, writeAtOnce } from '../denormalize/faults.js';
import { endDeletesAfterCalls, nameWhileDeleted, ruled } from '../denormalize/rules.js';
import { scaled } from '../proof/scale.js';
import type { Program } from '../proof/stepless.js';
import { counted, endCountedAfterCalls, writeCountedAtOnce } from '../summaries/faults.js';
import { endToldAfterCalls, told, writeToldAtOnce } from '../watch/told.js';
import { programsOf } from './programs.js';

const three = async (program: () => Promise<Program>) =>
  (await Promise.all([program(), program(), program()])).map(({ db }) => db);

describe('copies', () => {
  const { database, program } = programsOf(entities);

  it('are mended by the outbox, wherever a program has ended', async () => {
    const { died, off } = await endCopyingAfterCalls(database(), program, scaled(25, 5, 1));
    expect(died).toBeGreaterThan(scaled(8, 40, 150));
    expect(off).toBeGreaterThan(0);
  });

  it('of sources that are written beside them are those of the sources', async () => {
    const most = scaled(6, 40, 200);
    await writeAtOnce(await three(program), (writes) => writes < most);
  });
});

describe('references', () => {
  const { database, program } = programsOf(ruled);

  it('are held by deletes that programs may not survive', async () => {
    const { died, off } = await endDeletesAfterCalls(database(), program, scaled(21, 4, 1));
    expect(died).toBeGreaterThan(scaled(4, 20, 100));
    expect(off).toBeGreaterThan(0);
  });

  it('to what is being deleted are taken along, or forgotten', async () => {
    await nameWhileDeleted((await program()).db, (await program()).db, scaled(4, 20, 200));
  });
});

describe('summaries', () => {
  const { database, program } = programsOf(counted);

  it('are mended by the outbox or a repair, wherever a program has ended', async () => {
    const { died, off } = await endCountedAfterCalls(database(), program, scaled(31, 31, 1));
    expect(died).toBeGreaterThan(scaled(4, 4, 150));
    expect(off).toBeGreaterThan(0);
  });

  it('of rows that three programs write are right while all is counted anew', async () => {
    const most = scaled(4, 4, 60);
    await writeCountedAtOnce(await three(program), (writes) => writes < most);
  });
});

describe('feeds by the change log', () => {
  const { database, program } = programsOf(told);

  it('tell what has happened, wherever a program has ended', async () => {
    expect(await endToldAfterCalls(database(), program, scaled(9, 3, 1))).toBeGreaterThan(5);
  });

  it('of rows that three programs write make the rows that are there', async () => {
    const most = scaled(2, 10, 60);
    await writeToldAtOnce(await three(program), (writes) => writes < most, scaled(6, 16, 16));
  });
});
