/**
 * What is decided in one step, on tables that answer later. A function that reads is run until it asks for what is not
 * there yet; that is fetched, and the function is run again. So one rule serves both engines. What it has read is of no
 * one moment then: what is written by it must be checked by the step that writes, or looked at again.
 */

import type { Get, Result, ResultScanner, Scan, Table } from '../../table/index.js';
import type { ChangeStep } from '../executor.js';

/** Runs what reads in a step. It must ask for the same when it is given the same, and change nothing. */
export type Reading = <T>(run: (step: ChangeStep) => T) => Promise<T>;

type Answer = Result | readonly Result[];

/** What is thrown where the next answer is missing. */
class Missing {
  constructor(readonly fetch: () => Promise<Answer>) {}
}

/** `tableOf`: a table by its name. */
export function readingFrom(tableOf: (name: string) => Table): Reading {
  return async (run) => {
    const answers: Answer[] = [];
    for (;;) {
      let asked = 0;
      const next = <A extends Answer>(fetch: () => Promise<A>): A => {
        if (asked === answers.length) throw new Missing(fetch);
        return answers[asked++] as A;
      };
      const step: ChangeStep = {
        read: (get: Get, table: string) => next(() => tableOf(table).get(get)),
        scan: (scan: Scan, table: string) => next(() => all(tableOf(table).scan(scan))),
      };
      try {
        return run(step);
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        answers.push(await error.fetch());
      }
    }
  };
}

/** Rows fetched at once. */
const PAGE = 512;

async function all(scanner: ResultScanner): Promise<readonly Result[]> {
  const found: Result[] = [];
  try {
    for (;;) {
      const page = await scanner.nextBatch(PAGE);
      found.push(...page);
      if (page.length < PAGE) return found;
    }
  } finally {
    await scanner.close();
  }
}
