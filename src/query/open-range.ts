/** Reads the rows of a plan from its table: those of one range, or whole keys. */

import { copyBytes, EMPTY_BYTES } from '../bytes/index.js';
import { throwIfAborted } from '../errors.js';
import type { KeyRange } from '../key/types.js';
import {
  Get,
  type RawRow,
  type ReadView,
  type Result,
  type ResultScanner,
  type Scan,
  type SyncResultScanner,
} from '../table/index.js';
import type { TableAccess } from './access.js';
import { loadTexts } from './loader.js';
import { type OpenRange, RangeSource } from './range-source.js';
import { applyScanHints, type PlanPart, prepareQuery, type ReadPlan, scanOf } from './read-plan.js';
import {
  BYTES_AT_ONCE,
  fittingRows,
  giveBackRawRow,
  type ReadOptions,
  type RowCursor,
  takeRawRow,
  valueBytes,
} from './row.js';

/** Gets in one request, for a query of several whole keys. */
const GETS_AT_ONCE = 64;

/** Reads whole keys of an asynchronous table, many in one request, in the order of the ranges. */
export class GetsCursor implements RowCursor {
  row: Result | undefined;
  entity = 0;
  private index = 0;
  private found: Result[] = [];
  private parts: PlanPart[] = [];
  private at = 0;
  /** How many rows the next request asks for: fewer, if those of the last one were large. */
  private size: number;

  constructor(
    private readonly plan: ReadPlan,
    private readonly ranges: readonly OpenRange[],
    private readonly access: TableAccess,
    private readonly options: ReadOptions,
  ) {
    this.size = Math.max(Math.min(options.expected, GETS_AT_ONCE), 1);
  }

  async advance(): Promise<boolean> {
    for (;;) {
      while (this.at < this.found.length) {
        const part = this.parts[this.at]!;
        const row = this.found[this.at++]!;
        if (row.isEmpty || part.isLeftover?.(row)) continue;
        this.count(row);
        this.entity = part.classify === undefined ? part.entity : part.classify(row);
        if (this.entity < 0) continue;
        this.row = row;
        return true;
      }
      if (this.index >= this.ranges.length) {
        this.row = undefined;
        return false;
      }
      await this.fetch();
    }
  }

  private count(row: Result): void {
    const { tally } = this.options;
    if (tally === undefined) return;
    tally.rows++;
    tally.bytes += valueBytes(row);
  }

  private async fetch(): Promise<void> {
    throwIfAborted(this.options.signal);
    const asked = this.ranges.slice(this.index, this.index + this.size);
    this.index += asked.length;
    const gets = asked.map(({ part, range }) => {
      const get = new Get(range.start);
      prepareQuery(get, part, this.plan, this.options);
      return get;
    });
    this.found = await this.access.table.getAll(gets, this.options);
    this.size = fittingRows(Math.min(this.options.expected, GETS_AT_ONCE), this.found);
    if (this.options.moments !== undefined) this.options.moments.count += gets.length;
    this.parts = asked.map(({ part }) => part);
    this.at = 0;
    await loadTexts(this.plan.layouts, this.found);
  }

  close(): void {
    this.index = this.ranges.length;
    this.found = [];
  }
}

/**
 * A range with a limit, of which rows may be leftovers, which do not count: then it is read on behind the limit, for as many rows
 * as were leftovers.
 */
abstract class LimitedSource extends RangeSource {
  /** The get of a whole key, which is read in place of a range. */
  protected readonly get: Get | undefined;
  /** How many more rows the scanner gives at most; undefined: all. */
  protected left: number | undefined;
  /** How many of its rows were leftovers, and the last row that it gave. */
  protected skipped = 0;
  protected last: Uint8Array = EMPTY_BYTES;

  constructor(
    plan: ReadPlan,
    part: PlanPart,
    private readonly range: KeyRange,
    options: ReadOptions,
    isAfter: ((source: RangeSource) => boolean) | undefined,
  ) {
    super(part, plan, options, isAfter);
    if (!part.points) return;
    this.get = new Get(range.start);
    prepareQuery(this.get, part, plan, options);
  }

  protected wholeScan(limit: number | undefined): Scan {
    return this.prepared(scanOf(this.range, this.plan.reversed), limit);
  }

  /** The scan behind the limit. Undefined: the range is read. */
  protected scanBehind(): Scan | undefined {
    const { skipped } = this;
    if (this.left !== 0 || skipped === 0) return undefined;
    this.skipped = 0;
    return this.prepared(scanOf(this.range, this.plan.reversed).withStartRow(this.last, false), skipped);
  }

  private prepared(scan: Scan, limit: number | undefined): Scan {
    this.left = limit;
    prepareQuery(scan.setLimit(limit), this.part, this.plan, this.options);
    return scan;
  }
}

type RawTable = Pick<ReadView, 'getRaw' | 'scanSync'>;

/** Reads a range of a synchronous table into reused raw rows. */
class RawSource extends LimitedSource {
  private readonly raw = takeRawRow();
  private scanner: SyncResultScanner | undefined;
  /** Whether the get is still pending. */
  private pending = true;
  private closed = false;

