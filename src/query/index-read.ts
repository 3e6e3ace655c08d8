/** Runs index plans: entries in the order of the index, and behind each the row, or what the entry says of it. */

import { compareBytes, copyBytes, EMPTY_BYTES, equalBytes } from '../bytes/index.js';
import { throwIfAborted } from '../errors.js';
import {
  decodeEntry,
  ENTRY_QUALIFIER,
  type EntryContent,
  EntryReader,
  INDEX_FAMILY,
  VERIFIED,
} from '../indexes/index.js';
import { Get, RawRow, type Result, type SyncTable } from '../table/index.js';
import type { TableAccess } from './access.js';
import { coverRow, decodesEntries } from './index-choice.js';
import { ENTRY_READ, type IndexPlan } from './index-plan.js';
import { loadTexts, pause } from './loader.js';
import { applyReadSet } from './projection.js';
import { FAILED_AT_ONCE } from './range-source.js';
import { applyHints, comparePlaced, type ReadPlan } from './read-plan.js';
import {
  giveBackRawRow,
  type ReadOptions,
  type Row,
  type RowCursor,
  takeRawRow,
  valueBytes,
  valueIn,
  valueSpan,
} from './row.js';

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
        entities: ONLY_ENTITY,
        classify: check && ((row: Row) => (check(row.row) ? 0 : -1)),
      },
    ],
    layouts: [use.index.index.layout],
    order: keyPlan.order,
    mergeOffset: keyPlan.mergeOffset,
    reversed: spec.reversed,
    timeRange: undefined,
    through: {
      entries,
      follow: (cursor, rows, options) => followEntries(plan, reading, cursor, rows, options),
    },
  };
  return reading;
}

const ONLY_ENTITY: readonly number[] = Object.freeze([0]);

function followEntries(
  plan: IndexPlan,
  reading: ReadPlan,
  entries: RowCursor,
  rows: TableAccess,
  options: ReadOptions,
): RowCursor {
  if (plan.covered) return new CoveredCursor(plan, reading, entries, rows, options);
  const { sync } = rows;
  return sync !== undefined && plan.spec.schema.key.dictionaries === undefined
    ? new NearCursor(plan, reading, entries, sync, options)
    : new LookupCursor(plan, reading, entries, rows, options);
}

/** What all have: an entry each, the limit, and the test. */
abstract class EntryCursor<Rows> implements RowCursor {
  row: Row | undefined;
  readonly entity = 0;
  place: Uint8Array | undefined;
  protected left: number;

  constructor(
    protected readonly plan: IndexPlan,
    protected readonly reading: ReadPlan,
    protected readonly entries: RowCursor,
    /** Where the rows that entries stand for are looked up. */
    protected readonly rows: Rows,
    protected readonly options: ReadOptions,
  ) {
    this.left = options.limit ?? Number.POSITIVE_INFINITY;
  }

  abstract advance(): boolean | Promise<boolean>;

