/** `rowan importtsv` (docs/tools.md), and the options of delimited text, which `rowan bulkload` takes too. */

import { type Command, Option } from 'commander';
import { importTsv, type TsvOptions } from '../../tools/index.js';
import { type CliContext, withProgress } from '../context.js';
import { withEngines } from '../databases.js';
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

export function addImportTsvCommand(program: Command, context: CliContext): void {
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
}