  constructor(
    private readonly table: RawTable,
    plan: ReadPlan,
    part: PlanPart,
    range: KeyRange,
    limit: number | undefined,
    options: ReadOptions,
    isAfter: ((source: RangeSource) => boolean) | undefined,
  ) {
    super(plan, part, range, options, isAfter);
    if (options.moments !== undefined) options.moments.count++;
    if (this.get === undefined) this.scanner = table.scanSync(this.wholeScan(limit));
  }

  protected next(): boolean {
    for (;;) {
      if (this.closed) return false;
      const { raw } = this;
      this.row = raw;
      if (!this.read(raw)) {
        const behind = this.scanBehind();
        if (behind === undefined) return false;
        this.scanner!.close();
        this.scanner = this.table.scanSync(behind);
      } else if (raw.count === 1 && this.part.isLeftover?.(raw)) {
        this.skipped++;
      } else {
        return true;
      }
    }
  }

  private read(raw: RawRow): boolean {
    const { scanner } = this;
    if (scanner === undefined) {
      const more = this.pending && this.table.getRaw(this.get!, raw);
      this.pending = false;
      return more;
    }
    const more = scanner.nextRaw!(raw);
    if (more && this.left !== undefined && --this.left === 0) this.last = copyBytes(raw.row);
    return more;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.scanner?.close();
    giveBackRawRow(this.raw);
  }
}

/** The most rows of one fetch from a range. Without a known limit fetches start small and double. */
const LARGEST_BATCH = 256;
/** Assumed number of snapshots of scanners that do not report it. */
const SEVERAL = 2;

/** Reads a range in batches of growing size: a reader who stops early has read little. */
class ScanSource extends LimitedSource {
  private buffer: readonly Result[] = [];
  private index = 0;
  private batch: number;
  private ended = false;
  private scanner: ResultScanner | SyncResultScanner | undefined;
  /** The snapshots that the scanner had used at the last fetch. */
  private moments = 0;
  private readonly dictionaries: ReadPlan['layouts'] | undefined;

  constructor(
    private readonly access: TableAccess,
    plan: ReadPlan,
    part: PlanPart,
    range: KeyRange,
    limit: number | undefined,
    options: ReadOptions,
    isAfter: ((source: RangeSource) => boolean) | undefined,
  ) {
    super(plan, part, range, options, isAfter);
    this.batch = Math.min(limit ?? LARGEST_BATCH, options.expected, LARGEST_BATCH);
    if (this.get === undefined) this.open(this.wholeScan(limit));
    this.dictionaries = plan.layouts.some((layout) => layout.dictionaries !== undefined)
      ? plan.layouts
      : undefined;
  }

  private open(scan: Scan): void {
    const { access, options } = this;
    applyScanHints(scan, options);
    this.moments = 0;
    this.ended = false;
    this.scanner = access.sync?.scanSync(scan) ?? access.table.scan(scan, options);
  }

  protected next(): boolean | Promise<boolean> {
    while (this.index < this.buffer.length) {
      const row = this.buffer[this.index++]!;
      if (this.part.isLeftover?.(row)) {
        this.skipped++;
        continue;
      }
      this.row = row;
      return true;
    }
    if (!this.ended) return this.fetch().then(() => this.next());
    const behind = this.scanBehind();
    if (behind === undefined) return false;
    return this.openBehind(behind).then(() => this.next());
  }

  private async openBehind(scan: Scan): Promise<void> {
    await this.scanner?.close();
    this.open(scan);
  }

  private async fetch(): Promise<void> {
    throwIfAborted(this.options.signal);
    const count = this.batch;
    this.batch = Math.min(count * 2, LARGEST_BATCH);
    const rows = await this.fetchRows(count);
    if (this.dictionaries !== undefined) await loadTexts(this.dictionaries, rows);
    this.buffer = rows;
    this.index = 0;
  }

  private async fetchRows(count: number): Promise<readonly Result[]> {
    const { moments } = this.options;
    if (this.get !== undefined) {
      this.ended = true;
      if (moments !== undefined) moments.count++;
      const result = await this.access.table.get(this.get, this.options);
      return result.isEmpty ? [] : [result];
    }
    const scanner = this.scanner!;
    const rows = await scanner.nextBatch(count, BYTES_AT_ONCE);
    if (moments !== undefined) {
      const { moments: seen = SEVERAL } = scanner;
      moments.count += seen - this.moments;
      this.moments = seen;
    }
    if (rows.length > 0) this.last = rows.at(-1)!.row;
    if (this.left !== undefined) this.left -= rows.length;
    if (rows.length === 0 || this.left === 0) this.ended = true;
    return rows;
  }

  close(): Promise<void> | void {
    this.ended = true;
    this.left = undefined;
    this.buffer = [];
    const { scanner } = this;
    this.scanner = undefined;
    return scanner?.close();
  }
}

/** Opens a range of a plan. Nothing is read before the first `advance`. */
export function openRange(
  access: TableAccess,
  plan: ReadPlan,
  part: PlanPart,
  range: KeyRange,
  limit: number | undefined,
  options: ReadOptions,
  isAfter?: (source: RangeSource) => boolean,
  view?: ReadView,
): RangeSource {
  const { sync } = access;
  const raw = view ?? (sync?.getRaw && (sync as RawTable));
  if (raw !== undefined) return new RawSource(raw, plan, part, range, limit, options, isAfter);
  return new ScanSource(access, plan, part, range, limit, options, isAfter);
}