  protected give(place: Uint8Array, row: Row): boolean {
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

/** Rows that are made of each entry as it comes. */
abstract class StepCursor<Rows> extends EntryCursor<Rows> {
  protected readonly reader: EntryReader;
  private readonly made = takeRawRow();
  private closed = false;

  constructor(plan: IndexPlan, reading: ReadPlan, entries: RowCursor, rows: Rows, options: ReadOptions) {
    super(plan, reading, entries, rows, options);
    this.reader = new EntryReader(plan.use.index.index);
  }

  /** Makes the row that the entry stands for, if it is asked for: into `into`, which is free. */
  protected abstract rowOf(entry: Row, into: RawRow): boolean | Promise<boolean>;

  advance(): boolean | Promise<boolean> {
    for (let failed = 0; this.left > 0; failed++) {
      if (failed === FAILED_AT_ONCE) return pause(this.options.signal).then(() => this.advance());
      const more = this.entries.advance();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (!more) break;
      const row = this.rowOf(this.entries.row!, this.made);
      if (typeof row !== 'boolean') return row.then((known) => known || this.advance());
      if (row) return true;
    }
    return this.end();
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (!(await more)) return this.end();
    return (await this.rowOf(this.entries.row!, this.made)) || this.advance();
  }

  override close(): void | Promise<void> {
    if (!this.closed) giveBackRawRow(this.made);
    this.closed = true;
    return super.close();
  }
}

/** Rows made of entries alone. */
class CoveredCursor extends StepCursor<TableAccess> {
  /** Whether values stand in the entry's row. */
  private readonly decodes: boolean;

  constructor(
    plan: IndexPlan,
    reading: ReadPlan,
    entries: RowCursor,
    rows: TableAccess,
    options: ReadOptions,
  ) {
    super(plan, reading, entries, rows, options);
    this.decodes = decodesEntries(plan.covering);
  }

  protected rowOf(entry: Row, into: RawRow): boolean | Promise<boolean> {
    const { reader } = this;
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    if (reader.state !== VERIFIED) return this.rowBehind(copyBytes(entry.row), reader.dataRow);
    const { covering, use } = this.plan;
    coverRow(use.index, covering, this.decodes, reader, entry.row, bytes, into);
    const { key } = use.index.schema;
    if (key.dictionaries === undefined) return this.give(entry.row, into);
    return loadTexts([key], [into.toResult()]).then(() => this.give(entry.row, into));
  }

  /** An unverified entry says nothing: its row does. */
  private async rowBehind(entry: Uint8Array, dataRow: Uint8Array): Promise<boolean> {
    const { plan, rows, options } = this;
    const { index } = plan.use;
    rows.indexing?.repair?.note({ index, row: entry });
    const get = new Get(dataRow);
    applyHints(get, options);
    const row = await rows.table.get(get, options);
    await loadTexts([index.schema.key], [row]);
    countRow(options, row);
    return isMeant(plan, this.reading, entry, row) && this.give(entry, row);
  }
}

/** Rows of a table that answers in this thread, each looked up as its entry comes. */
class NearCursor extends StepCursor<SyncTable> {
  protected rowOf(entry: Row, into: RawRow): boolean {
    const { reader, rows, plan, options } = this;
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    const get = rowGet(plan, options, reader.dataRow);
    let row: Row = into;
    if (rows.getRaw === undefined) row = rows.getSync(get);
    else if (!rows.getRaw(get, into)) into.clear();
    countRow(options, row);
    return isMeant(plan, this.reading, entry.row, row) && this.give(entry.row, row);
  }
}

function rowGet(plan: IndexPlan, options: ReadOptions, row: Uint8Array): Get {
  const get = new Get(row);
  applyReadSet(get, plan.read);
  applyHints(get, options);
  return get;
}

function countRow({ tally }: ReadOptions, row: Row): void {
  if (tally === undefined) return;
  tally.rows++;
  tally.bytes += valueBytes(row);
}

/**
 * Whether the row bears out the entry: one that was changed meanwhile does not. Of several entries of one row that are all
 * asked for, the first in the order of the index gives it.
 */
function isMeant(plan: IndexPlan, reading: ReadPlan, entry: Uint8Array, row: Row): boolean {
  const { index } = plan.use;
  if (index.index.several === undefined) return index.hasEntry(row, entry);
  const { reader } = index;
  const entity = row instanceof RawRow ? reader.readRaw(row) : reader.read(row);
  if (entity === null) return false;
  const rows = index.rowsOf(entity, row);
  const first = firstOf(plan, reading, rows);
  return first !== undefined && equalBytes(first, entry);
}

/** The first of those that are asked for; in a reversed reading too, so that it is the reverse. */
function firstOf(
  { keyPlan, use }: IndexPlan,
  reading: ReadPlan,
  rows: readonly Uint8Array[],
): Uint8Array | undefined {
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
    keyPlan.order === 'merge' ? comparePlaced(reading, a, b) : compareBytes(a.key, b.key),
  );
  return placed[0]?.key;
}

/** Rows looked up in batches, in the order of their entries. */
class LookupCursor extends EntryCursor<TableAccess> {
  private found: Result[] = [];
  private open: OpenEntry[] = [];
  private at = 0;
  private size = Math.max(1, Math.min(this.options.expected, this.left, LARGEST_LOOKUP));
  private ended = false;

  advance(): boolean | Promise<boolean> {
    for (;;) {
      if (this.left <= 0) return this.end();
      while (this.at < this.open.length) {
        const at = this.at++;
        const entry = this.open[at]!.row;
        const row = this.found[at]!;
        if (isMeant(this.plan, this.reading, entry, row) && this.give(entry, row)) return true;
      }
      if (this.ended) return this.end();
      return this.fetch().then(() => this.advance());
    }
  }

  /** The next entries and their rows. */
  private fetch(): Promise<void> {
    throwIfAborted(this.options.signal);
    this.open = [];
    this.at = 0;
    const size = Math.min(this.size, this.left);
    this.size = Math.min(this.size * 2, LARGEST_LOOKUP);
    return this.gather(size);
  }

  private gather(size: number): Promise<void> {
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

  private take(): OpenEntry {
    const { index } = this.plan.use;
    const { row } = this.entries;
    const key = copyBytes(row!.row);
    const value = valueIn(row!, INDEX_FAMILY, ENTRY_QUALIFIER) ?? EMPTY_BYTES;
    const content = decodeEntry(index.index, key, value);
    if (content.state !== VERIFIED) this.rows.indexing?.repair?.note({ index, row: key });
    return { row: key, content };
  }

  private lookUp(): Promise<void> {
    const { plan, rows, options } = this;
    const gets = this.open.map(({ content }) => rowGet(plan, options, content.dataRow));
    return rows.table.getAll(gets, options).then(async (found) => {
      await loadTexts([plan.spec.schema.key], found);
      for (const row of found) countRow(options, row);
      this.found = found;
    });
  }
}
