/**
 * Loads cells of a job into a table as files: each split sorts its cells into runs, which are merged and loaded at the
 * end.
 */

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError, UnsupportedError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import {
  type BulkCompression,
  Cell,
  CellWithTtl,
  type Engine,
  LATEST_TIMESTAMP,
  type MutationCell,
  Result,
} from '../../table/index.js';
import { onePhase } from '../split-run.js';
import type { JobPhase, SplitContext } from '../types.js';
import { CellRuns, mergedRuns, type RunState } from './cell-runs.js';

/** The folder where a bulk load sorts, and, on HBase, creates its files. */
export interface BulkFolder {
  /**
   * The folder for sorted runs. It must be the same when the job is resumed. On HBase the HFiles are created there too,
   * so region servers must be able to read and move them.
   */
  readonly folder: string;
  /** The folder as region servers name it. Default: `file://` and its path. */
  readonly uri?: string;
  /** Compression of HFiles. Default `NONE`. */
  readonly compression?: BulkCompression;
}

/** One bulk load into a table. */
export class BulkTarget {
  constructor(
    private readonly engine: Engine,
    private readonly table: string,
    private readonly options: BulkFolder,
  ) {
    if (typeof options?.folder !== 'string' || options.folder === '') {
      throw new InvalidArgumentError('A bulk load needs a folder for sorting: set `folder`.');
    }
    if (engine.bulkLoad === undefined) {
      throw new UnsupportedError(
        `The engine "${engine.name}" has no bulk load. Write the rows with puts instead.`,
      );
    }
  }

  get signature(): string {
    return `bulk load of ${this.table} through ${this.options.folder}`;
  }

  /** Opens the runs of one split. */
  runs({
    job,
    run,
    split,
    resumed,
  }: Pick<SplitContext, 'job' | 'run' | 'split' | 'resumed'>): Promise<CellRuns> {
    return CellRuns.open(this.folderOf(job, run), split, resumed as RunState | undefined);
  }

  /** Loads the runs of all splits. Loading them again changes nothing. Counters: `files`, `file bytes`. */
  async load(kept: ReadonlyMap<number, JsonValue>, context: SplitContext): Promise<void> {
    const { folder: _, ...options } = this.options;
    const splits = [...kept].sort(([a], [b]) => a - b);
    const runs = splits.flatMap(([, state]) => (state as RunState | null)?.files ?? []);
    if (runs.length === 0) return;
    const cells = mergedRuns(this.folderOf(context.job, context.run), runs);
    const loaded = await this.engine.bulkLoad!(this.table, cells, {
      ...options,
      folder: this.options.folder,
      signal: context.signal,
    });
    context.count('files', loaded.files);
    context.count('file bytes', loaded.bytes);
  }

  /** Removes the sorted runs. */
  async dispose(job: string, run: number): Promise<void> {
    // Includes earlier runs of the job.
    for (let each = 0; each <= run; each++) {
      await rm(this.folderOf(job, each), { recursive: true, force: true });
    }
  }

  /** The folder of a job's run. Jobs of the same name on other engines have other folders. */
  private folderOf(job: string, run: number): string {
    const name = createHash('sha256')
      .update(JSON.stringify([job, this.table]))
      .digest('hex');
    return join(this.options.folder, `sorted-${name.slice(0, 12)}-${run}`);
  }
}

/** The phase that loads what the splits of another phase have sorted. */
export function loadPhase(
  load: (kept: ReadonlyMap<number, JsonValue>, context: SplitContext) => Promise<void>,
  from: number,
): JobPhase {
  return onePhase(async (context) => {
    await load(await context.workOf(from), context);
    return null;
  });
}

/** A put, or a row with its cells; also as received from another thread, where class instances become plain objects. */
interface RowItem {
  readonly row: Uint8Array;
  readonly cells: readonly (MutationCell & { readonly ttl?: number })[];
  readonly ttl?: number | undefined;
}

/** The row of the item. Cells without a timestamp get `now`. @throws InvalidArgumentError for an invalid item. */
export function rowOfItem(item: RowItem, now: number): Result {
  if (!(item?.row instanceof Uint8Array) || !Array.isArray(item.cells)) {
    throw new InvalidArgumentError(`A bulk load takes Puts and Results, not ${describe(item)}.`);
  }
  const { row } = item;
  const cells = item.cells.map((cell: RowItem['cells'][number]) => {
    const { family, qualifier, timestamp, type, value } = cell;
    const time = timestamp === LATEST_TIMESTAMP ? now : timestamp;
    const ttl = cell.ttl ?? item.ttl;
    return ttl === undefined
      ? new Cell(row, family, qualifier, time, type, value)
      : new CellWithTtl(row, family, qualifier, time, type, value, ttl);
  });
  return new Result(row, cells);
}
