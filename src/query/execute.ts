/** Runs a plan: whole keys, one range after the other, or a merge; and the limit. The only thing that reads many rows. */

import { throwIfAborted } from '../errors.js';
import type { KeyRange } from '../key/types.js';
import { Get, type Result } from '../table/index.js';
import type { TableAccess } from './access.js';
import { RangeHeap } from './range-heap.js';
import { loadTexts, openRange, type RangeSource } from './range-source.js';
import { type Position, rangesFrom } from './ranges.js';
import { comparePlaced, type PlanPart, prepareQuery, type ReadPlan } from './read-plan.js';
import { valueBytes } from './row.js';
import type { ReadOptions, RowCursor } from './row-cursor.js';

/** Ranges asked at the same time when a merge begins. */
export const DEFAULT_CONCURRENCY = 16;

/** Gets sent at once for a query of several whole keys. */
const GETS_AT_ONCE = 64;

/** Rows that each range of a merge is first asked for, at least. */
const LEAST_FIRST_FETCH = 16;

interface OpenRange {
  readonly part: PlanPart;
  readonly range: KeyRange;
}

/** Starts a plan. Nothing is read before the first `advance`. */
export function runPlan(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
): RowCursor {
  throwIfAborted(options.signal);
  if (options.limit === 0) return NOTHING;
  const { through } = plan;
  if (through !== undefined) {
    // How many entries make how many rows is known when they are read.
    const reading = { ...options, limit: undefined };
    return through.follow(openPlan(plan, through.entries, reading, position), access, options);
  }
  return openPlan(plan, access, options, position);
}

/** The rows of every range; no more than the limit. */
function openPlan(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
): RowCursor {
  const [part] = plan.parts;
  let cursor: RowCursor;
  let bounded: boolean;
  if (position === undefined && plan.parts.length === 1 && part!.ranges.length === 1) {
    // The commonest: nothing is cut, turned or merged.
    bounded = part!.classify === undefined;
    cursor = openRange(access, plan, part!, part!.ranges[0]!, bounded ? options.limit : undefined, options);
  } else {
    const ranges = rangesOf(plan, position);
    bounded = ranges.length === 1 && ranges[0]!.part.classify === undefined;
    cursor = openRanges(plan, access, options, position, ranges);
  }
  return bounded || options.limit === undefined ? cursor : new LimitedCursor(cursor, options.limit);
}

function openRanges(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
  ranges: readonly OpenRange[],
): RowCursor {
  if (ranges.length === 0) return NOTHING;
  const limitOf = (part: PlanPart, left = options.limit): number | undefined =>
    part.classify === undefined && position === undefined ? left : undefined;
  if (plan.order === 'merge') {
    const isBehind = behind(plan, position);
    // Fewer would only be asked again; more would be for nothing where others come first.
    const share = Math.max(LEAST_FIRST_FETCH, Math.ceil((2 * options.expected) / ranges.length));
    const sharing = { ...options, expected: Math.min(share, options.expected) };
    const open = ranges.map(
      ({ part, range }) =>
        () =>
          openRange(access, plan, part, range, limitOf(part), sharing, isBehind),
    );
    return new MergeCursor(plan, open, options.concurrency);
  }
  const { part, range } = ranges[0]!;
  const limit = part.classify === undefined ? options.limit : undefined;
  if (ranges.length === 1) return openRange(access, plan, part, range, limit, options);
  if (access.sync === undefined && ranges.every((one) => one.part.points)) {
    return new GetsCursor(plan, ranges, access, options);
  }
  return new SequenceCursor(
    ranges,
    (one, left) =>
      openRange(
        access,
        plan,
        one.part,
        one.range,
        one.part.classify === undefined ? left : undefined,
        options,
      ),
    options.limit,
  );
}

/** Whether a source's row comes behind the position in reading order. */
function behind(plan: ReadPlan, position: Position | undefined): (source: RangeSource) => boolean {
  if (position === undefined) return () => true;
  return (source) => {
    const order = comparePlaced(plan, source, position);
    return plan.reversed ? order < 0 : order > 0;
  };
}

/** What is left behind the position. Parts that nothing merges follow each other. */
function rangesOf(plan: ReadPlan, position: Position | undefined): OpenRange[] {
  const parts = plan.reversed ? [...plan.parts].reverse() : plan.parts;
  const ranges: OpenRange[] = [];
  // Without an order the position stands in one part; those before it are done.
  let done = position !== undefined && plan.order === 'none' && parts.length > 1;
  for (const part of parts) {
    if (done && !part.entities.includes(position!.entity)) continue;
    const left = rangesFrom(
      part,
      plan.order,
      plan.reversed,
      plan.order === 'none' && parts.length > 1 && !done ? undefined : position,
    );
    done = false;
    for (const range of left) ranges.push({ part, range });
  }
  return ranges;
}

