/** Entities as lines of JSON: out of a query into a folder, and out of files into a repository. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { fromTagged } from '../../mapper/tagged.js';
import type { EntitySchema } from '../../schema/types.js';
import { type Engine, type Result, Scan } from '../../table/index.js';
import { ndjsonFiles } from '../pipeline/file-sink.js';
import { JobBuilder } from '../pipeline/pipeline.js';
import type { PutTarget } from '../pipeline/sink.js';
import type { JobQuery } from '../pipeline/source.js';
import { runJob } from '../runner.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../types.js';
import { LineFiles, placeOfRow } from './line-files.js';
import { toolJobName, toolRun } from './selection.js';

/** What is said of an entity's files. */
export type FileEntity = Pick<EntitySchema, 'name' | 'mapper'>;

export interface EntityExportOptions {
  /** The job's name, under which it can be resumed; default: the tool and the entity. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

export interface EntityImportOptions extends EntityExportOptions {
  /** Lines that are no entity are counted (`bad lines`) and passed over; false: the first ends the job. Default false. */
  readonly skipBadLines?: boolean;
  /** Called for each such line; those behind the last checkpoint come again when a job is resumed. */
  readonly onBadLine?: (bad: {
    readonly file: string;
    readonly offset: number;
    readonly why: string;
  }) => void;
}

const PIECE_BYTES = 32 << 20;

/**
 * Writes each entity of a query as a line of JSON, as `toPlain` has it, into `part-<split>.ndjson` of the folder. Counter:
 * `entities`.
 */
export function exportEntities(
  engine: Engine,
  query: JobQuery<object>,
  entity: FileEntity,
  folder: string,
  options: EntityExportOptions = {},
): Promise<JobOutcome> {
  return new JobBuilder(engine, options.name ?? toolJobName('export-entities', entity.name))
    .from(query)
    .map<number, JsonValue>((found, emit, context) => {
      context.count('entities');
      emit(0, entity.mapper.toPlain(found as Readonly<Record<string, unknown>>));
    })
    .to(ndjsonFiles(folder))
    .run(toolRun(options.run));
}

/**
 * Puts an entity for each line of the files; of a folder that `exportEntities` wrote, all of its files. Putting one twice is
 * putting it once. Counters: `entities`, `bad lines`.
 * @throws InvalidArgumentError naming file and byte of a line that is no entity, unless such lines are skipped.
 */
export async function importEntities(
  engine: Engine,
  target: PutTarget<object>,
  entity: FileEntity,
  paths: readonly string[],
  options: EntityImportOptions = {},
): Promise<JobOutcome> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  if (files.length === 0)
    throw new InvalidArgumentError('There is no file to read: name files of lines of JSON.');
  const lines = await LineFiles.open(files, PIECE_BYTES);
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('import-entities', entity.name),
      signature: `import entities ${entity.name} ${JSON.stringify(files)}`,
      phases: [
        {
          table: lines,
          ranges: lines.ranges,
          oneSplitEach: true,
          scan: () => new Scan(),
          open: (context) => ({
            async rows(rows) {
              const found = rows.flatMap((row) => entityOf(row, entity, files, context, options));
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

/** The entity of a line; none of an empty one, nor of a bad one that is passed over. */
function entityOf(
  { row, cells }: Result,
  entity: FileEntity,
  files: readonly string[],
  context: SplitContext,
  options: EntityImportOptions,
): object[] {
  const text = Buffer.from(cells[0]!.value).toString();
  if (text.trim() === '') return [];
  try {
    return [entity.mapper.fromPlain(plainOf(text))];
  } catch (error) {
    if (!(error instanceof RowanError || error instanceof SyntaxError)) throw error;
    const { file, offset } = placeOfRow(row);
    const path = files[file]!;
    if (options.skipBadLines !== true) {
      throw new InvalidArgumentError(
        `The line at byte ${offset} of ${path} is no ${entity.name}: ${error.message} Mend it, or let bad lines be skipped.`,
        { cause: error, details: { file: path, offset } },
      );
    }
    context.count('bad lines');
    options.onBadLine?.({ file: path, offset, why: error.message });
    return [];
  }
}

function plainOf(text: string): Readonly<Record<string, JsonValue>> {
  const value = fromTagged(JSON.parse(text) as JsonValue);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, JsonValue>>;
  }
  throw new InvalidArgumentError('It is no object of JSON.');
}

/** The file, or the files of the folder that an export wrote. */
async function filesOf(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const names = (await readdir(path)).filter((name) => /^part-\d+\.ndjson$/.test(name));
  return names.sort().map((name) => join(path, name));
}
