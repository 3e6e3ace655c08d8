/** Runs index plans: entries in the order of the index, and behind each the row, or what the entry says of it. */

import { compareBytes, copyBytes, equalBytes } from '../bytes/index.js';
import { throwIfAborted } from '../errors.js';
import { decodeEntry, ENTRY_QUALIFIER, type EntryContent, INDEX_FAMILY } from '../indexes/index.js';
import type { KeyLayout } from '../key/types.js';
import { MARKER_VALUE } from '../schema/types.js';
import { Cell, CellType, Get, LATEST_TIMESTAMP, Result } from '../table/index.js';
import type { TableAccess } from './access.js';
import { ENTRY_READ, type IndexPlan } from './index-plan.js';
import { applyReadSet } from './projection.js';
import { loadTexts, type ReadOptions, type RowCursor } from './range-source.js';
import { applyHints, comparePlaced, type ReadPlan } from './read-plan.js';
import { type Row, valueBytes, valueIn } from './row.js';

/** Entries looked up at once at the most. */
const LARGEST_LOOKUP = 256;

/** An entry that is yet to be held against its row. */
interface OpenEntry {
  readonly row: Uint8Array;
  readonly content: EntryContent;
}

/** The plan as a reading: of entries, and through them of rows. */
export function indexReadPlan(plan: IndexPlan, entries: TableAccess): ReadPlan {
  const { keyPlan, spec, use } = plan;
  const { check } = keyPlan;
  const reading: ReadPlan = {
    parts: [
      {
        ranges: keyPlan.ranges,
        leads: keyPlan.leads,
        isPlainBehind: keyPlan.isPlainBehind,
        points: keyPlan.kind === 'point' || keyPlan.kind === 'points',
        read: ENTRY_READ,
        filter: keyPlan.residual,
        entity: 0,
        entities: [0],
        classify: check && ((row: Row) => (check(row.row) ? 0 : -1)),
      },
    ],
    layouts: [use.index.index.layout],
    order: keyPlan.order,
    mergeOffset: keyPlan.mergeOffset,
    reversed: spec.reversed,
    timeRange: undefined,
  };
  const follow = plan.covered
    ? (cursor: RowCursor, _: TableAccess, options: ReadOptions) => new CoveredCursor(plan, cursor, options)
    : (cursor: RowCursor, rows: TableAccess, options: ReadOptions) =>
        new LookupCursor(plan, reading, cursor, rows, options);
  return { ...reading, through: { entries, follow } };
}

/** What both have: an entry each, the limit, and the test. */
abstract class EntryCursor implements RowCursor {
  row: Row | undefined;
  readonly entity = 0;
  place: Uint8Array | undefined;
  protected left: number;

  constructor(
    protected readonly plan: IndexPlan,
    protected readonly entries: RowCursor,
    protected readonly options: ReadOptions,
  ) {
    this.left = options.limit ?? Number.POSITIVE_INFINITY;
  }

  abstract advance(): boolean | Promise<boolean>;

  protected take(): OpenEntry {
    const { index } = this.plan.use.index;
    const { row } = this.entries;
    const key = copyBytes(row!.row);
    const value = valueIn(row!, INDEX_FAMILY, ENTRY_QUALIFIER) ?? NO_BYTES;
    return { row: key, content: decodeEntry(index, key, value) };
  }

  protected give(place: Uint8Array, row: Result): boolean {
    const { rowTest } = this.plan;
    if (rowTest !== undefined && !rowTest(row)) return false;
    this.place = place;
    this.row = row;
    this.left--;
    return true;
  }

  protected end(): false {
    this.row = undefined;
    return false;
  }

  close(): void | Promise<void> {
    this.left = 0;
    return this.entries.close();
  }
}

const NO_BYTES = new Uint8Array(0);

/** Rows made of entries alone. */
class CoveredCursor extends EntryCursor {
  private readonly dataKey: KeyLayout;
  /** Whether values stand in the entry's row. */
  private readonly decodes: boolean;

  constructor(plan: IndexPlan, entries: RowCursor, options: ReadOptions) {
    super(plan, entries, options);
    this.dataKey = plan.use.index.schema.key;
    this.decodes = plan.covering.some(({ column, at }) => column !== undefined && at < 0);
  }

  advance(): boolean | Promise<boolean> {
    while (this.left > 0) {
      const more = this.entries.advance();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (!more) break;
      const row = this.rowOf(this.take());
      if (row instanceof Promise) return row.then((known) => known || this.advance());
      if (row) return true;
    }
    return this.end();
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (!(await more)) return this.end();
    return (await this.rowOf(this.take())) || this.advance();
  }

