/** The job of a migration: it changes rows, looks again, and counts those that are `left`. */

import type { Engine } from '../../table/index.js';
import { runJob } from '../runner.js';
import type { JobDefinition, JobOutcome, JobRunOptions } from '../types.js';

/** Runs it, or goes on with its unfinished run; anew when rows are left then. */
export async function runUntilNoneLeft(
  engine: Engine,
  definition: JobDefinition,
  run: JobRunOptions,
): Promise<{ readonly outcome: JobOutcome; readonly left: number }> {
  let outcome = await runJob(engine, definition, { restart: 'done', ...run });
  // An unfinished run that is gone on with does not see what was written behind it meanwhile.
  if (leftOf(outcome) > 0) outcome = await runJob(engine, definition, { ...run, restart: true });
  return { outcome, left: leftOf(outcome) };
}

function leftOf({ counters }: JobOutcome): number {
  return counters['left'] ?? 0;
}
