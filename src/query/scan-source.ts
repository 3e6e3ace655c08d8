import { throwIfAborted } from '../errors.js';
import type { KeyRange } from '../key/types.js';
import { Get, type Result, type ResultScanner, type SyncResultScanner } from '../table/index.js';
import type { TableAccess } from './access.js';
import { loadTexts } from './load-texts.js';
import { RangeSource } from './range-source.js';
import { scanOf } from './ranges.js';
import { applyScanHints, type PlanPart, prepareQuery, type ReadPlan } from './read-plan.js';
import type { ReadOptions } from './row-cursor.js';

/** Rows fetched from a range at first where nothing says how many are wanted; each fetch doubles it up to the most. */
const LARGEST_BATCH = 256;

/** Results, fetched in growing batches: a reading that stops early has read little. */
export class ScanSource extends RangeSource {
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
