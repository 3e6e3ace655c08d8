/** `rowan job run` (docs/jobs.md). */

import type { Command } from 'commander';
import type { Database } from '../../database.js';
import { InvalidArgumentError } from '../../errors.js';
import { runJob } from '../../job/index.js';
import type { JobDefinition, JobOutcome, JobRunOptions } from '../../job/types.js';
import type { CliContext } from '../context.js';
import { withDatabase } from '../databases.js';
import { importModule, schemaOf } from '../load-entities.js';
import { withProgress } from '../progress.js';
import { PLACE, printOutcome, runOptions, wholeNumber } from './tools.js';

interface JobFlags {
  readonly shard?: string;
  readonly lease?: string;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

/** What the module's `job` answers. */
type Job = JobDefinition | { run(options: JobRunOptions): Promise<JobOutcome> };

export function addJobCommands(program: Command, context: CliContext): void {
  const job = program.command('job').description('Jobs over whole tables.');
  job
    .command('run')
    .description('Runs the job of a module to its end, or goes on with it; with --shard one share of it.')
    .argument('<place>', PLACE)
    .argument(
      '<module>',
      'path of the compiled module: it exports the entities, and "job", which is given the database',
    )
    .option(
      '--shard <i/n>',
      'first the splits of this share, from 0/n to n-1/n, then those whose worker is dead',
    )
    .option('--lease <seconds>', 'without a sign of life for so long a worker counts as dead; default 30')
    .option('--rate <rows>', 'at most so many rows a second, by this process')
    .option('--parallel <n>', 'splits that this process works at the same time; default 4')
    .option('--restart', 'from the beginning, whatever was done')
    .option('--json', 'the outcome as JSON')
    .option('--no-progress', 'no progress bar')
    .action(async (place: string, module: string, flags: JobFlags) => {
      const options = optionsOf(flags);
      const exports = await importModule(module);
      const make = exports['job'];
      if (typeof make !== 'function') {
        throw new InvalidArgumentError(
          `${module} exports no job: export a function "job" that is given the database and answers the job.`,
        );
      }
      await withDatabase(place, schemaOf(module, exports), {}, async (db) => {
        const made = await (make as (db: Database) => Job | Promise<Job>)(db);
        const outcome = await withSignals((signal) =>
          withProgress(flags, (onProgress) =>
            runOne(db, module, made, { ...runOptions(flags, onProgress), ...options, signal }),
          ),
        );
        printOutcome(context, flags.json === true, outcome);
      });
    });
}

function runOne(db: Database, module: string, job: Job, options: JobRunOptions): Promise<JobOutcome> {
  if (typeof job === 'object' && job !== null) {
    if ('run' in job && typeof job.run === 'function') return job.run(options);
    if ('phases' in job) return runJob(db.engine, job, options);
  }
  throw new InvalidArgumentError(
    `"job" of ${module} answers no job: return db.job(...).from(...), with what follows it.`,
  );
}

function optionsOf({ shard, lease, restart }: JobFlags): JobRunOptions {
  if (shard !== undefined && restart === true) {
    throw new InvalidArgumentError(
      '--restart and --shard do not go together: each share would begin the job anew. Run it with --restart once, without --shard, or give the job another name.',
    );
  }
  return {
    ...(shard === undefined ? {} : { shard: shardOf(shard) }),
    ...(lease === undefined ? {} : { leaseMs: 1000 * wholeNumber('--lease', lease) }),
  };
}

function shardOf(text: string): { readonly index: number; readonly count: number } {
  const [, index, count] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? [];
  if (index !== undefined && Number(index) < Number(count)) {
    return { index: Number(index), count: Number(count) };
  }
  throw new InvalidArgumentError(`--shard takes i/n with i from 0 below n, as in 0/4, not "${text}".`);
}

/**
 * Stops the job when the process is asked to end: what was done is checkpointed as far as it goes, and its splits are free for others
 * at once.
 */
async function withSignals<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  process.once('SIGTERM', abort).once('SIGINT', abort);
  try {
    return await run(stop.signal);
  } finally {
    process.off('SIGTERM', abort).off('SIGINT', abort);
  }
}
