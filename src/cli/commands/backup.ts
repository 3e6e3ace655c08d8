/** `rowan importtsv|backup|restore` (docs/tools.md). */

import { type Command, Option } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { withCheckpoint } from '../../store/backup.js';
import { coreOf, EmbeddedEngine, openEmbedded } from '../../store/engine.js';
import type { Engine } from '../../table/index.js';
import {
  type BackupOutcome,
  backupTables,
  importTsv,
  listBackups,
  planRestore,
  restoreTables,
  type TsvOptions,
} from '../../tools/index.js';
import { type CliContext, withProgress } from '../context.js';
import { withEngines } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';
import { PLACE, printOutcome, runOptions, wholeNumber } from './tools.js';

export interface TsvFlags {
  readonly columns?: string;
  readonly separator?: string;
  readonly timestamp?: string;
  readonly strict?: boolean;
  readonly skipEmptyColumns?: boolean;
  readonly logBadLines?: boolean;
}

interface ImportTsvFlags extends TsvFlags {
  readonly dryRun?: boolean;
  readonly create?: boolean;
  readonly name?: string;
  readonly json?: boolean;
  readonly rate?: string;
  readonly parallel?: string;
  readonly progress?: boolean;
}

interface BackupFlags {
  readonly tables?: string;
  readonly incremental?: boolean;
  readonly to?: string;
  readonly json?: boolean;
  readonly rate?: string;
  readonly parallel?: string;
  readonly progress?: boolean;
}

/** Adds the options for reading delimited text. */
export function tsvFlags(command: Command, mandatory: boolean): Command {
  const columns = new Option(
    '--columns <list>',
    'the columns of the text, separated by commas: HBASE_ROW_KEY, family:qualifier, HBASE_TS_KEY, HBASE_CELL_TTL',
  );
  return command
    .addOption(mandatory ? columns.makeOptionMandatory() : columns)
    .option('--separator <character>', 'the separator of columns; default: tab')
    .option('--timestamp <ms>', 'timestamp of cells whose line has none; default: the start of the job')
    .option('--strict', 'stop at the first invalid line; default: count invalid lines')
    .option('--skip-empty-columns', 'write no cell for an empty column')
    .option('--log-bad-lines', 'print the position of each invalid line');
}

export function tsvOptions(context: CliContext, flags: TsvFlags): TsvOptions {
  return { columns: (flags.columns ?? '').split(','), ...textOptions(context, flags) };
}

/** The same, without the columns. */
export function textOptions(context: CliContext, flags: TsvFlags): Omit<TsvOptions, 'columns'> {
  return {
    ...(flags.separator === undefined ? {} : { separator: flags.separator }),
    ...(flags.timestamp === undefined ? {} : { timestamp: wholeNumber('--timestamp', flags.timestamp) }),
    skipBadLines: flags.strict !== true,
    skipEmptyColumns: flags.skipEmptyColumns === true,
    onBadLine: ({ file, offset, why }) => {
      if (flags.logBadLines === true) context.writeError(`${file}\t${offset}\t${why}\n`);
    },
  };
}

export function addBackupCommands(program: Command, context: CliContext): void {
  tsvFlags(
    program
      .command('importtsv')
      .description('Imports lines of delimited text into a table.')
      .argument('<place>', PLACE)
      .argument('<table>', 'the table')
      .argument('<files...>', 'the files'),
    true,
  )
    .option('--dry-run', 'only count what would be written')
    .option('--create', 'create the table if it is missing')
    .option('--name <name>', 'name of the job, by which it can be resumed')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar')
    .action((place: string, table: string, files: readonly string[], flags: ImportTsvFlags) =>
      withEngines([{ place, mayMake: flags.create === true }], async ([engine]) => {
        const outcome = await withProgress(flags, (onProgress) =>
          importTsv(engine!, table, files, {
            ...tsvOptions(context, flags),
            ...(flags.name === undefined ? {} : { name: flags.name }),
            dryRun: flags.dryRun === true,
            create: flags.create === true,
            run: runOptions(flags, onProgress),
          }),
        );
        printOutcome(context, flags.json === true, outcome);
      }),
    );
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
