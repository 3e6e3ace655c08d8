/** `rowan count|cells|export|import|copy|hash|verify|sync`: work over whole tables, on either engine (docs/tools.md). */

import { type Command, Option } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { JobOutcome, JobRunOptions } from '../../job/types.js';
import {
  copyTable,
  countCells,
  countRows,
  exportTable,
  hashTable,
  importTable,
  syncTables,
  type ToolOptions,
  type VerifyOptions,
  verifyTables,
} from '../../tools/index.js';
import { type CliContext, withProgress } from '../context.js';
import { type EngineTarget, looking, withEngines } from '../databases.js';

/** The command-line options common to all tools. */
interface ToolFlags {
  readonly name?: string;
  readonly families?: string;
  readonly from?: string;
  readonly to?: string;
  readonly versions?: string;
  readonly raw?: boolean;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

function comparedPlaces(context: CliContext, ...places: readonly string[]): EngineTarget[] {
  return places.map((place) => ({ place, readOnly: looking(context) }));
}

export function addToolCommands(program: Command, context: CliContext): void {
  tool(program, 'count', 'Counts the rows of a table.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .action((place: string, table: string, flags: ToolFlags) =>
      withEngines([{ place, readOnly: looking(context) }], async ([engine]) =>
        report(context, flags, (options) => countRows(engine!, table, options)),
      ),
    );
  tool(program, 'cells', 'Counts rows, cells and bytes of a table, by family and column.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .action((place: string, table: string, flags: ToolFlags) =>
      withEngines([{ place, readOnly: looking(context) }], async ([engine]) =>
        report(context, flags, (options) => countCells(engine!, table, options)),
      ),
    );
  tool(program, 'export', 'Exports a table into a folder, with every version and delete marker.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .argument('<folder>', 'the folder; created if missing')
    .addOption(exportFormat())
    .action((place: string, table: string, folder: string, flags: ToolFlags & ExportFormat) =>
      withEngines([{ place, readOnly: looking(context) }], async ([engine]) =>
        report(context, flags, (options) =>
          exportTable(engine!, table, folder, { ...options, format: flags.format }),
        ),
      ),
    );
  tool(program, 'import', "Imports a folder that `rowan export`, or HBase's Export, wrote into a table.")
    .argument('<place>', PLACE)
    .argument('<folder>', 'the folder')
    .addOption(exportFormat())
    .argument('[table]', 'the table; default: the one that was exported')
    .option('--create', 'create the table if it is missing')
    .action(
      (
        place: string,
        folder: string,
        table: string | undefined,
        flags: ToolFlags & ExportFormat & { create?: boolean },
      ) =>
        withEngines([{ place, mayMake: flags.create === true }], async ([engine]) =>
          report(context, flags, ({ name, run }) =>
            importTable(engine!, folder, {
              ...(table === undefined ? {} : { table }),
              ...(name === undefined ? {} : { name }),
              create: flags.create === true,
              format: flags.format,
              run: run ?? {},
            }),
          ),
        ),
    );
  tool(
    program,
    'copy',
    'Copies a table, with every version and delete marker, to another table on the same or another engine.',
  )
    .argument('<place>', PLACE)
    .argument('<table>', 'the table to read')
    .argument('<target-place>', 'the place of the other table')
    .argument('<target-table>', 'the table to write')
    .option('--create', 'create a missing target with the families and regions of the source')
    .action(
      (
        place: string,
        table: string,
        targetPlace: string,
        targetTable: string,
        flags: ToolFlags & { create?: boolean },
      ) =>
        withEngines(
          [{ place }, { place: targetPlace, mayMake: flags.create === true }],
          async ([source, target]) =>
            report(context, flags, (options) =>
              copyTable(
                { engine: source!, table },
                { engine: target!, table: targetTable },
                { ...options, create: flags.create === true },
              ),
            ),
        ),
    );
  tool(program, 'hash', 'Writes hashes of the rows of a table into a folder, for verify and sync.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .argument('<folder>', 'the folder; created if missing')
    .option('--chunk-bytes <n>', 'bytes of cells in one hash; default 65536')
    .action((place: string, table: string, folder: string, flags: ToolFlags & { chunkBytes?: string }) =>
      withEngines([{ place, readOnly: looking(context) }], async ([engine]) =>
        report(context, flags, (options) =>
          hashTable(engine!, table, folder, {
            ...options,
            ...(flags.chunkBytes === undefined
              ? {}
              : { chunkBytes: wholeNumber('--chunk-bytes', flags.chunkBytes) }),
          }),
        ),
      ),
    );
  twoTables(program, 'verify', 'Compares two tables cell by cell; exit code 1 if they differ.').action(
    (place: string, table: string, otherPlace: string, otherTable: string, flags: ComparisonFlags) =>
      withEngines(comparedPlaces(context, place, otherPlace), async ([first, second]) => {
        const { counters } = await report(context, flags, (options) =>
          verifyTables(
            { engine: first!, table },
            { engine: second!, table: otherTable },
            { ...options, ...comparisonOptions(context, flags) },
          ),
        );
        const differences = differencesOf(counters);
        if (differences > 0) {
          throw new InvalidArgumentError(
            `The tables differ in ${differences} rows. \`rowan sync\` makes the second equal to the first.`,
          );
        }
      }),
  );
  twoTables(program, 'sync', 'Makes the second table equal to the first; exit code 1 if rows still differ.')
    .option('--dry-run', 'only list differing rows')
    .option('--no-puts', 'do not write missing cells')
    .option('--no-deletes', 'do not delete extra cells')
    .action((place: string, table: string, otherPlace: string, otherTable: string, flags: SyncFlags) =>
      withEngines([{ place }, { place: otherPlace }], async ([first, second]) => {
        const tables = [
          { engine: first!, table },
          { engine: second!, table: otherTable },
        ] as const;
        const { counters } = await report(context, flags, (options) => {
          const compared = { ...options, ...comparisonOptions(context, flags) };
          if (flags.dryRun === true) return verifyTables(...tables, compared);
          return syncTables(...tables, {
            ...compared,
            puts: flags.puts !== false,
            deletes: flags.deletes !== false,
          });
        });
        const left = differencesOf(counters) - (counters['repaired'] ?? 0);
        if (left > 0) {
          throw new InvalidArgumentError(
            `${left} rows still differ: the options exclude their changes, or delete markers of the second table hide the ` +
              'written cells. Run a major compaction of it, then sync again.',
          );
        }
      }),
    );
}

interface ExportFormat {
  readonly format: 'rowan' | 'hbase';
}

function exportFormat(): Option {
  return new Option(
    '--format <format>',
    "format of the files: Rowan's, or sequence files of HBase's Export and Import",
  )
    .choices(['rowan', 'hbase'])
    .default('rowan');
}

interface ComparisonFlags extends ToolFlags {
  readonly hashes?: string;
}

interface SyncFlags extends ComparisonFlags {
  readonly dryRun?: boolean;
  readonly puts?: boolean;
  readonly deletes?: boolean;
}

function twoTables(program: Command, name: string, description: string): Command {
  return tool(program, name, description)
    .argument('<place>', PLACE)
    .argument('<table>', 'the first table')
    .argument('<other-place>', 'the place of the other table')
    .argument('<other-table>', 'the other table')
    .option(
      '--hashes <folder>',
      'hashes that `rowan hash` wrote for the first table, which is then read only where hashes differ',
    );
}

function comparisonOptions(context: CliContext, { hashes }: ComparisonFlags): VerifyOptions {
  return {
    ...(hashes === undefined ? {} : { hashes }),
    onDifference: ({ row, kind }) => context.writeError(`${kind}\t${toStringBinary(row)}\n`),
  };
}

function differencesOf(counters: JobOutcome['counters']): number {
  return ['missing', 'extra', 'different'].reduce((sum, kind) => sum + (counters[kind] ?? 0), 0);
}

export const PLACE =
  'the folder of an embedded store, hbase:host:port,host:port, or bigtable:project/instance';

function tool(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--name <name>', 'name of the job, by which it can be resumed')
    .option('--families <list>', 'only these families, separated by commas')
    .option('--from <ms>', 'only cells from this timestamp on')
    .option('--to <ms>', 'only cells before this timestamp')
    .option('--versions <n>', 'only the newest versions of each column')
    .option('--raw', 'include delete markers and what they hide')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--restart', 'start over, even if an earlier run did not finish')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar');
}

async function report(
  context: CliContext,
  flags: ToolFlags,
  run: (options: ToolOptions) => Promise<JobOutcome>,
): Promise<JobOutcome> {
  const outcome = await withProgress(flags, (onProgress) => run(toolOptions(flags, onProgress)));
  printOutcome(context, flags.json === true, outcome);
  return outcome;
}

/** Prints the counters of a tool, or the rows that it read where it counted nothing; with `--json` its whole result. */
export function printOutcome(context: CliContext, json: boolean, outcome: JobOutcome): void {
  if (json) context.write(`${JSON.stringify(outcome)}\n`);
  else {
    const counted = Object.entries(outcome.counters);
    if (counted.length === 0) counted.push(['rows', outcome.rows]);
    for (const [name, sum] of counted) context.write(`${name}\t${sum}\n`);
  }
}

function toolOptions(flags: ToolFlags, onProgress: JobRunOptions['onProgress']): ToolOptions {
  const { name, families, from, to, versions } = flags;
  return {
    ...(name === undefined ? {} : { name }),
    ...(families === undefined ? {} : { families: families.split(',') }),
    ...(versions === undefined ? {} : { versions: wholeNumber('--versions', versions) }),
    ...(flags.raw === true ? { raw: true } : {}),
    ...(from === undefined && to === undefined
      ? {}
      : {
          timeRange: {
            from: from === undefined ? 0 : wholeNumber('--from', from),
            to: to === undefined ? Number.MAX_SAFE_INTEGER : wholeNumber('--to', to),
          },
        }),
    run: runOptions(flags, onProgress),
  };
}

/** The job options given on the command line. */
export function runOptions(
  { rate, parallel, restart }: Pick<ToolFlags, 'rate' | 'parallel' | 'restart'>,
  onProgress: JobRunOptions['onProgress'],
): JobRunOptions {
  return {
    ...(rate === undefined ? {} : { rowsPerSecond: wholeNumber('--rate', rate) }),
    ...(parallel === undefined ? {} : { parallel: wholeNumber('--parallel', parallel) }),
    ...(restart === true ? { restart: true } : {}),
    ...(onProgress === undefined ? {} : { onProgress }),
  };
}

/**
 * Parses a whole number.
 * @throws InvalidArgumentError naming the flag.
 */
export function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError(`${flag} takes a whole number, not "${text}".`);
}
