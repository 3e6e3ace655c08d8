import type { Command } from 'commander';
import type { Database } from '../../database.js';
import { InvalidArgumentError } from '../../errors.js';
import { runJob } from '../../job/index.js';
import type { JobDefinition, JobOutcome, JobRunOptions } from '../../job/types.js';
import type { EmbeddedEngine } from '../../store/engine.js';
import { type CliContext, withProgress } from '../context.js';
import { isServer, withDatabase } from '../databases.js';
import { makeJob } from '../job-module.js';
import { runInWorkers } from '../job-workers.js';
import { importModule, schemaOf } from '../load-entities.js';
import { PLACE, printOutcome, runOptions, wholeNumber } from './tools.js';

const MAX_WORKERS = 64;

interface JobFlags {
  readonly shard?: string;
  readonly workers?: string;
  readonly lease?: string;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

/** `rowan job run` (docs/jobs.md). */
export function addJobCommands(program: Command, context: CliContext): void {
  const job = program.command('job').description('Runs jobs over whole tables.');
  job
    .command('run')
    .description(
      'Runs the job of a module to its end, resuming it if interrupted; with --shard only a share of it.',
    )
    .argument('<place>', PLACE)
    .argument(
      '<module>',
      'path of the compiled module, which exports the entities, and a function "job" that takes the database',
    )
    .option(
      '--shard <i/n>',
      'process first the splits of this share, 0/n to n-1/n, then those whose worker is dead',
    )
    .option(
      '--workers <n>',
      'on an embedded store: number of threads that read and map one copy of it; default: no extra threads',
    )
    .option('--lease <seconds>', 'a worker without a heartbeat for this long counts as dead; default 30')
    .option('--rate <rows>', 'limit of this process, in rows per second')
    .option('--parallel <n>', 'splits that this process works on in parallel; default 4')
    .option('--restart', 'start over and discard earlier progress')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar')
    .action(async (place: string, module: string, flags: JobFlags) => {
      const options = optionsOf(flags);
      const exports = await importModule(module);
      const workers = workersOf(place, flags);
      await withDatabase(place, schemaOf(module, exports), {}, async (db) => {
        const outcome = await withSignals((signal) =>
          withProgress(flags, async (onProgress) => {
            const run = { ...runOptions(flags, onProgress), ...options, signal };
            if (workers === undefined) return runOne(db, module, await makeJob(module, exports, db), run);
            const { engine } = db;
            const embedded = db as Database<typeof engine & EmbeddedEngine>;
            return runInWorkers(embedded, { place, module, exports, workers, run });
          }),
        );
        printOutcome(context, flags.json === true, outcome);
      });
    });
}

function runOne(db: Database, module: string, job: unknown, options: JobRunOptions): Promise<JobOutcome> {
  if (typeof job === 'object' && job !== null) {
    if ('run' in job && typeof job.run === 'function')
      return (job as { run(options: JobRunOptions): Promise<JobOutcome> }).run(options);
    if ('phases' in job) return runJob(db.engine, job as JobDefinition, options);
  }
  throw new InvalidArgumentError(
    `"job" of ${module} does not return a job. Return db.job(...).from(...) with its further steps.`,
  );
}

function optionsOf({ shard, lease, restart }: JobFlags): JobRunOptions {
  if (shard !== undefined && restart === true) {
    throw new InvalidArgumentError(
      '--restart and --shard exclude each other: each share would restart the job. Run it once with --restart and without --shard, or give the job another name.',
    );
  }
  return {
    ...(shard === undefined ? {} : { shard: shardOf(shard) }),
    ...(lease === undefined ? {} : { leaseMs: 1000 * wholeNumber('--lease', lease) }),
  };
}

/** @throws InvalidArgumentError on HBase and Bigtable, where processes share the work. */
function workersOf(place: string, { workers, shard }: JobFlags): number | undefined {
  if (workers === undefined) return undefined;
  if (isServer(place)) {
    throw new InvalidArgumentError(
      '--workers is for embedded stores, which only one process can open. On HBase and Bigtable, start several processes with --shard i/n.',
    );
  }
  if (shard !== undefined) throw new InvalidArgumentError('--workers and --shard exclude each other.');
  const count = wholeNumber('--workers', workers);
  if (count >= 1 && count <= MAX_WORKERS) return count;
  throw new InvalidArgumentError(`--workers takes a number from 1 to ${MAX_WORKERS}, not ${workers}.`);
}

function shardOf(text: string): { readonly index: number; readonly count: number } {
  const [, index, count] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? [];
  if (index !== undefined && Number(index) < Number(count)) {
    return { index: Number(index), count: Number(count) };
  }
  throw new InvalidArgumentError(`--shard takes i/n with i from 0 to n-1, as in 0/4, not "${text}".`);
}

/**
 * Stops the job at SIGINT or SIGTERM. The work done so far is checkpointed, and other workers can take its splits at
 * once.
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
