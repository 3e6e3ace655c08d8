/** What suites share in which two clients write the rows of a server in turn. */

import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/database.js';
import { RowanError, SchemaError } from '../../src/errors.js';
import { mayGoOn } from '../proof/scale.js';
import type { Declared } from './declare.js';
import type { Derived } from './derived.js';
import type { Model, Row } from './model.js';
import { repositoriesOf } from './program.js';
import { shown } from './shown.js';

/** Programs of one test: few enough for its time limit on a slow machine. */
const TOGETHER = 20;

/**
 * Runs `count` programs. `run` returns false for a program whose declarations are refused.
 * @param least the test that enough of them were run: its name, and how many.
 */
export function describePrograms(
  what: string,
  count: number,
  run: (seed: number) => Promise<boolean>,
  least: { readonly what: string; readonly programs: number },
): void {
  const seed = Number(process.env['ROWAN_SEED'] ?? 1);
  const parts = Array.from({ length: Math.ceil(count / TOGETHER) }, (_, part) => {
    const first = seed + part * TOGETHER;
    return [first, Math.min(first + TOGETHER, seed + count) - 1] as const;
  });
  describe(what, () => {
    let ran = 0;

    it.each(parts)('programs %i to %i', async (first, last) => {
      if (first > seed && !mayGoOn()) return;
      for (let each = first; each <= last; each++) if (await run(each)) ran++;
    });

    it(least.what, () => {
      expect(ran).toBeGreaterThan(least.programs);
    });
  });
}

/** The rows of the model, as {@link expectAgreement} takes them. */
export function rowsOf(model: Model): readonly string[] {
  return model
    .all()
    .map(({ key, values }: Row) => shown({ ...values, ...key }))
    .sort();
}

/** What a client reads are these rows, and what is derived from them agrees with the model. */
export async function expectAgreement(
  db: Database,
  declared: Declared,
  derived: Derived,
  model: Model,
  rows: readonly string[],
): Promise<void> {
  const all = await repositoriesOf(db, declared)
    .main.find({} as never, { fullScan: true })
    .all();
  expect(all.map((one) => shown(one as object)).sort()).toEqual(rows);
  await derived.verify(db, declared.main);
  await derived.check(db, declared.main, model.all(), model.all(true));
}

/** False for declarations that are refused. @throws any other error, with the program. */
export function refused(
  error: unknown,
  seed: number,
  features: ReadonlySet<string>,
  log: readonly string[],
): false {
  if (error instanceof SchemaError && log.length === 0) return false;
  if (error instanceof RowanError && error.code === 'ERR_UNSUPPORTED' && log.length === 0) return false;
  throw new Error(
    `Seed ${seed}: ${[...features].join(' ')}\n${log.join('\n')}\n${(error as Error).message}`,
    { cause: error },
  );
}
