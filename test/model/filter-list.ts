/** `FilterList`: all must pass, or one. */

import { compareText, nameBytes, type StoredCell, sameColumn } from './cells.js';
import { DROP, isBefore, ModelFilter, NEXT_ROW, PASS, type Place, type Verdict } from './verdict.js';

interface Last {
  readonly cell: StoredCell;
  readonly verdict: Verdict;
}

export class ListFilter extends ModelFilter {
  private readonly last = new Map<ModelFilter, Last>();
  private passed: ModelFilter[] = [];

  constructor(
    private readonly operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE',
    private readonly filters: readonly ModelFilter[],
    private readonly reversed: boolean,
  ) {
    super();
  }

  private get all(): boolean {
    return this.operator === 'MUST_PASS_ALL';
  }

  override reset(): void {
    for (const filter of this.filters) filter.reset();
    this.last.clear();
  }

  override get done(): boolean {
    if (this.filters.length === 0) return false;
    return this.all
      ? this.filters.some((filter) => filter.done)
      : this.filters.every((filter) => filter.done);
  }

  override dropKey(row: string): boolean {
    if (this.filters.length === 0) return false;
    const drops = this.filters.map((filter) => filter.done || filter.dropKey(row));
    return this.all ? drops.includes(true) : !drops.includes(false);
  }

  override see(cell: StoredCell): Verdict {
    if (this.filters.length === 0) return PASS;
    return this.all ? this.seeAll(cell) : this.seeAny(cell);
  }

  private seeAll(cell: StoredCell): Verdict {
    this.passed = [...this.filters];
    let merged = PASS;
    for (const filter of this.filters) {
      if (filter.done) return NEXT_ROW;
      const verdict = filter.see(cell);
      if (!verdict.pass) return { pass: false, next: furthest(merged.next, verdict.next) };
      merged = { pass: true, next: furthest(merged.next, verdict.next) };
    }
    return merged;
  }

  private seeAny(cell: StoredCell): Verdict {
    this.passed = [];
    const verdicts: Verdict[] = [];
    for (const filter of this.filters) {
      if (filter.done) continue;
      const pending = this.pending(filter, cell);
      const verdict = pending ?? filter.see(cell);
      if (!pending) {
        this.last.set(filter, { cell, verdict });
        if (verdict.pass) this.passed.push(filter);
      }
      verdicts.push(verdict);
    }
    if (verdicts.length === 0) return DROP;
    const pass = verdicts.some((verdict) => verdict.pass);
    return { pass, next: this.nearest(verdicts) };
  }

  /** What the filter said last, if it does not want to see this cell. */
  private pending(filter: ModelFilter, cell: StoredCell): Verdict | undefined {
    const last = this.last.get(filter);
    if (!last) return undefined;
    const { next } = last.verdict;
    if (next === 'cell') return undefined;
    const waits =
      next === 'column'
        ? sameColumn(last.cell, cell)
        : next === 'row'
          ? last.cell.family === cell.family
          : isBefore(cell, next, this.reversed);
    return waits ? { pass: false, next } : undefined;
  }

  /** The shortest step; a place stands for one cell unless all have one. */
  private nearest(verdicts: readonly Verdict[]): Verdict['next'] {
    const nexts = verdicts.map((verdict) => verdict.next);
    const places = nexts.filter((next): next is Place => typeof next !== 'string');
    if (places.length === nexts.length) {
      return places.reduce((a, b) => (this.comesFirst(b, a) ? b : a));
    }
    if (places.length > 0 || nexts.includes('cell')) return 'cell';
    return nexts.includes('column') ? 'column' : 'row';
  }

  private comesFirst(a: Place, b: Place): boolean {
    const row = compareText(a.row, b.row) * (this.reversed ? -1 : 1);
    if (row !== 0) return row < 0;
    const order =
      compareText(
        a.family === undefined ? '' : nameBytes(a.family),
        b.family === undefined ? '' : nameBytes(b.family),
      ) || compareText(a.qualifier, b.qualifier);
    return order !== 0 ? order < 0 : a.timestamp > b.timestamp;
  }

  override value(value: string): string {
    return this.passed.reduce((out, filter) => filter.value(out), value);
  }

  override get wholeRows(): boolean {
    return this.filters.some((filter) => filter.wholeRows);
  }

  override keep(cells: StoredCell[]): StoredCell[] {
    return this.filters.reduce((kept, filter) => filter.keep(kept), cells);
  }

  override dropRow(): boolean {
    if (this.filters.length === 0) return false;
    return this.all
      ? this.filters.some((filter) => filter.dropRow())
      : this.filters.every((filter) => filter.dropRow());
  }
}

function furthest(a: Verdict['next'], b: Verdict['next']): Verdict['next'] {
  if (typeof a !== 'string') return a;
  if (typeof b !== 'string') return b;
  if (a === 'row' || b === 'row') return 'row';
  return a === 'column' || b === 'column' ? 'column' : 'cell';
}
