import { throwIfAborted } from '../errors.js';
import { Get, type Result } from '../table/index.js';
import type { TableAccess } from './access.js';
import { loadTexts } from './load-texts.js';
import type { OpenRange } from './range-to-open.js';
import { type PlanPart, prepareQuery, type ReadPlan } from './read-plan.js';
import { valueBytes } from './row.js';
import type { ReadOptions, RowCursor } from './row-cursor.js';

/** Gets sent at once for a query of several whole keys. */
const GETS_AT_ONCE = 64;

/** Whole keys of a remote table, many in one call, in the order of the ranges. */
export class GetsCursor implements RowCursor {
  row: Result | undefined;
  entity = 0;
  private index = 0;
  private found: Result[] = [];
  private parts: PlanPart[] = [];
  private at = 0;

  constructor(
    private readonly plan: ReadPlan,
    private readonly ranges: readonly OpenRange[],
    private readonly access: TableAccess,
    private readonly options: ReadOptions,
  ) {}

  async advance(): Promise<boolean> {
    for (;;) {
      while (this.at < this.found.length) {
        const part = this.parts[this.at]!;
        const row = this.found[this.at++]!;
        if (row.isEmpty) continue;
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
    const size = Math.max(Math.min(this.options.expected, GETS_AT_ONCE), 1);
    const asked = this.ranges.slice(this.index, this.index + size);
    this.index += asked.length;
    const gets = asked.map(({ part, range }) => {
      const get = new Get(range.start);
      prepareQuery(get, part, this.plan, this.options);
      return get;
    });
    this.found = await this.access.table.getAll(gets, this.options);
    this.parts = asked.map(({ part }) => part);
    this.at = 0;
    await loadTexts(this.plan.layouts, this.found);
  }

  close(): void {
    this.index = this.ranges.length;
    this.found = [];
  }
}
