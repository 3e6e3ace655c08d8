/** The rows of one range, of a table that answers in this thread or of one that does not. */

import { throwIfAborted } from '../errors.js';
import type { KeyRange } from '../key/types.js';
import {
  Get,
  type Result,
  type ResultScanner,
  type SyncResultScanner,
  type SyncTable,
} from '../table/index.js';
import type { TableAccess } from './access.js';
import { pause } from './load-rows.js';
import { scanOf } from './ranges.js';
import { applyScanHints, type PlacedRow, type PlanPart, prepareQuery, type ReadPlan } from './read-plan.js';
import { giveBackRawRow, type Row, takeRawRow, valueBytes } from './row.js';
import type { ReadOptions, RowCursor } from './row-cursor.js';

/** Rows that fail in a row before other events get their turn. */
export const FAILED_AT_ONCE = 8192;

/** One range of a plan. Tests what is decided here, so that a merge knows whose row each range stands at. */
export abstract class RangeSource implements RowCursor, PlacedRow {
  row: Row | undefined;
  entity: number;
  logical: Uint8Array = NO_BYTES;
  private passedPosition: boolean;

  constructor(
    protected readonly part: PlanPart,
    private readonly plan: ReadPlan,
    protected readonly options: ReadOptions,
    /** Whether a row lies behind where the reading goes on; asked until one does. */
    private readonly isBehind: ((source: RangeSource) => boolean) | undefined,
  ) {
    this.entity = part.entity;
    this.passedPosition = isBehind === undefined;
  }

  get key(): Uint8Array {
    return this.row!.row;
  }

  /** The next row of the range as it is stored; sets `row`. */
  protected abstract next(): boolean | Promise<boolean>;
  abstract close(): void | Promise<void>;

  advance(): boolean | Promise<boolean> {
    for (let failed = 0; ; failed++) {
      if (failed === FAILED_AT_ONCE) return this.advanceBehindOthers();
      const more = this.next();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (!more) return this.end();
      if (this.accept()) return true;
    }
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (!(await more)) return this.end();
    return this.accept() ? true : this.advance();
  }

  private async advanceBehindOthers(): Promise<boolean> {
    await pause(this.options.signal);
    return this.advance();
  }

  private end(): false {
    this.row = undefined;
    return false;
  }

  private accept(): boolean {
    const { part, plan } = this;
    const { tally } = this.options;
    if (tally !== undefined) {
      tally.rows++;
      tally.bytes += valueBytes(this.row!);
    }
    if (part.classify !== undefined) {
      this.entity = part.classify(this.row!);
      if (this.entity < 0) return false;
    }
    if (plan.order !== 'merge') return true;
    if (plan.mergeOffset === undefined) this.logical = plan.layouts[this.entity]!.logicalBytes(this.key);
    this.passedPosition ||= this.isBehind!(this);
    return this.passedPosition;
  }
}

const NO_BYTES = new Uint8Array(0);

/** Opens a range; nothing is read before the first `advance`. */
export function openRange(
  access: TableAccess,
  plan: ReadPlan,
  part: PlanPart,
  range: KeyRange,
  limit: number | undefined,
  options: ReadOptions,
  isBehind?: (source: RangeSource) => boolean,
): RangeSource {
  const { sync } = access;
  if (sync?.getRaw !== undefined) return new RawSource(sync, plan, part, range, limit, options, isBehind);
  return new ScanSource(access, plan, part, range, limit, options, isBehind);
}

/** Rows that are filled again and again, of a table that answers in this thread. */
class RawSource extends RangeSource {
  private readonly raw = takeRawRow();
  private readonly scanner: SyncResultScanner | undefined;
  private readonly get: Get | undefined;
  /** Whether the get is still to be done. */
  private open = true;
  private closed = false;

  constructor(
    private readonly table: SyncTable,
    plan: ReadPlan,
    part: PlanPart,
    range: KeyRange,
    limit: number | undefined,
    options: ReadOptions,
    isBehind: ((source: RangeSource) => boolean) | undefined,
  ) {
    super(part, plan, options, isBehind);
    if (part.points) {
      this.get = new Get(range.start);
      prepareQuery(this.get, part, plan, options);
    } else {
      const scan = scanOf(range, plan.reversed).setLimit(limit);
      prepareQuery(scan, part, plan, options);
      this.scanner = table.scanSync(scan);
    }
  }

  protected next(): boolean {
    if (this.closed) return false;
    const { raw, scanner } = this;
    const more =
      scanner === undefined ? this.open && this.table.getRaw!(this.get!, raw) : scanner.nextRaw!(raw);
    if (scanner === undefined) this.open = false;
    this.row = raw;
    return more;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.open = false;
    this.scanner?.close();
    giveBackRawRow(this.raw);
  }
}

/** Rows fetched from a range at first where nothing says how many are wanted; each fetch doubles it up to the most. */
const LARGEST_BATCH = 256;

/** Results, fetched in growing batches: a reading that stops early has read little. */
class ScanSource extends RangeSource {
  private buffer: readonly Result[] = [];
  private index = 0;
  private batch: number;
  private ended = false;
  private scanner: ResultScanner | SyncResultScanner | undefined;
  private readonly get: Get | undefined;

  constructor(
    private readonly access: TableAccess,
    plan: ReadPlan,
    part: PlanPart,
    range: KeyRange,
    limit: number | undefined,
    options: ReadOptions,
    isBehind: ((source: RangeSource) => boolean) | undefined,
  ) {
    super(part, plan, options, isBehind);
    this.batch = Math.min(limit ?? LARGEST_BATCH, options.expected, LARGEST_BATCH);
    if (part.points) {
      this.get = new Get(range.start);
      prepareQuery(this.get, part, plan, options);
    } else {
      const scan = scanOf(range, plan.reversed).setLimit(limit);
      prepareQuery(scan, part, plan, options);
      applyScanHints(scan, options);
      this.scanner = access.sync?.scanSync(scan) ?? access.table.scan(scan, options);
    }
    this.dictionaries = plan.layouts.some((layout) => layout.dictionaries !== undefined)
      ? plan.layouts
      : undefined;
  }

  private readonly dictionaries: ReadPlan['layouts'] | undefined;

  protected next(): boolean | Promise<boolean> {
    if (this.index < this.buffer.length) {
      this.row = this.buffer[this.index++]!;
      return true;
    }
    if (this.ended) return false;
    return this.fetch().then(() => this.next());
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
    if (this.get !== undefined) {
      this.ended = true;
      const result = await this.access.table.get(this.get, this.options);
      return result.isEmpty ? [] : [result];
    }
    const rows = await this.scanner!.nextBatch(count);
    if (rows.length < count) this.ended = true;
    return rows;
  }

  close(): Promise<void> | void {
    this.ended = true;
    this.buffer = [];
    const { scanner } = this;
    this.scanner = undefined;
    return scanner?.close();
  }
}

/** Loads the texts of ids that stand in the keys of rows, in one request to each dictionary. */
export async function loadTexts(layouts: ReadPlan['layouts'], rows: readonly Result[]): Promise<void> {
  for (const layout of layouts) {
    if (layout.dictionaries === undefined) continue;
    const own = rows.filter((result) => !result.isEmpty && layout.matches(result.row));
    if (own.length > 0) await layout.dictionaries.loadTexts(own.map((result) => result.row));
  }
}
