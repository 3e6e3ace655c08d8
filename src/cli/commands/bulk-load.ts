import { type Command, Option } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { BulkCompression, Engine } from '../../table/index.js';
import { type BulkFormat, type BulkLoadToolOptions, bulkLoadFiles } from '../../tools/index.js';
import { type CliContext, withProgress } from '../context.js';
import { withDatabase, withEngines } from '../databases.js';
import { entityNamed, loadSchema } from '../load-entities.js';
import { type TsvFlags, textOptions, tsvFlags, tsvOptions } from './import-tsv.js';
import { PLACE, printOutcome, runOptions } from './tools.js';

interface BulkFlags extends TsvFlags {
  readonly format: BulkFormat;
  readonly folder: string;
  readonly uri?: string;
  readonly compression: BulkCompression;
  readonly create?: boolean;
  readonly entities?: string;
  readonly entity?: string;
  readonly name?: string;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

/** `rowan bulkload`: loads files into a table, bypassing WAL and memstore (docs/bulk-load.md). */
export function addBulkLoadCommand(program: Command, context: CliContext): void {
  const command = program
    .command('bulkload')
    .description('Sorts the cells of files and loads them into a table as files, bypassing WAL and memstore.')
    .argument('<place>', PLACE)
    .argument('<table>', 'the table')
    .argument('<files...>', 'files, or folders of them')
    .addOption(
      new Option(
        '--format <format>',
        "files of rowan export, sequence files of HBase's Export, HFiles, text, or files of entities",
      )
        .choices(['rowan', 'hbase', 'hfile', 'tsv', 'csv', 'ndjson', 'avro', 'parquet'])
        .makeOptionMandatory(),
    )
    .requiredOption(
      '--folder <folder>',
      'where cells are sorted; with HBase, a folder whose files its region servers can read and move',
    )
    .option('--uri <uri>', 'the folder as region servers name it; default: file:// and its path')
    .addOption(
      new Option('--compression <name>', "of HBase's files")
        .choices(['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD'])
        .default('NONE'),
    );
  tsvFlags(command, false)
    .option('--create', 'for text formats: create the table if it is missing')
    .option('--entities <module>', 'path of the compiled module of the entities that the files hold')
    .option('--entity <name>', "that entity's name")
    .option('--name <name>', 'name of the job, by which it can be resumed')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'files, or pieces of text files, sorted in parallel; default 4')
    .option('--restart', 'start over, even if an earlier run did not finish')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar')
    .action((place: string, table: string, files: readonly string[], flags: BulkFlags) =>
      flags.entities === undefined && flags.entity === undefined
        ? withEngines([{ place, mayMake: flags.create === true }], ([engine]) =>
            load(context, engine!, table, files, flags, cellsOf(context, flags)),
          )
        : loadEntities(context, place, table, files, flags),
    );
}

/** Options for files that are read without entities. */
function cellsOf(context: CliContext, flags: BulkFlags): Partial<BulkLoadToolOptions> {
  if (flags.format !== 'tsv') return { items: itemsOf(context, flags) };
  return flags.columns === undefined ? {} : { tsv: tsvOptions(context, flags) };
}

function itemsOf(context: CliContext, flags: BulkFlags): NonNullable<BulkLoadToolOptions['items']> {
  return {
    ...textOptions(context, flags),
    ...(flags.columns === undefined ? {} : { columns: flags.columns.split(',') }),
  };
}

async function loadEntities(
  context: CliContext,
  place: string,
  table: string,
  files: readonly string[],
  flags: BulkFlags,
): Promise<void> {
  const { entities, entity: name } = flags;
  if (entities === undefined || name === undefined) {
    throw new InvalidArgumentError(
      'Files of entities need both --entities (the compiled module) and --entity (the name).',
    );
  }
  const schema = await loadSchema(entities);
  const { target } = entityNamed(schema, name);
  await withDatabase(place, schema, { mayMake: flags.create === true }, async (db) => {
    const entity = db.schema.entity(target);
    const own = entity.table.descriptor.name;
    if (own !== table) throw new InvalidArgumentError(`${name} is in table "${own}", not in "${table}".`);
    const repository = db.repository(target as KeyedClass);
    await load(context, db.engine, table, files, flags, {
      items: itemsOf(context, flags),
      entities: { target: repository, schema: entity },
    });
  });
}

async function load(
  context: CliContext,
  engine: Engine,
  table: string,
  files: readonly string[],
  flags: BulkFlags,
  reading: Partial<BulkLoadToolOptions>,
): Promise<void> {
  const { format, folder, uri, compression, name, create } = flags;
  const outcome = await withProgress(flags, (onProgress) =>
    bulkLoadFiles(engine, table, files, {
      ...reading,
      format,
      folder,
      compression,
      ...(uri === undefined ? {} : { uri }),
      ...(name === undefined ? {} : { name }),
      create: create === true,
      run: runOptions(flags, onProgress),
    }),
  );
  printOutcome(context, flags.json === true, outcome);
}
