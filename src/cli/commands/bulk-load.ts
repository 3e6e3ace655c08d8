/** `rowan bulkload`: files into a table, past log and memory (docs/bulk-load.md). */

import { type Command, Option } from 'commander';
import { type BulkFormat, bulkLoadFiles } from '../../job/tools/index.js';
import type { CliContext } from '../context.js';
import { withEngines } from '../engines.js';
import { withProgress } from '../progress.js';
import { type TsvFlags, tsvFlags, tsvOptions } from './backup.js';
import { PLACE, printOutcome, runOptions } from './tools.js';

interface BulkFlags extends TsvFlags {
  readonly format: BulkFormat;
  readonly folder: string;
  readonly uri?: string;
  readonly compression: 'NONE' | 'GZ';
  readonly create?: boolean;
  readonly name?: string;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

export function addBulkLoadCommand(program: Command, context: CliContext): void {
  const command = program
    .command('bulkload')
    .description('Sorts the cells of files and loads them into a table as files, past log and memory.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .argument('<files...>', 'files, or folders of them')
    .addOption(
      new Option(
        '--format <format>',
        "rowan export's, sequence files of HBase's Export, HFiles, or delimited text",
      )
        .choices(['rowan', 'hbase', 'hfile', 'tsv'])
        .makeOptionMandatory(),
    )
    .requiredOption(
      '--folder <folder>',
      'where cells are sorted; of HBase a folder that its region servers can read and move files from',
    )
    .option('--uri <uri>', 'that folder as the region servers name it; default: file:// and its path')
    .addOption(
      new Option('--compression <name>', "of HBase's files").choices(['NONE', 'GZ']).default('NONE'),
    );
  tsvFlags(command, false)
    .option('--create', 'of delimited text: make the table when it is not there')
    .option('--name <name>', 'name of the job, under which it can be gone on with')
    .option('--rate <rows>', 'at most so many rows a second')
    .option('--parallel <n>', 'files, or pieces of text, that are sorted at the same time; default 4')
    .option('--restart', 'from the beginning, though an earlier run did not end')
    .option('--json', 'the outcome as JSON')
    .option('--no-progress', 'no progress bar')
    .action((place: string, table: string, files: readonly string[], flags: BulkFlags) =>
      withEngines([{ place, mayMake: flags.create === true }], async ([engine]) => {
        const { format, folder, uri, compression, name, create } = flags;
        const outcome = await withProgress(flags, (onProgress) =>
          bulkLoadFiles(engine!, table, files, {
            format,
            folder,
            compression,
            ...(uri === undefined ? {} : { uri }),
            ...(name === undefined ? {} : { name }),
            ...(flags.columns === undefined ? {} : { tsv: tsvOptions(context, flags) }),
            create: create === true,
            run: runOptions(flags, onProgress),
          }),
        );
        printOutcome(context, flags.json === true, outcome);
      }),
    );
}