  private rowOf({ row, content }: OpenEntry): boolean | Promise<boolean> {
    const { covering, use } = this.plan;
    const { dataRow } = content;
    const values = this.decodes ? use.index.index.layout.decode(row) : undefined;
    const cells: Cell[] = [];
    for (const { family, qualifier, column, at } of covering) {
      const value =
        column === undefined
          ? MARKER_VALUE
          : at < 0
            ? column.codec.encode(values![column.property])
            : content.cells[at];
      if (value !== undefined)
        cells.push(new Cell(dataRow, family, qualifier, LATEST_TIMESTAMP, CellType.Put, value));
    }
    const result = new Result(dataRow, cells);
    if (this.dataKey.dictionaries === undefined) return this.give(row, result);
    return loadTexts([this.dataKey], [result]).then(() => this.give(row, result));
  }
}

/**
 * Rows looked up in batches, in the order of their entries. An entry that its row does not bear out (it was changed
 * meanwhile) is passed over; of several entries of one row that are all asked for, the first in the order of the index gives it.
 */
class LookupCursor extends EntryCursor {
  private found: Result[] = [];
  private open: OpenEntry[] = [];
  private at = 0;
  private size: number;
  private ended = false;
  constructor(
    plan: IndexPlan,
    private readonly reading: ReadPlan,
    entries: RowCursor,
    private readonly rows: TableAccess,
    options: ReadOptions,
  ) {
    super(plan, entries, options);
    this.size = Math.max(1, Math.min(options.expected, this.left, LARGEST_LOOKUP));
  }

  advance(): boolean | Promise<boolean> {
    for (;;) {
      if (this.left <= 0) return this.end();
      while (this.at < this.open.length) {
        const at = this.at++;
        if (this.holds(this.open[at]!.row, this.found[at]!)) return true;
      }
      if (this.ended) return this.end();
      const fetched = this.fetch();
      if (fetched !== undefined) return fetched.then(() => this.advance());
    }
  }

  private holds(entry: Uint8Array, row: Result): boolean {
    if (row.isEmpty) return false;
    const { index } = this.plan.use;
    const entity = index.reader.read(row);
    if (entity === null) return false;
    const entries = index.entriesOf(entity, row);
    const isFirst =
      index.index.several === undefined
        ? entries.length === 1 && equalBytes(entries[0]!.row, entry)
        : equalBytes(this.firstOf(entries.map((one) => one.row)) ?? NO_BYTES, entry);
    return isFirst && this.give(entry, row);
  }

  /** The first of those that are asked for; in a reversed reading too, so that it is the reverse. */
  private firstOf(rows: readonly Uint8Array[]): Uint8Array | undefined {
    const { keyPlan, use } = this.plan;
    const asked = rows.filter(
      (row) =>
        keyPlan.ranges.some(
          ({ start, stop }) =>
            compareBytes(start, row) <= 0 && (stop === undefined || compareBytes(row, stop) < 0),
        ) &&
        (keyPlan.check === undefined || keyPlan.check(row)),
    );
    const { layout } = use.index.index;
    const placed = asked.map((key) => ({ key, logical: layout.logicalBytes(key) }));
    placed.sort((a, b) =>
      keyPlan.order === 'merge' ? comparePlaced(this.reading, a, b) : compareBytes(a.key, b.key),
    );
    return placed[0]?.key;
  }

  /** The next entries and their rows. */
  private fetch(): Promise<void> | undefined {
    throwIfAborted(this.options.signal);
    this.open = [];
    this.at = 0;
    const size = Math.min(this.size, this.left);
    this.size = Math.min(this.size * 2, LARGEST_LOOKUP);
    return this.gather(size);
  }

  private gather(size: number): Promise<void> | undefined {
    while (this.open.length < size) {
      const more = this.entries.advance();
      if (typeof more !== 'boolean') return more.then((found) => this.gathered(found, size));
      if (!this.add(more)) break;
    }
    return this.lookUp();
  }

  private async gathered(found: boolean, size: number): Promise<void> {
    if (this.add(found)) await this.gather(size);
    else await this.lookUp();
  }

  private add(found: boolean): boolean {
    if (found) this.open.push(this.take());
    else this.ended = true;
    return found;
  }

  private lookUp(): Promise<void> | undefined {
    const { schema } = this.plan.spec;
    const gets = this.open.map(({ content }) => {
      const get = new Get(content.dataRow);
      applyReadSet(get, this.plan.read);
      applyHints(get, this.options);
      return get;
    });
    const { sync, table } = this.rows;
    if (sync !== undefined && schema.key.dictionaries === undefined) {
      this.note(gets.map((get) => sync.getSync(get)));
      return undefined;
    }
    return table.getAll(gets, this.options).then(async (found) => {
      await loadTexts([schema.key], found);
      this.note(found);
    });
  }

  private note(found: Result[]): void {
    this.found = found;
    const { tally } = this.options;
    if (tally === undefined) return;
    tally.rows += found.length;
    for (const row of found) tally.bytes += valueBytes(row);
  }
}
