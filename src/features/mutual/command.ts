import type { Command } from 'commander';
import { addEntityJob } from '../../cli/commands/entity-job.js';
import type { CliContext } from '../../cli/context.js';
import { InvalidArgumentError } from '../../errors.js';
import type { KeyedClass } from '../../schema/entity-types.js';

/** `rowan mutual check|repair`: both rows of mutual links (docs/relations.md). */
export function addMutualCommands(program: Command, context: CliContext): void {
  const commands = program.command('mutual').description('Checks and repairs both rows of mutual links.');
  const add = (name: 'check' | 'repair', description: string): void =>
    addEntityJob(commands, context, {
      name,
      description,
      chosen: ({ mutual }) => mutual !== undefined,
      none: (entity) =>
        new InvalidArgumentError(
          `${entity ?? 'The module'} is not mutual. Declare the two parts of the key: @Entity({ table, mutual: ['person', 'friend'] }).`,
        ),
      work: async (db, entity, run) => {
        const report = await db.mutual(entity.target as KeyedClass)[name](run);
        return { counts: { ...report }, well: report.stale + report.missing <= report.repaired };
      },
    });
  add('check', 'Compares both rows of every link; exit code 1 if one is missing or differs.');
  add('repair', 'Like check, and writes missing rows; of two that differ the first counts.');
}
