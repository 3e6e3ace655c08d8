/** Loads the job of a user's module. */

import type { Database } from '../database.js';
import { InvalidArgumentError } from '../errors.js';
import { type PreparedJob, prepareJob } from '../job/pipeline/pipeline.js';

/** Calls the module's `job` function. @throws InvalidArgumentError when it exports none. */
export async function makeJob(
  module: string,
  exports: Readonly<Record<string, unknown>>,
  db: Database,
): Promise<unknown> {
  const make = exports['job'];
  if (typeof make !== 'function') {
    throw new InvalidArgumentError(
      `${module} exports no job. Export a function "job" that takes the database and returns the job.`,
    );
  }
  return (make as (db: Database) => unknown)(db);
}

/** The typed job of a module. @throws InvalidArgumentError when it is not a typed job. */
export async function jobOf(
  module: string,
  exports: Readonly<Record<string, unknown>>,
  db: Database,
): Promise<PreparedJob> {
  const job = await makeJob(module, exports, db);
  const prepared = typeof job === 'object' && job !== null ? await prepareJob(job) : undefined;
  if (prepared !== undefined) return prepared;
  throw new InvalidArgumentError(
    `"job" of ${module} does not return a job for threads. Return db.job(...).from(...) with its further steps.`,
  );
}
