/** Runs index plans: reads entries in index order, then the row of each, or builds the row from the entry. */

import { copyBytes, equalBytes } from '../../../bytes/index.js';
import type { TableAccess } from '../../../query/access.js';
import type { RowCheck } from '../../../query/bulk-change.js';
import { pause } from '../../../query/loader.js';
import type { PathPlanner } from '../../../query/path-planner.js';
import { applyReadSet, testedColumns } from '../../../query/projection.js';
import type { QuerySpec } from '../../../query/query-spec.js';
import { FAILED_AT_ONCE } from '../../../query/range-source.js';
import { applyHints, type Position, type ReadPlan } from '../../../query/read-plan.js';
import {
  giveBackRawRow,
  type Moments,
  type ReadOptions,
  type Row,
  type RowCursor,
  takeRawRow,
  valueSpan,
} from '../../../query/row.js';
import { Get, type RawRow, type SyncTable } from '../../../table/index.js';
import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, VERIFIED } from '../entry.js';
import { type IndexUse, requireActive } from './access.js';
import { chooseIndex } from './choice.js';
import { IndexLookUps, lookUp } from './direct-lookups.js';
import { countRow, EntryPositions, LookupCursor, RequestedEntries, ReturnedRows } from './lookup-cursor.js';
import { coverRow, decodesEntries, ENTRY_READ, type IndexPlan, planIndex } from './plan.js';

/** A read plan over entries and, through them, rows. */
function indexReadPlan(plan: IndexPlan, entries: TableAccess): ReadPlan {
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
        isLeftover: undefined,
      },
    ],
    layouts: [use.path.index.layout],
    order: keyPlan.order,
    mergeOffset: keyPlan.mergeOffset,
    reversed: spec.reversed,
    timeRange: undefined,
    through: {
      entries,
      follow: (...following) => followEntries(plan, reading, ...following),
    },
  };
  return reading;
}

/**
 * Re-checks a row that the index found: true while it satisfies the index conditions and owns an entry in the range.
 * Other conditions of `where` are not tested.
 */
function membershipOf(spec: QuerySpec, use: IndexUse): RowCheck {
  const { schema } = spec;
  const plan = planIndex({ ...spec, where: [] }, use);
  const entries = new RequestedEntries(plan);
  const columns = new Set([...use.path.deciding, ...testedColumns(schema, plan.local)]);
  return {
    columns: [...columns],
    holds: (row) => entries.hasOne(row) && (plan.rowTest?.(row) ?? true),
  };
}

const ONLY_ENTITY: readonly number[] = Object.freeze([0]);

function followEntries(
  plan: IndexPlan,
  reading: ReadPlan,
  entries: RowCursor,
  rows: TableAccess,
  options: ReadOptions,
  moments: Moments,
  position: Position | undefined,
): RowCursor {
  const { sync } = rows;
  if (sync === undefined || plan.spec.schema.key.dictionaries !== undefined) {
    return new LookupCursor(plan, reading, entries, rows, options, moments, position);
  }
  return plan.covered
    ? new CoveredCursor(plan, reading, entries, sync, rows, options, position)
    : new SyncLookupCursor(plan, reading, entries, sync, rows, options, position);
}

/** Reads rows of a synchronous table, one entry at a time. */
abstract class StepCursor implements RowCursor {
  row: Row | undefined;
  readonly entity = 0;
  place: Uint8Array | undefined;
  protected readonly reader: EntryReader;
  protected readonly places: EntryPositions;
  private readonly made = takeRawRow();
  /** The table in which entries are looked up again. */
  private readonly entriesNow: SyncTable;
  /** Rows with several entries that were returned, and rows returned by an entry that they no longer have. */
  private returned: ReturnedRows | undefined;
  private left: number;
  private closed = false;

