import type { Command } from 'commander';
import { addEntityJob } from '../../cli/commands/entity-job.js';
import type { CliContext } from '../../cli/context.js';
import { InvalidArgumentError } from '../../errors.js';
import type { JobRunOptions } from '../../job/types.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { CopiesReport, CopyHandle } from './handle.js';

/** `rowan denormalized check|repair|backfill`: copies of other entities' properties (docs/denormalization.md). */
export function addDenormalizedCommands(program: Command, context: CliContext): void {
  const commands = program
    .command('denormalized')
    .description("Checks, repairs and backfills copies of other entities' properties.");
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
        new InvalidArgumentError(
          `${entity ?? 'The module'} has no copies. Declare them: static readonly copies = { name: copy(…) }.`,
        ),
      work: async (db, entity, run) => {
        const copies = db.denormalized(entity.target as KeyedClass);
        await copies.drain();
        const report = await does(copies, run);
        return { counts: { ...report }, well: isWell(report) };
      },
    });
  add(
    'check',
    'Checks the copies of every row against their sources; exit code 1 if any is wrong.',
    (copies, run) => copies.check(run),
  );
  add('repair', 'Like check, and corrects every wrong copy.', (copies, run) => copies.repair(run));
  add('backfill', 'Builds the indexes that copies need, and repairs; for a new declaration.', (copies, run) =>
    copies.backfill(run),
  );
}

function isWell({ stale, missing, extra, repaired, pending }: CopiesReport): boolean {
  return stale + missing + extra <= repaired && pending === 0;
}
