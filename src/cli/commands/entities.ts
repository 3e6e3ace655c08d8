import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { type Command, Option } from 'commander';
import type { Database } from '../../database.js';
import { InvalidArgumentError } from '../../errors.js';
import type { FileFormatName } from '../../job/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { EntitySchema } from '../../schema/types.js';
import { type EntityExportOptions, exportEntities, importEntities } from '../../tools/index.js';
import type { ParsedQuery } from '../../validation/index.js';
import { type CliContext, withProgress } from '../context.js';
import { type EngineTarget, looking, withDatabase } from '../databases.js';
import { entityNamed, loadSchema } from '../load-entities.js';
import { PLACE, printOutcome, runOptions } from './tools.js';

interface EntityFlags {
  readonly name?: string;
  readonly json?: boolean;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly progress?: boolean;
  readonly skipBadLines?: boolean;
  readonly format?: FileFormatName;
  readonly separator?: string;
  readonly where?: readonly string[];
}

/** `rowan entities export|import` (docs/tools.md). */
export function addEntityCommands(program: Command, context: CliContext): void {
  const entities = program
    .command('entities')
    .description('Exports and imports entities as files of NDJSON, CSV, Avro or Parquet.');
  command(entities, 'export', 'Writes the entities of a class into files of a folder.')
    .argument('<folder>', 'the folder; created if missing')
    .option(
      '--where <condition>',
      "only entities that meet it, status=open or 'total[gte]=10'; may be repeated",
      (condition: string, before: readonly string[] = []) => [...before, condition],
    )
    .action((place: string, module: string, name: string, folder: string, flags: EntityFlags) =>
      withEntity(place, module, name, { readOnly: looking(context) }, async (db, entity) => {
        const { key, where } = await conditionsOf(entity, flags.where ?? []);
        const query = db
          .repository(entity.target as KeyedClass)
          .find(key as never, { fullScan: true })
          .where(where);
        const outcome = await withProgress(flags, (onProgress) =>
          exportEntities(db.engine, query, entity, folder, {
            ...optionsOf(flags, [folder]),
            run: runOptions(flags, onProgress),
          }),
        );
        printOutcome(context, flags.json === true, outcome);
      }),
    );
  command(entities, 'import', 'Puts one entity for each line, record, value or row of the files.')
    .argument('<files...>', 'files, or a folder that the export wrote')
    .option('--skip-bad-lines', 'count and print invalid lines; default: stop at the first one')
    .action((place: string, module: string, name: string, files: readonly string[], flags: EntityFlags) =>
      withEntity(place, module, name, { mayMake: true }, async (db, entity) => {
        const outcome = await withProgress(flags, (onProgress) =>
          importEntities(db.engine, db.repository(entity.target as KeyedClass), entity, files, {
            ...optionsOf(flags, files),
            run: runOptions(flags, onProgress),
            skipBadLines: flags.skipBadLines === true,
            onBadLine: ({ file, offset, why }) => context.writeError(`${file}\t${offset}\t${why}\n`),
          }),
        );
        printOutcome(context, flags.json === true, outcome);
      }),
    );
}

/** Conditions as queries of HTTP have them, `property=value` or `property[operator]=value`, without escapes. */
async function conditionsOf(
  { name, target }: EntitySchema,
  texts: readonly string[],
): Promise<ParsedQuery<KeyedClass>> {
  const allow = new Set<string>();
  const values = new Map<string, string[]>();
  for (const text of texts) {
    const [, condition = '', property = '', value = ''] = /^(([^[=]+)[^=]*)=(.*)$/s.exec(text) ?? [];
    if (property === '') {
      throw new InvalidArgumentError(
        `--where ${text}: give a property of ${name} and a value, as status=open or 'total[gte]=10'.`,
        { details: { entity: name } },
      );
    }
    allow.add(property);
    values.set(condition, [...(values.get(condition) ?? []), value]);
  }
  const { parseQuery } = await import('../../validation/index.js');
  const rules = { allow: [...allow] as never[], ...UNBOUNDED };
  return parseQuery(target as KeyedClass, Object.fromEntries(values), rules);
}

/** Limits are for clients of a server. */
const UNBOUNDED = {
  maxConditions: Number.MAX_SAFE_INTEGER,
  maxValues: Number.MAX_SAFE_INTEGER,
  maxLength: Number.MAX_SAFE_INTEGER,
} as const;

function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .argument('<place>', PLACE)
    .argument('<module>', 'path of the compiled module of the entities')
    .argument('<entity>', "the entity's name")
    .addOption(
      new Option(
        '--format <format>',
        'format of the files; default: that of their names, as orders.csv, else ndjson',
      ).choices(FORMATS),
    )
    .option('--separator <character>', 'separator of CSV fields; default: a comma')
    .option('--name <name>', 'name of the job, by which it can be resumed')
    .option('--rate <rows>', 'limit in rows per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--restart', 'start over, even if an earlier run did not finish')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar');
}

const FORMATS: readonly FileFormatName[] = ['ndjson', 'csv', 'avro', 'parquet'];

/** The format that all names end with, or the files of a folder do; undefined when they say none, or several. */
function formatOf(paths: readonly string[]): FileFormatName | undefined {
  const named = new Set(paths.map(formatNamed));
  const found = named.has(undefined) ? new Set(paths.flatMap(namesIn).map(formatNamed)) : named;
  const formats = FORMATS.filter((format) => found.has(format));
  return formats.length === 1 ? formats[0] : undefined;
}

const formatNamed = (path: string): FileFormatName | undefined =>
  FORMATS.find((format) => extname(path) === `.${format}`);

/** The names in a folder; of another path its own name. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    // A file, or a path that is not there: what reads it says so.
    return [path];
  }
}

function optionsOf({ name, format, separator }: EntityFlags, paths: readonly string[]): EntityExportOptions {
  return {
    ...(name === undefined ? {} : { name }),
    format: format ?? formatOf(paths) ?? 'ndjson',
    ...(separator === undefined ? {} : { separator }),
  };
}

async function withEntity(
  place: string,
  module: string,
  name: string,
  how: Omit<EngineTarget, 'place'>,
  use: (db: Database, entity: EntitySchema) => Promise<void>,
): Promise<void> {
  const schema = await loadSchema(module);
  const { target } = entityNamed(schema, name);
  await withDatabase(place, schema, how, (db) => use(db, db.schema.entity(target)));
}
