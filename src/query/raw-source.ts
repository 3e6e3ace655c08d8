import type { KeyRange } from '../key/types.js';
import { Get, type SyncResultScanner, type SyncTable } from '../table/index.js';
import { RangeSource } from './range-source.js';
import { scanOf } from './ranges.js';
import { type PlanPart, prepareQuery, type ReadPlan } from './read-plan.js';
import { giveBackRawRow, takeRawRow } from './row.js';
import type { ReadOptions } from './row-cursor.js';

/** Rows that are filled again and again, of a table that answers in this thread. */
export class RawSource extends RangeSource {
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
