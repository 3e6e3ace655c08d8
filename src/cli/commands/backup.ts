/** `rowan backup|restore|backups` (docs/tools.md). */

import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { withCheckpoint } from '../../store/backup.js';
import { coreOf, EmbeddedEngine, openEmbedded } from '../../store/engine.js';
import type { Engine } from '../../table/index.js';
import {
  type BackupOutcome,
  backupTables,
  listBackups,
  planRestore,
  restoreTables,
} from '../../tools/index.js';
import { type CliContext, withProgress } from '../context.js';
import { withEngines } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';
import { PLACE, runOptions } from './tools.js';

interface BackupFlags {
  readonly tables?: string;
  readonly incremental?: boolean;
  readonly to?: string;
  readonly json?: boolean;
  readonly rate?: string;
  readonly parallel?: string;
  readonly progress?: boolean;
}

export function addBackupCommands(program: Command, context: CliContext): void {
  program
    .command('backup')
    .description('Adds a backup of tables to a folder, or finishes an interrupted one.')
    .argument('<place>', PLACE)
    .argument('<folder>', 'the folder of backups; created if missing')
    .option('--tables <list>', 'only these tables, separated by commas; default: all')
    .option('--incremental', 'only cells with a timestamp since the last backup')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar')
    .action((place: string, folder: string, flags: BackupFlags) =>
      withEngines([{ place }], async ([engine]) => {
        const outcome = await atOneMoment(engine!, (readFrom) =>
          withProgress(flags, (onProgress) =>
            backupTables(engine!, folder, {
              ...tablesOf(flags),
              incremental: flags.incremental === true,
              readFrom,
              run: runOptions(flags, onProgress),
            }),
          ),
        );
        report(context, flags, outcome);
      }),
    );
  program
    .command('restore')
    .description('Restores the tables of a backup into a store or cluster.')
    .argument('<place>', PLACE)
    .argument('<folder>', 'the folder of backups')
    .option(
      '--tables <list>',
      'only these tables, separated by commas; default: all tables of the backup, into a store without rowan_changes',
    )
    .option('--to <backup>', 'restore the state of this backup; default: the last one')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar')
    .action(async (place: string, folder: string, flags: BackupFlags) => {
      const wanted = { ...tablesOf(flags), ...(flags.to !== undefined && { to: flags.to }) };
      // Before the place is opened, since that makes a store.
      await planRestore(folder, wanted);
      await withEngines([{ place, mayMake: true }], async ([engine]) => {
        const outcome = await withProgress(flags, (onProgress) =>
          restoreTables(engine!, folder, { ...wanted, run: runOptions(flags, onProgress) }),
        );
        report(context, flags, outcome);
      });
    });
  program
    .command('backups')
    .description('Lists the backups of a folder.')
    .argument('<folder>', 'the folder of backups')
    .option('--json', 'print the list as JSON')
    .action(async (folder: string, { json }: { readonly json?: boolean }) => {
      if (json === true) return context.write(`${JSON.stringify(await listBackups(folder))}\n`);
      for (const { name, begun, tables } of await listBackups(folder)) {
        const names = tables.map((table) => toStringBinary(Buffer.from(table))).join(' ');
        context.write(`${name}\t${new Date(begun).toISOString()}\t${names}\n`);
      }
    });
}

function tablesOf({ tables }: BackupFlags): { readonly tables?: readonly string[] } {
  return tables === undefined ? {} : { tables: tables.split(',') };
}

function report(context: CliContext, flags: BackupFlags, outcome: BackupOutcome): void {
  const { backup, rows, cells, leftOut = [] } = outcome;
  if (flags.json === true) context.write(`${JSON.stringify(outcome)}\n`);
  else {
    const left = leftOut.map((table) => `left out\t${table}\n`).join('');
    context.write(`backup\t${backup.name}\nrows\t${rows}\ncells\t${cells}\n${left}`);
  }
}

/** Runs `use` with a checkpoint of an embedded store, so that all tables are consistent with each other. */
async function atOneMoment<T>(engine: Engine, use: (source: Engine) => Promise<T>): Promise<T> {
  if (!(engine instanceof EmbeddedEngine)) return use(engine);
  return withCheckpoint(coreOf(engine), async (folder) => {
    // Without compactions of its own, which would drop what the store still has.
    const source = await openEmbedded(folder, { automatic: false, ...encryptionFromEnvironment() });
    try {
      return await use(source);
    } finally {
      await source.close();
    }
  });
}
