import type { Command } from 'commander';
import type { Database } from '../../database.js';
import type { JobRunOptions } from '../../job/types.js';
import type { EntitySchema } from '../../schema/types.js';
import { type CliContext, CliExit, withProgress } from '../context.js';
import { withDatabase } from '../databases.js';
import { entityNamed, loadSchema } from '../load-entities.js';
import { PLACE, runOptions } from './tools.js';

/** The definition of such a command. */
interface EntityJob {
  readonly name: string;
  readonly description: string;
  /** Whether the job applies to an entity. */
  chosen(entity: EntitySchema): boolean;
  /** The error if it applies to none. */
  none(entity: string | undefined): Error;
  /** Runs the job; returns false for exit code 1. */
  work(
    db: Database,
    entity: EntitySchema,
    run: JobRunOptions,
  ): Promise<{ readonly counts: Readonly<Record<string, number>>; readonly well: boolean }>;
}

interface Flags {
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

/** Commands that run a job for each of several entities and print its counters. */
export function addEntityJob(parent: Command, context: CliContext, job: EntityJob): void {
  parent
    .command(job.name)
    .description(job.description)
    .argument('<entities>', 'path of the compiled module of the entities')
    .argument('<place>', PLACE)
    .argument('[entity]', 'only this entity')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--restart', 'start over, even if an earlier run did not finish')
    .option('--no-progress', 'do not show a progress bar')
    .option('--json', 'print the result as JSON')
    .action((module: string, place: string, entity: string | undefined, flags: Flags) =>
      runEntityJob(context, job, module, place, entity, flags),
    );
}

async function runEntityJob(
  context: CliContext,
  job: EntityJob,
  module: string,
  place: string,
  name: string | undefined,
  flags: Flags,
): Promise<void> {
  const schema = await loadSchema(module);
  const entities = (name === undefined ? schema.entities : [entityNamed(schema, name)]).filter((entity) =>
    job.chosen(entity),
  );
  if (entities.length === 0) throw job.none(name);
  const run = runOptions(flags, undefined);
  const well = await withDatabase(place, schema, { tables: 'create' }, async (db) => {
    let all = true;
    const printed: object[] = [];
    for (const entity of entities) {
      const { counts, well } = await withProgress(flags, (onProgress) =>
        job.work(db, entity, onProgress === undefined ? run : { ...run, onProgress }),
      );
      all &&= well;
      if (flags.json === true) printed.push({ entity: entity.name, counters: counts });
      else
        for (const [count, sum] of Object.entries(counts))
          context.write(`${entity.name}\t${count}\t${sum}\n`);
    }
    if (flags.json === true) context.write(`${JSON.stringify(printed)}\n`);
    return all;
  });
  if (!well) throw new CliExit(1);
}
