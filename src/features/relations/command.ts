import type { Command } from 'commander';
import { addEntityJob } from '../../cli/commands/entity-job.js';
import type { CliContext } from '../../cli/context.js';
import { InvalidArgumentError } from '../../errors.js';
import type { JobRunOptions } from '../../job/types.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { ReferenceHandle } from './handle.js';

/** `rowan references check|repair|backfill`: referential rules of relations (docs/relations.md). */
export function addReferenceCommands(program: Command, context: CliContext): void {
  const commands = program
    .command('references')
    .description('Checks, repairs and backfills referential rules of relations.');
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
  add('check', 'Counts rows with dangling references; exit code 1 if there are any.', (rules, run) =>
    rules.check(run),
  );
  add(
    'repair',
    'Like check, and applies the rules cascade and setNull to them; exit code 1 if any are left.',
    (rules, run) => rules.repair(run),
  );
  add(
    'backfill',
    'Builds the indexes by which deletes find referencing rows, and checks; for a new rule.',
    (rules, run) => rules.backfill(run),
  );
}
