/** Holds two tables against each other, cell by cell (HBase VerifyReplication). */

import { fromHex, keyAfter, toHex } from '../bytes/index.js';
import { fillsRows } from '../job/batches.js';
import { type CellSelection, checkSelection, runPass, scanOf, type ToolOptions } from '../job/table-pass.js';
import type { JobOutcome, RawRowWork, SplitContext, SplitWork } from '../job/types.js';
import type { Result } from '../table/index.js';
import { compareWithHashes, type Difference, type DifferenceSink, RangeComparison } from './comparison.js';
import { placeOf, type TableOf } from './copy.js';
import { RawRowReader, RowReader } from './row-reader.js';

/** A row that is not the same in both tables. */
export interface RowDifference {
  readonly row: Uint8Array;
  /** `missing`: not in the second table; `extra`: in the second only; `different`: other cells. */
  readonly kind: 'missing' | 'extra' | 'different';
}

export interface VerifyOptions extends ToolOptions {
  /** Called for each difference, at least once: those behind the last checkpoint come again when a job is resumed. */
  readonly onDifference?: (difference: RowDifference) => void;
  /**
   * The folder that `hashTable` wrote of the first table: its rows are then read only where the hashes of the second table's are
   * others. What is read of both is what was hashed, so that `families`, `timeRange`, `versions`, `raw` and `range` are not to be given.
   */
  readonly hashes?: string;
}

/**
 * Compares every version, value and timestamp. Counters: `rows` (of the first table), `equal`, `missing`, `extra` and
 * `different`; with hashes `chunks` and `chunks read` too. With `raw: true` delete markers are compared as well.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; InvalidArgumentError when there are no hashes in the folder.
 */
export function verifyTables(
  first: TableOf,
  second: TableOf,
  options: VerifyOptions = {},
): Promise<JobOutcome> {
  return compareTables('verify', '', first, second, options);
}

/** What becomes of differences in one split, after they were counted and told. */
export type DifferenceWork = (
  differences: readonly Difference[],
  context: SplitContext,
  selection: CellSelection,
) => Promise<void>;

/** The pass that verifying and repairing share. `work`: what is done with differences; without, rows need not be kept. */
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
  // Rows that are filled again have no delete markers, and no lives of cells, which repairs write.
  const isRaw = work === undefined && options.raw !== true && first.engine.capabilities.sync;
  const raw = isRaw && fillsRows(other) ? other : undefined;
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

/** The rows of one split of the first table, walked along with those of the second. */
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