  constructor(
    protected readonly plan: IndexPlan,
    reading: ReadPlan,
    private readonly entries: RowCursor,
    /** The table of the rows. */
    protected readonly rows: SyncTable,
    access: TableAccess,
    protected readonly options: ReadOptions,
    position: Position | undefined,
  ) {
    this.left = options.limit ?? Number.POSITIVE_INFINITY;
    this.entriesNow = access.indexing!.entries.sync!;
    if (plan.use.path.index.several !== undefined) this.returned = new ReturnedRows();
    this.reader = new EntryReader(plan.use.path.index);
    this.places = new EntryPositions(plan, reading, position);
  }

  /** Reads or builds the row of the entry into `into`. @returns false when the query does not ask for it. */
  protected abstract rowOf(entry: Row, into: RawRow): boolean;

  advance(): boolean | Promise<boolean> {
    for (let failed = 0; this.left > 0; failed++) {
      if (failed === FAILED_AT_ONCE) return pause(this.options.signal).then(() => this.advance());
      const more = this.entries.advance();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (!more) break;
      if (this.rowOf(this.entries.row!, this.made)) return true;
    }
    this.row = undefined;
    return false;
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (await more) return this.rowOf(this.entries.row!, this.made) || this.advance();
    this.row = undefined;
    return false;
  }

  protected give(place: Uint8Array, row: Row): boolean {
    const { rowTest } = this.plan;
    if (rowTest !== undefined && !rowTest(row)) return false;
    this.place = place;
    this.row = row;
    this.left--;
    return true;
  }

  /**
   * Returns a row that was read by `entry` at its present position, once. Where the position differs, the row has
   * moved since the scan began, or the entry has outlived the row's columns, or is not the row's first: then another
   * entry returns the row.
   */
  protected giveRead(entry: Uint8Array, row: Row): boolean {
    countRow(this.options, row);
    const { places, reader } = this;
    const place = places.of(row, entry);
    if (place === undefined) return false;
    const isMoved = place !== entry && !equalBytes(place, entry);
    if (isMoved) {
      const isPassed = this.plan.use.path.index.several !== undefined && places.compare(place, entry) < 0;
      if (!isPassed && this.stillStands(entry)) return false;
      this.returned ??= new ReturnedRows();
    }
    if (this.returned?.has(reader.dataRow)) return false;
    // A cursor continues from the scan's position: entries between it and the row's own are unread.
    if (!this.give(entry, row)) return false;
    this.returned?.add(reader.dataRow);
    return true;
  }

  private stillStands(entry: Uint8Array): boolean {
    const get = new Get(copyBytes(entry)).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER);
    return !this.entriesNow.getSync(get).isEmpty;
  }

  close(): void | Promise<void> {
    this.left = 0;
    if (!this.closed) giveBackRawRow(this.made);
    this.closed = true;
    return this.entries.close();
  }
}

/** Rows built from entries. */
class CoveredCursor extends StepCursor {
  /** Whether values must be decoded from the entry's row. */
  private readonly decodes = decodesEntries(this.plan.covering);

  protected rowOf(entry: Row, into: RawRow): boolean {
    const { reader, rows, plan, options } = this;
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    // An unverified entry (copied from HBase) is no evidence: read its row.
    if (reader.state !== VERIFIED) {
      const get = new Get(reader.dataRow);
      applyHints(get, options);
      return this.giveRead(entry.row, rows.getSync(get));
    }
    coverRow(plan.use.path, plan.covering, this.decodes, reader, entry.row, bytes, into);
    return this.give(entry.row, into);
  }
}

/** Rows read by key. */
class SyncLookupCursor extends StepCursor {
  protected rowOf(entry: Row, into: RawRow): boolean {
    const { reader, rows, plan, options } = this;
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    const get = new Get(reader.dataRow);
    applyReadSet(get, plan.read);
    applyHints(get, options);
    let row: Row = into;
    if (rows.getRaw === undefined) row = rows.getSync(get);
    else if (!rows.getRaw(get, into)) into.clear();
    return this.giveRead(entry.row, row);
  }
}

/** Offers indexes to the query planner as access paths. */
export const indexPlanner: PathPlanner = {
  requireActive,
  choose: chooseIndex,
  plan: planIndex,
  readPlan: indexReadPlan,
  lookUp,
  lookUpsBy: IndexLookUps.of,
  membership: membershipOf,
};
