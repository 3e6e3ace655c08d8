/** Stores without steps whose clock is moved ahead, and programs that die, for suites of what follows after the answers of writes. */

import { expect } from 'vitest';
import type { Database } from '../../src/database.js';
import type { EntityClass } from '../../src/schema/types.js';
import type { Random } from '../query/model/random.js';
import { openStepless, type SteplessStore } from './stepless.js';

/** Beyond any time after which somebody takes over, in milliseconds. */
export const LATER = 60_000;

/** Moves the clock ahead. */
type GoOn = (ms: number) => void;

/** Runs with a store of its own. */
export async function withStore<T>(run: (store: SteplessStore, goOn: GoOn) => Promise<T>): Promise<T> {
  let ahead = 0;
  await using store = await openStepless(() => Date.now() + ahead);
  return await run(store, (ms) => {
    ahead += ms;
  });
}

/** A write by a program that may die. */
interface DyingWrite {
  readonly entity: EntityClass;
  prepare(store: SteplessStore): Promise<void>;
  write(db: Database): Promise<unknown>;
  /** Resolves when what follows the answers of a program has ended, or the program has. */
  settled(db: Database): Promise<void>;
  /** Checks the store by another program, long after. */
  check(other: Database, when: string): Promise<void>;
}

/** Has the program die after `first` requests of the write, then after `stride` more, as long as it does. @returns how often it died. */
export async function dieAtRequests(
  { entity, prepare, write, settled, check }: DyingWrite,
  first: number,
  stride: number,
): Promise<number> {
  let deaths = 0;
  for (let after = first; ; after += stride) {
    const hasDied = await withStore(async (store, goOn) => {
      await prepare(store);
      const { db: other } = await store.program(entity);
      const { db, mortal } = await store.program(entity);
      mortal.dieAfter(after);
      await write(db).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
      await settled(db);
      await mortal.arrived();
      goOn(LATER);
      await check(other, `died after ${after}`);
      return mortal.isDead;
    });
    if (!hasDied) return deaths;
    deaths++;
    expect(after).toBeLessThan(200);
  }
}

/**
 * Three programs write at once, twelve times each; two of them may die. The clock goes 25 times as fast meanwhile, because reads wait
 * until the rows of a dead program are abandoned. @returns the one that lives, long after.
 * @param settled as in {@link dieAtRequests}, for programs that may have died
 */
export async function writeAtOnce(
  [store, goOn]: readonly [SteplessStore, GoOn],
  entity: EntityClass,
  random: Random,
  write: (db: Database) => Promise<unknown>,
  settled: (db: Database) => Promise<void>,
): Promise<Database> {
  const { db: other } = await store.program(entity);
  const programs = await Promise.all([store.program(entity), store.program(entity)]);
  for (const { mortal } of programs) if (random.chance(0.7)) mortal.dieAfter(5 + random.below(60));
  const clock = setInterval(() => goOn(25), 1);
  try {
    await Promise.all(
      [other, ...programs.map(({ db }) => db)].map(async (db) => {
        for (let i = 0; i < 12; i++) {
          await write(db).catch((error: { code?: string }) =>
            expect(['ERR_CONNECTION', 'ERR_CONFLICT', 'ERR_NOT_FOUND']).toContain(error.code),
          );
          await new Promise((resolve) => setTimeout(resolve, random.below(3)));
        }
      }),
    );
    for (const { db } of programs) await settled(db);
    for (const { mortal } of programs) await mortal.arrived();
  } finally {
    clearInterval(clock);
  }
  goOn(LATER);
  return other;
}
