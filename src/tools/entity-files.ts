/** Entities in files of NDJSON, CSV, Avro or Parquet: out of a query into a folder, and out of files into a repository. */

import { InvalidArgumentError, RowanError } from '../errors.js';
import { JobBuilder } from '../job/pipeline/pipeline.js';
import type { PutTarget } from '../job/pipeline/sink.js';
import {
  type FileFormatName,
  type FileItem,
  fileItems,
  type JobQuery,
  type JobSource,
} from '../job/pipeline/source.js';
import { runJob } from '../job/runner.js';
import { toolJobName, toolRun } from '../job/table-pass.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../job/types.js';
import type { EntitySchema } from '../schema/types.js';
import type { Engine, Result } from '../table/index.js';
import { type EntityFormat, entityFormat } from './entity-formats.js';

export interface EntityExportOptions {
  /** The job's name, under which it can be resumed; default: the tool and the entity. */
  readonly name?: string;
  /** Default `ndjson`. */
  readonly format?: FileFormatName;
  /** Of CSV: one character between fields. Default `,`. */
  readonly separator?: string;
  readonly run?: JobRunOptions;
}

export interface EntityImportOptions extends EntityExportOptions {
  /** What is no entity is counted (`bad lines`) and passed over; false: the first ends the job. Default false. */
  readonly skipBadLines?: boolean;
  /** Called for each such line; those behind the last checkpoint come again when a job is resumed. */
  readonly onBadLine?: (bad: {
    readonly file: string;
    readonly offset: number;
    readonly why: string;
  }) => void;
}

/**
 * Writes each entity of a query into `part-<split>.<format>` of the folder: as a line of JSON as `toPlain` has it, a record of CSV, a
 * value of Avro, or a row of Parquet. Each stands there once, whatever was interrupted. Counter: `entities`.
 * @throws InvalidArgumentError, SchemaError when the format is none or has no names for the properties.
 */
export async function exportEntities(
  engine: Engine,
  query: JobQuery<object>,
  entity: EntitySchema,
  folder: string,
  options: EntityExportOptions = {},
): Promise<JobOutcome> {
  const format = entityFormat(options.format ?? 'ndjson', entity, options.separator);
  return new JobBuilder(engine, options.name ?? toolJobName('export-entities', entity.name))
    .from(query)
    .map<number, unknown>((found, emit, context) => {
      context.count('entities');
      emit(0, format.toItem(found as Readonly<Record<string, unknown>>));
    })
    .to(format.sink(folder))
    .run(toolRun(options.run));
}

/**
 * Puts an entity for each line, record, value or row of the files; of a folder that `exportEntities` wrote, all of its files. Putting one
 * twice is putting it once. Counters: `entities`, `bad lines`.
 * @throws InvalidArgumentError naming file and byte of what is no entity, unless such lines are skipped; CorruptionError.
 */
export async function importEntities(
  engine: Engine,
  target: PutTarget<object>,
  entity: EntitySchema,
  paths: readonly string[],
  options: EntityImportOptions = {},
): Promise<JobOutcome> {
  const { format = 'ndjson', separator } = options;
  const entities = entityFormat(format, entity, separator);
  const source = await fileItems(format, paths, separator === undefined ? {} : { separator });
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('import-entities', entity.name),
      signature: `import entities ${entity.name} ${source.signature}`,
      phases: [
        {
          ...source,
          open: (context) => ({
            async rows(rows) {
              const found = rows.flatMap((row) =>
                entityOf(row, source, entities, entity.name, context, options),
              );
              if (found.length > 0) await target.putMany(found);
              context.count('entities', found.length);
            },
          }),
        },
      ],
    },
    toolRun(options.run),
  );
}

/** The entity of an item; none of an empty line, nor of a bad one that is passed over. */
export function entityOf(
  row: Result,
  source: JobSource<FileItem>,
  format: EntityFormat,
  name: string,
  context: SplitContext,
  options: Pick<EntityImportOptions, 'skipBadLines' | 'onBadLine'>,
): object[] {
  const item = source.load(row) as FileItem | null;
  if (item === null) return [];
  try {
    return [format.fromItem(item.read())];
  } catch (error) {
    if (!(error instanceof RowanError || error instanceof SyntaxError)) throw error;
    const { path, offset, place } = item;
    if (options.skipBadLines !== true) {
      throw new InvalidArgumentError(
        `What begins at ${place} of ${path} is no ${name}: ${error.message} Mend it, or let bad lines be skipped.`,
        { cause: error, details: { file: path, offset } },
      );
    }
    context.count('bad lines');
    options.onBadLine?.({ file: path, offset, why: error.message });
    return [];
  }
}
