/** Selects the cells of a table that a tool reads. */

import { createHash } from 'node:crypto';
import { InvalidArgumentError } from '../errors.js';
import { type Engine, Scan } from '../table/index.js';
import { runJob } from './runner.js';
import type { JobDefinition, JobOutcome, JobPhase, JobRunOptions, RowRange } from './types.js';

export interface CellSelection {
  /** Families to read; default: all. */
  readonly families?: readonly string[];
  /** Timestamps in [from, to), in milliseconds. */
  readonly timeRange?: { readonly from: number; readonly to: number };
  /** Of raw reads on the embedded engine: also the cells that commits after this one wrote, outside of the time range. */
  readonly writtenAfter?: number;
  /** Newest versions of each column; default: all that are kept. */
  readonly versions?: number;
  /** Whether to read puts and delete markers as stored, nothing hidden. The default depends on the tool. */
  readonly raw?: boolean;
  /** Rows [start, stop). */
  readonly range?: RowRange;
}

/** Options of every tool: what it reads, and how its job runs. */
export interface ToolOptions extends CellSelection {
  /** The job's name, by which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  /** The run options of the job. It starts from the beginning (`restart: 'done'`) unless an unfinished run exists. */
  readonly run?: JobRunOptions;
}

/** A tool that reads a table once. */
interface TablePass {
  readonly tool: string;
  readonly table: string;
  /** Its other arguments, for the job's name. */
  readonly about?: readonly string[];
  /** The name of its work on the rows, for the job's signature. */
  readonly does?: string;
  readonly readsOnly?: boolean;
  readonly prepare?: JobPhase['prepare'];
  readonly scan: JobPhase['scan'];
  readonly open: JobPhase['open'];
  readonly finish?: JobDefinition['finish'];
}

/** Runs a pass as a job on the engine of the table. @throws RowanError `ERR_TABLE_NOT_FOUND`. */
export async function runPass(engine: Engine, options: ToolOptions, pass: TablePass): Promise<JobOutcome> {
  const { tool, table, about = [], does = '', readsOnly = false, prepare, scan, open, finish } = pass;
  await checkSelection(engine, table, options);
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName(tool, table, ...about),
      signature: `${tool} ${table}${does === '' ? '' : ` ${does}`} ${describeSelection(options)}`,
      readsOnly,
      phases: [
        { table, ranges: rangesOf(options), scan, open, ...(prepare === undefined ? {} : { prepare }) },
      ],
      ...(finish === undefined ? {} : { finish }),
    },
    toolRun(options.run),
  );
}

/** Resumes an unfinished run, and repeats a finished one. */
export function toolRun(run: JobRunOptions | undefined): JobRunOptions {
  return { restart: 'done', ...run };
}

export function scanOf(selection: CellSelection, raw: boolean): Scan {
  const { families, timeRange, writtenAfter, versions } = selection;
  const scan = new Scan().setCacheBlocks(false).setRaw(selection.raw ?? raw);
  for (const family of families ?? []) scan.addFamily(family);
  if (timeRange !== undefined) scan.setTimeRange(timeRange.from, timeRange.to);
  scan.setWrittenAfter(writtenAfter);
  if (versions === undefined) scan.readAllVersions();
  else scan.readVersions(versions);
  return scan;
}

/** Describes what is read, for signatures. */
function describeSelection(selection: CellSelection): string {
  const { families, timeRange, writtenAfter, versions, raw, range } = selection;
  const rows = range && [Buffer.from(range.start).toString('hex'), Buffer.from(range.stop).toString('hex')];
  return JSON.stringify({ families, timeRange, writtenAfter, versions, raw, rows });
}

function rangesOf({ range }: CellSelection): readonly RowRange[] {
  return range === undefined ? [] : [range];
}

/**
 * Checks that the table and its families exist, and that a scan can have these times and versions: before the job is recorded.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; InvalidArgumentError naming a family that the table does not have, or a value that a
 *   scan cannot have.
 */
export async function checkSelection(engine: Engine, table: string, selection: CellSelection): Promise<void> {
  scanOf(selection, true);
  const descriptor = await engine.admin.getDescriptor(table);
  const known = descriptor.families.map(({ name }) => name);
  for (const family of selection.families ?? []) {
    if (!known.includes(family)) {
      throw new InvalidArgumentError(
        `Table "${table}" has no family "${family}". It has: ${known.join(', ')}.`,
      );
    }
  }
}

/** The longest name of a job, and the length of the hash at the end of a shortened name. */
const LONGEST_NAME = 100;
const HASH_DIGITS = 8;

/**
 * The name of a tool's job, from the tool and its arguments; if characters had to be replaced or cut, with a hash of
 * the full text.
 */
export function toolJobName(tool: string, ...about: readonly string[]): string {
  const whole = [tool, ...about].join('-');
  const name = whole.replace(/[^\w.-]/g, '_').slice(0, LONGEST_NAME);
  if (name === whole) return name;
  const hash = createHash('sha256')
    .update(JSON.stringify([tool, ...about]))
    .digest('hex');
  return `${name.slice(0, LONGEST_NAME - HASH_DIGITS - 1)}-${hash.slice(0, HASH_DIGITS)}`;
}
