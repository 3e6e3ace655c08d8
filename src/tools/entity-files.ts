/** Exports entities of a query to files of NDJSON, CSV, Avro or Parquet, and imports such files into a repository. */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atFile, InvalidArgumentError, RowanError } from '../errors.js';
import { removeOtherParts, UNFINISHED_EXPORT } from '../job/files/part-file.js';
import { definitionOf } from '../job/pipeline/phases.js';
import { JobBuilder, prepareJob } from '../job/pipeline/pipeline.js';
import { type PutTarget, putOverStored } from '../job/pipeline/sink.js';
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
import { ownFolder } from './manifest.js';

export interface EntityExportOptions {
  /** The job's name, by which it can be resumed; default: the tool and the entity. */
  readonly name?: string;
  /** Default `ndjson`. */
  readonly format?: FileFormatName;
  /** For CSV: the separator, one character. Default `,`. */
  readonly separator?: string;
  readonly run?: JobRunOptions;
}

export interface EntityImportOptions extends EntityExportOptions {
  /**
   * Whether invalid items are counted (`bad lines`) and skipped; if false, the first one ends the job. Default false.
   */
  readonly skipBadLines?: boolean;
  /** Called for each invalid item. When a job is resumed, items after the last checkpoint are reported again. */
  readonly onBadLine?: (bad: {
    readonly file: string;
    readonly offset: number;
    readonly why: string;
  }) => void;
}

/**
 * Writes each entity of a query into `part-<split>.<format>` of the folder: as a line of JSON (as by `toPlain`), a CSV
 * record, an Avro value, or a Parquet row. Each is written exactly once, even after interruptions, and files of an earlier export are
 * removed. Counter: `entities`.
 * @throws InvalidArgumentError, SchemaError for an unknown format, or one that cannot represent the names of the
 * properties; InvalidArgumentError when the folder has files that are not of such an export; RowanError `ERR_IO`.
 */
export async function exportEntities(
  engine: Engine,
  query: JobQuery<object>,
  entity: EntitySchema,
  folder: string,
  options: EntityExportOptions = {},
): Promise<JobOutcome> {
  const { format: name = 'ndjson' } = options;
  const format = entityFormat(name, entity, options.separator);
  await ownFolder(
    folder,
    'entities export',
    (file) => file === UNFINISHED_EXPORT || (/^part-\d+\./.test(file) && file.endsWith(`.${name}`)),
  );
  const job = new JobBuilder(
    engine,
    options.name ?? toolJobName('export-entities', entity.table.descriptor.name, entity.name),
  )
    .from(query)
    .map<number, unknown>((found, emit, context) => {
      context.count('entities');
      emit(0, format.toItem(found as Readonly<Record<string, unknown>>));
    })
    .to(format.sink(folder));
  const { name: jobName, steps } = (await prepareJob(job))!;
  const { phases, ...definition } = definitionOf(engine, jobName, steps);
  const mark = join(folder, UNFINISHED_EXPORT);
  return runJob(
    engine,
    {
      ...definition,
      phases: phases.map((phase) => ({
        ...phase,
        prepare: () => atFile(folder, () => writeFile(mark, 'The export has not ended. Repeat it.\n')),
      })),
      async finish(run, workOf) {
        await definition.finish?.(run, workOf);
        await removeOtherParts(folder, name, (await workOf(0)).keys());
        await atFile(folder, () => rm(mark, { force: true }));
      },
    },
    toolRun(options.run),
  );
}

/**
 * Puts one entity for each line, record, value or row of the files; for a folder that `exportEntities` wrote, of all of
 * its files, once the export has ended. Repeated puts change nothing but `@Version`, which is counted from what is stored; that of a file is ignored. Counters: `entities`, `bad lines`.
 * @throws InvalidArgumentError naming file and byte of an invalid item, unless they are skipped, and for a folder whose export has not
 *   ended; CorruptionError.
 */
export async function importEntities(
  engine: Engine,
  target: PutTarget<object>,
  entity: EntitySchema,
  paths: readonly string[],
  options: EntityImportOptions = {},
): Promise<JobOutcome> {
  const { format = 'ndjson', separator } = options;
  const { versionProperty } = entity;
  const entities = entityFormat(format, entity, separator);
  const source = await fileItems(format, paths, separator === undefined ? {} : { separator });
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('import-entities', entity.table.descriptor.name, entity.name),
      signature: `import entities ${entity.name} ${source.signature}`,
      phases: [
        {
          ...source,
          open: (context) => ({
            async rows(rows) {
              const found = rows.flatMap((row) =>
                entityOf(row, source, entities, entity.name, context, options),
              );
              if (versionProperty !== undefined)
                for (const one of found) Object.assign(one, { [versionProperty]: undefined });
              if (found.length > 0) await putOverStored(target, found);
              context.count('entities', found.length);
            },
          }),
        },
      ],
    },
    toolRun(options.run),
  );
}

/** The entity of an item; undefined for an empty line, and for an invalid one that is skipped. */
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
        `The item at ${place} of ${path} is not a valid ${name}: ${error.message.replace(/\.?$/, '.')} Correct it, or skip bad lines (skipBadLines: true; --skip-bad-lines).`,
        { cause: error, details: { file: path, offset } },
      );
    }
    context.count('bad lines');
    options.onBadLine?.({ file: path, offset, why: error.message });
    return [];
  }
}
