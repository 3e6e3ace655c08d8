import type { Command } from 'commander';
import type { Database } from '../../database.js';
import { InvalidArgumentError } from '../../errors.js';
import type { CopiesReport, CopyHandle } from '../../features/copies/handle.js';
import type { ReferenceHandle } from '../../features/relations/handle.js';
import type { SummaryHandle, SummaryReport } from '../../features/summaries/handle.js';
import type { JobRunOptions } from '../../job/types.js';
import type { KeyedClass } from '../../schema/entity-types.js';
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

/** `rowan denormalized check|repair|backfill`: copies of other entities' properties (docs/denormalization.md). */

export function addDenormalizedCommands(program: Command, context: CliContext): void {
  const commands = program.command('denormalized').description("Copies of other entities' properties.");
  const add = (
    name: string,
    description: string,
    does: (copies: CopyHandle, run: JobRunOptions) => Promise<CopiesReport>,
  ): void =>
    addEntityJob(commands, context, {
      name,
      description,
      chosen: ({ copies }) => copies.length > 0,
      none: (entity) =>
        new InvalidArgumentError(`${entity ?? 'The module'} has no copies. Declare them with @Denormalized.`),
      work: async (db, entity, run) => {
        const copies = db.denormalized(entity.target as KeyedClass);
        await copies.drain();
        const report = await does(copies, run);
        return { counts: { ...report }, well: isWell(report) };
      },
    });
  add('check', 'Holds every row against its sources; exit code 1 when something is off.', (copies, run) =>
    copies.check(run),
  );
  add('repair', 'As check, and makes every copy what it should be.', (copies, run) => copies.repair(run));
  add(
    'backfill',
    'Builds the indexes that rows are found by, and repairs: for a new declaration.',
    (copies, run) => copies.backfill(run),
  );
}

function isWell({ stale, missing, extra, repaired, pending }: CopiesReport): boolean {
  return stale + missing + extra <= repaired && pending === 0;
}

/** `rowan references check|repair|backfill`: referential rules of relations (docs/relations.md). */

export function addReferenceCommands(program: Command, context: CliContext): void {
  const commands = program.command('references').description('Referential rules of relations.');
  const add = (
    name: string,
    description: string,
    does: (
      rules: ReferenceHandle,
      run: JobRunOptions,
    ) => Promise<{ readonly dangling: number; readonly repaired?: number }>,
  ): void =>
    addEntityJob(commands, context, {
      name,
      description,
      chosen: ({ references }) => references.length > 0,
      none: (entity) =>
        new InvalidArgumentError(
          `${entity ?? 'The module'} has no referential rules. Declare them: @Reference(…, { onDelete: 'restrict' }).`,
        ),
      work: async (db, entity, run) => {
        const counts = await does(db.references(entity.target as KeyedClass), run);
        return { counts: { ...counts }, well: counts.dangling <= (counts.repaired ?? 0) };
      },
    });
  add(
    'check',
    'Counts the rows that name what is not there; exit code 1 when there are some.',
    (rules, run) => rules.check(run),
  );
  add(
    'repair',
    'As check, and does with them what their rules say: cascade and setNull; exit code 1 when some are left.',
    (rules, run) => rules.repair(run),
  );
  add(
    'backfill',
    'Builds the indexes by which deletes find rows, and checks: for a new rule.',
    (rules, run) => rules.backfill(run),
  );
}

/** `rowan summary check|repair|build`: figures of groups of rows (docs/summaries.md). */

type AnySummary = SummaryHandle<KeyedClass, never>;

export function addSummaryCommands(program: Command, context: CliContext): void {
  const commands = program.command('summary').description('Figures of groups of rows.');
  const add = (
    name: string,
    description: string,
    does: (summary: AnySummary, run: JobRunOptions) => Promise<SummaryReport>,
  ): void =>
    addEntityJob(commands, context, {
      name,
      description,
      chosen: ({ summaries }) => summaries.length > 0,
      none: (entity) =>
        new InvalidArgumentError(`${entity ?? 'The module'} has no summaries. Declare them with @Summary.`),
      work: async (db, entity, run) => {
        const counts: Record<string, number> = {};
        let well = true;
        for (const { name: summary } of entity.summaries) {
          const report = await does(db.summary(entity.target as KeyedClass, summary as never), run);
          for (const [what, count] of Object.entries(report)) counts[`${summary}.${what}`] = count;
          const { stale, missing, extra, entries, repaired } = report;
          well &&= stale + missing + extra + entries <= repaired;
        }
        return { counts, well };
      },
    });
  add(
    'check',
    'Counts all rows and holds the figures against them; exit code 1 when something is off.',
    (s, run) => s.check(run),
  );
  add('repair', 'As check, and makes every figure what it should be.', (s, run) => s.repair(run));
  add('build', 'Counts all rows, for a summary that comes to stored rows.', (s, run) => s.build(run));
}
