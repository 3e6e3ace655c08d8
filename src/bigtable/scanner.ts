import { compareBytes, keyAfter } from '../bytes/index.js';
import { ClosedError, InvalidArgumentError } from '../errors.js';
import type { FilterEvaluator } from '../store/filter/index.js';
import { RegionScanner } from '../store/scan/region-scanner.js';
import type { ScanContext } from '../store/scan/store-read.js';
import type { Cell } from '../table/checks.js';
import type { Scan } from '../table/get-and-scan.js';
import { bytesOf, type Result } from '../table/result.js';
import type { OperationOptions, ResultScanner } from '../table/table.js';
import { ChunkReader } from './chunks.js';
import type { BigtableClient } from './client.js';
import { type Descriptors, tableDisabled } from './descriptors.js';
import { checkRowKey } from './names.js';
import { ReadPlan } from './read-plan.js';
import type { ReadRowsRequest, ReadRowsResponse, RowRange } from './wire.js';

/** The table that a scan reads. */
interface ScannedTable {
  readonly client: BigtableClient;
  readonly descriptors: Descriptors;
  readonly name: string;
  readonly id: string;
  readonly context: () => ScanContext;
}

/**
 * A stream of rows. If it is interrupted, a new one starts after the last row received; rows changed in between appear
 * in their new state.
 */
export class BigtableScanner implements ResultScanner {
  private readonly rows: AsyncGenerator<Result[], void, undefined>;
  private readonly ready: Result[] = [];
  private at = 0;
  private isClosed = false;

  constructor(
    private readonly table: ScannedTable,
    scan: Scan,
    private readonly options: OperationOptions,
  ) {
    if (scan.startRow.length > 0) checkRowKey(scan.startRow);
    this.rows = this.read(scan.copy());
  }

  async next(): Promise<Result | undefined> {
    while (this.at >= this.ready.length) {
      if (this.isClosed) throw new ClosedError('The scanner was closed.');
      const { value, done } = await this.rows.next();
      if (done) return undefined;
      this.ready.length = 0;
      this.at = 0;
      for (const row of value) this.ready.push(row);
    }
    return this.ready[this.at++];
  }

  async nextBatch(count: number, bytes = Number.POSITIVE_INFINITY): Promise<Result[]> {
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new InvalidArgumentError(`nextBatch takes a positive number of results, not ${count}.`);
    }
    const out: Result[] = [];
    let left = bytes;
    while (out.length < count && (left > 0 || out.length === 0)) {
      const next = await this.next();
      if (next === undefined) break;
      out.push(next);
      if (bytes !== Number.POSITIVE_INFINITY) left -= bytesOf(next.cells);
    }
    return out;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.ready.length = 0;
    this.at = 0;
    await this.rows.return();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Result, void, undefined> {
    try {
      for (let row = await this.next(); row !== undefined; row = await this.next()) yield row;
    } finally {
      await this.close();
    }
  }

  private async *read(scan: Scan): AsyncGenerator<Result[], void, undefined> {
    const { client, descriptors, name, id, context } = this.table;
    const asked = { call: 'readRows', table: name };
    let deadline = client.deadline(asked, this.options);
    const known = await descriptors.of(id, this.options);
    if (known.isDisabled) {
      descriptors.forget(id);
      throw tableDisabled(name);
    }
    const plan = new ReadPlan(scan, known);
    const filter: FilterEvaluator | undefined = RegionScanner.filterOf(scan, context(), scan.reversed);
    let left = scan.limit ?? Number.POSITIVE_INFINITY;
    let last: Uint8Array | undefined;
    const isOver = (): boolean => left <= 0 || filter?.done === true;
    while (!isOver()) {
      const range = rangeOf(scan, last);
      if (range === undefined) return;
      const reader = new ChunkReader();
      try {
        const request = requestOf(range, plan, scan.reversed, left);
        for await (const answer of client.stream<ReadRowsResponse>('readRows', id, request, deadline)) {
          const rows: Cell[][] = [];
          reader.read(answer.chunks ?? [], rows);
          if (rows.length > 0) last = rows.at(-1)![0]!.row;
          else if (answer.lastScannedRowKey?.length) last = answer.lastScannedRowKey;
          deadline = client.deadline(asked, this.options);
          if (rows.length === 0) continue;
          const results = plan.resultsOf(rows, left, context(), filter);
          left -= results.filter(({ partial }) => !partial).length;
          if (results.length > 0) yield results;
          if (isOver()) return;
        }
        return;
      } catch (error) {
        await deadline.retry(deadline.errorOf(error), true);
      }
    }
  }
}

function requestOf(range: RowRange, plan: ReadPlan, reversed: boolean, left: number): ReadRowsRequest {
  return {
    rows: { rowRanges: [range] },
    ...(plan.filter && { filter: plan.filter }),
    ...(reversed && { reversed }),
    ...(plan.isCounted && Number.isFinite(left) && { rowsLimit: left }),
  };
}

/** The range still to be read; undefined if it is empty. `last`: the last row received. */
function rangeOf(scan: Scan, last: Uint8Array | undefined): RowRange | undefined {
  const { reversed } = scan;
  const [low, lowIncluded, high, highIncluded] = reversed
    ? [scan.stopRow, scan.includeStopRow, scan.startRow, scan.includeStartRow]
    : [scan.startRow, scan.includeStartRow, scan.stopRow, scan.includeStopRow];
  // From here on: `from` inclusive, `to` exclusive; empty bounds are open.
  let from = low.length === 0 || lowIncluded ? low : keyAfter(low);
  let to = high.length === 0 || !highIncluded ? high : keyAfter(high);
  if (last !== undefined && reversed) to = last;
  else if (last !== undefined) from = keyAfter(last);
  if (to.length > 0 && compareBytes(from, to) >= 0) return undefined;
  return {
    ...(from.length > 0 && { startKeyClosed: from }),
    ...(to.length > 0 && { endKeyOpen: to }),
  };
}
