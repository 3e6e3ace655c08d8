import type { Command } from 'commander';
import { addEntityJob } from '../../cli/commands/entity-job.js';
import type { CliContext } from '../../cli/context.js';
import { InvalidArgumentError } from '../../errors.js';
import type { JobRunOptions } from '../../job/types.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { SummaryHandle, SummaryReport } from './handle.js';

type AnySummary = SummaryHandle<KeyedClass, never>;

/** `rowan summary check|repair|build`: figures of groups of rows (docs/summaries.md). */
export function addSummaryCommands(program: Command, context: CliContext): void {
  const commands = program
    .command('summary')
    .description('Checks, repairs and builds summaries (figures of groups of rows).');
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
        new InvalidArgumentError(
          `${entity ?? 'The module'} has no summaries. Declare one: static readonly summaries = { name: summary(…) }.`,
        ),
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
  add('check', 'Counts all rows and compares the figures; exit code 1 if any is wrong.', (s, run) =>
    s.check(run),
  );
  add('repair', 'Like check, and corrects every wrong figure.', (s, run) => s.repair(run));
  add('build', 'Counts all rows; for a new summary on a table with rows.', (s, run) => s.build(run));
}
