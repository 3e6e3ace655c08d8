/** `rowan importtsv|backup|restore` (docs/tools.md). */

import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import {
  type BackupOutcome,
  backupTables,
  importTsv,
  listBackups,
  restoreTables,
} from '../../job/tools/index.js';
import { EmbeddedEngine, openEmbedded } from '../../store/engine.js';
import type { Engine } from '../../table/index.js';
import type { CliContext } from '../context.js';
import { withEngines } from '../engines.js';
import { PLACE, printOutcome, wholeNumber } from './tools.js';

interface TsvFlags {
  readonly columns: string;
  readonly separator?: string;
  readonly timestamp?: string;
  readonly strict?: boolean;
  readonly skipEmptyColumns?: boolean;
  readonly logBadLines?: boolean;
  readonly dryRun?: boolean;
  readonly create?: boolean;
  readonly name?: string;
  readonly json?: boolean;
}

interface BackupFlags {
  readonly tables?: string;
  readonly incremental?: boolean;
  readonly to?: string;
  readonly json?: boolean;
}

export function addBackupCommands(program: Command, context: CliContext): void {
  program
    .command('importtsv')
    .description('Reads lines of delimited text into a table.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .argument('<files...>', 'the files')
    .addOption(
      new Option(
        '--columns <list>',
        'what each column is, with commas between: HBASE_ROW_KEY, family:qualifier, HBASE_TS_KEY, HBASE_CELL_TTL',
      ).makeOptionMandatory(),
    )
    .option('--separator <character>', 'what stands between columns; default: tab')
    .option('--timestamp <ms>', 'of all cells whose line has none; default: when the job was begun')
    .option('--strict', 'end at the first line that cannot be read; default: count such lines')
    .option('--skip-empty-columns', 'an empty column writes nothing')
    .option('--log-bad-lines', 'print where each line is that cannot be read')
    .option('--dry-run', 'only count what would be written')
    .option('--create', 'make the table when it is not there')
    .option('--name <name>', 'name of the job, under which it can be gone on with')
    .option('--json', 'the outcome as JSON')
    .action((place: string, table: string, files: readonly string[], flags: TsvFlags) =>
      withEngines([{ place, mayMake: flags.create === true }], async ([engine]) => {
        const outcome = await importTsv(engine!, table, files, {
          columns: flags.columns.split(','),
          ...(flags.separator === undefined ? {} : { separator: flags.separator }),
          ...(flags.timestamp === undefined
            ? {}
            : { timestamp: wholeNumber('--timestamp', flags.timestamp) }),
          ...(flags.name === undefined ? {} : { name: flags.name }),
          skipBadLines: flags.strict !== true,
          skipEmptyColumns: flags.skipEmptyColumns === true,
          dryRun: flags.dryRun === true,
          create: flags.create === true,
          onBadLine: ({ file, offset, why }) => {
            if (flags.logBadLines === true) context.writeError(`${file}\t${offset}\t${why}\n`);
          },
        });
        printOutcome(context, flags.json === true, outcome);
      }),
    );
  program
    .command('backup')
    .description('Adds a backup of tables to a folder; goes on with one that was left unfinished.')
    .argument('<place>', PLACE)
    .argument('<folder>', 'the folder of backups; it is made when it is not there')
    .option('--tables <list>', 'only these, with commas between; default: all')
    .option('--incremental', 'only what has a timestamp since the last backup')
    .option('--json', 'the outcome as JSON')
    .action((place: string, folder: string, flags: BackupFlags) =>
      withEngines([{ place }], async ([engine]) => {
        const outcome = await atOneMoment(engine!, place, (readFrom) =>
          backupTables(engine!, folder, {
            ...tablesOf(flags),
            incremental: flags.incremental === true,
            readFrom,
          }),
        );
        report(context, flags, outcome);
      }),
    );
  program
    .command('restore')
    .description('Puts the tables of a backup into a store or cluster.')
    .argument('<place>', PLACE)
    .argument('<folder>', 'the folder of backups')
    .option('--tables <list>', 'only these, with commas between; default: all of the backup')
    .option('--to <backup>', 'the state of this backup; default: the last one')
    .option('--json', 'the outcome as JSON')
    .action((place: string, folder: string, flags: BackupFlags) =>
      withEngines([{ place, mayMake: true }], async ([engine]) => {
        const to = flags.to === undefined ? {} : { to: flags.to };
        report(context, flags, await restoreTables(engine!, folder, { ...tablesOf(flags), ...to }));
      }),
    );
  program
    .command('backups')
    .description('Lists the backups of a folder.')
    .argument('<folder>', 'the folder of backups')
    .action(async (folder: string) => {
      for (const { name, begun, tables } of await listBackups(folder)) {
        const names = tables.map((table) => toStringBinary(Buffer.from(table))).join(' ');
        context.write(`${name}\t${new Date(begun).toISOString()}\t${names}\n`);
      }
    });
}

function tablesOf({ tables }: BackupFlags): { readonly tables?: readonly string[] } {
  return tables === undefined ? {} : { tables: tables.split(',') };
}

function report(context: CliContext, flags: BackupFlags, { backup, rows, cells }: BackupOutcome): void {
  if (flags.json === true) context.write(`${JSON.stringify({ backup, rows, cells })}\n`);
  else context.write(`backup\t${backup.name}\nrows\t${rows}\ncells\t${cells}\n`);
}

/** Runs `use` with a checkpoint of an embedded store, so that it sees all tables as they were at one moment. */
async function atOneMoment<T>(
  engine: Engine,
  place: string,
  use: (source: Engine) => Promise<T>,
): Promise<T> {
  if (!(engine instanceof EmbeddedEngine)) return use(engine);
  // Beside the store, so that its files can be linked.
  const folder = await mkdtemp(`${resolve(place)}-backup-`);
  try {
    await engine.checkpoint(join(folder, 'store'));
    const source = await openEmbedded(join(folder, 'store'));
    try {
      return await use(source);
    } finally {
      await source.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
