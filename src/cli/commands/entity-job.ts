import type { Command } from 'commander';
import type { Database } from '../../database.js';
import type { JobRunOptions } from '../../job/types.js';
import type { EntitySchema } from '../../schema/types.js';
import { type CliContext, CliExit, withProgress } from '../context.js';
import { withDatabase } from '../databases.js';
import { entityNamed, loadSchema } from '../load-entities.js';
import { PLACE, runOptions } from './tools.js';

/** Commands that run a job for each of some entities, and print what each has counted. */

/** What such a command is. */
export interface EntityJob {
  readonly name: string;
  readonly description: string;
  /** Whether the job is for an entity. */
  chosen(entity: EntitySchema): boolean;
  /** The error when it is for none. */
  none(entity: string | undefined): Error;
  /** Exit code 1 when something is left that is not well. */
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

export function addEntityJob(parent: Command, context: CliContext, job: EntityJob): void {
  parent
    .command(job.name)
    .description(job.description)
    .argument('<entities>', 'path of the compiled module of the entities')
    .argument('<place>', PLACE)
    .argument('[entity]', 'only of this entity')
    .option('--rate <rows>', 'at most so many rows a second')
    .option('--parallel <n>', 'splits that are worked at the same time; default 4')
    .option('--restart', 'from the beginning, though an earlier run did not end')
    .option('--no-progress', 'no progress bar')
    .option('--json', 'the outcome as JSON')
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
