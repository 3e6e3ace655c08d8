/** Compares two tables cell by cell (HBase VerifyReplication). */

import { fromHex, keyAfter, toHex } from '../bytes/index.js';
import { readsRawRows } from '../job/batches.js';
import { type CellSelection, checkSelection, runPass, scanOf, type ToolOptions } from '../job/table-pass.js';
import type { JobOutcome, RawRowWork, SplitContext, SplitWork } from '../job/types.js';
import type { Result } from '../table/index.js';
import { compareWithHashes, type Difference, type DifferenceSink, RangeComparison } from './comparison.js';
import { placeOf, type TableOf } from './copy.js';
import { RawRowReader, RowReader } from './row-reader.js';

/** A row that differs between the tables. */
export interface RowDifference {
  readonly row: Uint8Array;
  /** `missing`: not in the second table; `extra`: only in the second; `different`: other cells. */
  readonly kind: 'missing' | 'extra' | 'different';
}

export interface VerifyOptions extends ToolOptions {
  /**
   * Called at least once for each difference. When a job is resumed, those after the last checkpoint are reported
   * again.
   */
  readonly onDifference?: (difference: RowDifference) => void;
  /**
   * A folder that `hashTable` wrote for the first table. Its rows are then read only where the hashes of the second
   * table differ. The selection of cells is that of the hashes, so `families`, `timeRange`, `versions`, `raw` and
   * `range` must be omitted.
   */
  readonly hashes?: string;
}

/**
 * Compares every version, value and timestamp. Counters: `rows` (of the first table), `equal`, `missing`, `extra` and
 * `different`; with hashes also `chunks` and `chunks read`. With `raw: true` delete markers are compared too.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; InvalidArgumentError when the folder has no hashes.
 */
export function verifyTables(
  first: TableOf,
  second: TableOf,
  options: VerifyOptions = {},
): Promise<JobOutcome> {
  return compareTables('verify', '', first, second, options);
}

/** Processes the differences of one split, after they were counted and reported. */
type DifferenceWork = (
  differences: readonly Difference[],
  context: SplitContext,
  selection: CellSelection,
) => Promise<void>;

/** The pass shared by verify and sync. `work` processes the differences; without it, rows need not be kept. */
export async function compareTables(
  tool: string,
  does: string,
  first: TableOf,
  second: TableOf,
  options: VerifyOptions,
  work?: DifferenceWork,
): Promise<JobOutcome> {
  await checkSelection(second.engine, second.table, options);
  const sinkOf =
    (context: SplitContext, selection: CellSelection): DifferenceSink =>
    async (differences) => {
      for (const { kind, row } of differences) {
        context.count(kind);
        options.onDifference?.({ row: new Uint8Array(row), kind });
      }
      await work?.(differences, context, selection);
    };
  if (options.hashes !== undefined) {
    return compareWithHashes({ tool, does, first, second, folder: options.hashes, options, sinkOf });
  }
  const other = second.engine.table(second.table);
  // Raw rows have neither delete markers nor TTLs of cells, both of which repairs need.
  const isRaw = work === undefined && options.raw !== true && first.engine.capabilities.sync;
  const raw = isRaw && readsRawRows(other) ? other : undefined;
  return runPass(first.engine, options, {
    tool,
    table: first.table,
    about: [second.table],
    does: `${placeOf(second)} ${does}`,
    scan: () => scanOf(options, false),
    open(context) {
      const { resumed, range } = context;
      const start = resumed === undefined ? range.start : keyAfter(fromHex(resumed as string));
      const rest = { start, stop: range.stop };
      const others =
        raw === undefined ? new RowReader(other, rest, options) : new RawRowReader(raw, rest, options);
      return new SplitComparison(
        new RangeComparison(others, sinkOf(context, options)),
        context,
        raw !== undefined,
      );
    },
  });
}

/** Compares one split of the first table with the rows of the second. */
class SplitComparison implements SplitWork {
  readonly raw: RawRowWork | undefined;

  constructor(
    private readonly comparison: RangeComparison,
    private readonly context: SplitContext,
    raw: boolean,
  ) {
    if (raw) this.raw = this.rawWork();
  }

  private rawWork(): RawRowWork {
    const { comparison, context } = this;
    let rows = 0;
    let equal = 0;
    const count = (isEqual: boolean): void => {
      if (isEqual) equal++;
    };
    return {
      row(row) {
        rows++;
        const comparing = comparison.rawRow(row);
        if (typeof comparing === 'boolean') count(comparing);
        else return comparing.then(count);
      },
      async flush() {
        context.count('rows', rows);
        context.count('equal', equal);
        rows = 0;
        equal = 0;
        await comparison.handOn();
      },
    };
  }

  async rows(rows: readonly Result[]): Promise<void> {
    const equal = await this.comparison.rows(rows);
    this.context.count('rows', rows.length);
    this.context.count('equal', equal);
  }

  finish(): Promise<void> {
    return this.comparison.finish();
  }

  commit(): string | undefined {
    const { lastRow } = this.comparison;
    return lastRow === undefined ? (this.context.resumed as string | undefined) : toHex(lastRow);
  }

  close(): Promise<void> {
    return this.comparison.close();
  }
}