const NOTHING: RowCursor = {
  row: undefined,
  entity: 0,
  advance: () => false,
  close: () => undefined,
};

/** Whole keys of a remote table, many in one call, in the order of the ranges. */
class GetsCursor implements RowCursor {
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

/** One range after the other. */
class SequenceCursor implements RowCursor {
  private index = 0;
  private source: RangeSource | undefined;

  constructor(
    private readonly ranges: readonly OpenRange[],
    private readonly open: (range: OpenRange, left: number | undefined) => RangeSource,
    private left: number | undefined,
  ) {}

  get row(): RangeSource['row'] {
    return this.source?.row;
  }

  get entity(): number {
    return this.source?.entity ?? 0;
  }

  advance(): boolean | Promise<boolean> {
    for (;;) {
      if (this.source === undefined) {
        if (this.index >= this.ranges.length) return false;
        this.source = this.open(this.ranges[this.index++]!, this.left);
      }
      const more = this.source.advance();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (more) return this.gave();
      const closing = this.finish();
      if (closing !== undefined) return closing.then(() => this.advance());
    }
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (await more) return this.gave();
    await this.finish();
    return this.advance();
  }

  private gave(): true {
    if (this.left !== undefined) this.left = Math.max(this.left - 1, 1);
    return true;
  }

  private finish(): Promise<void> | undefined {
    const { source } = this;
    this.source = undefined;
    return source?.close() ?? undefined;
  }

  async close(): Promise<void> {
    this.index = this.ranges.length;
    await this.finish();
  }
}

/**
 * Merges ranges that are each in order. Every range is asked for its first rows before one row is given, at most
 * `concurrency` at a time; after that only the range whose rows ran out is asked again.
 */
class MergeCursor implements RowCursor {
  private heap: RangeHeap<RangeSource> | undefined;
  private readonly sources: RangeSource[] = [];

  constructor(
    private readonly plan: ReadPlan,
    private readonly open: readonly (() => RangeSource)[],
    private readonly concurrency: number,
  ) {}

  get row(): RangeSource['row'] {
    return this.heap?.top?.row;
  }

  get entity(): number {
    return this.heap?.top?.entity ?? 0;
  }

  advance(): boolean | Promise<boolean> {
    const { heap } = this;
    if (heap === undefined) return this.start();
    const { top } = heap;
    if (top === undefined) return false;
    const more = top.advance();
    return typeof more === 'boolean' ? this.settle() : more.then(() => this.settle());
  }

  private settle(): boolean {
    this.heap!.settleTop();
    return this.heap!.top !== undefined;
  }

  private start(): boolean | Promise<boolean> {
    for (const open of this.open) this.sources.push(open());
    const { sources, concurrency } = this;
    let next = 0;
    const work = (): Promise<void> | undefined => {
      while (next < sources.length) {
        const more = sources[next++]!.advance();
        if (typeof more !== 'boolean') return more.then(work);
      }
      return undefined;
    };
    const waiting: Promise<void>[] = [];
    for (let i = 0; i < concurrency && next < sources.length; i++) {
      const working = work();
      if (working !== undefined) waiting.push(working);
    }
    return waiting.length === 0 ? this.ready() : Promise.all(waiting).then(() => this.ready());
  }

  private ready(): boolean {
    const { plan } = this;
    this.heap = new RangeHeap(
      this.sources,
      plan.reversed ? (a, b) => comparePlaced(plan, a, b) > 0 : (a, b) => comparePlaced(plan, a, b) < 0,
    );
    return this.heap.top !== undefined;
  }

  async close(): Promise<void> {
    this.heap = new RangeHeap<RangeSource>([], () => false);
    await Promise.all(this.sources.splice(0).map((source) => source.close()));
  }
}

/** Ends behind so many rows. */
class LimitedCursor implements RowCursor {
  constructor(
    private readonly inner: RowCursor,
    private left: number,
  ) {}

  get row(): RowCursor['row'] {
    return this.inner.row;
  }

  get entity(): number {
    return this.inner.entity;
  }

  advance(): boolean | Promise<boolean> {
    return this.left-- > 0 ? this.inner.advance() : false;
  }

  close(): void | Promise<void> {
    return this.inner.close();
  }
}
