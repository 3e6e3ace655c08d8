/**
 * Fast paths of look-ups by an index: equality on its parts, a synchronous table, no conditions left to test. They give the
 * same as the plan; a property test compares them with a scan.
 */

import { compareSlices } from '../../../bytes/index.js';
import type { KeyConditions } from '../../../key/types.js';
import type { TableAccess } from '../../../query/access.js';
import { affectNoReads, type FindOptions } from '../../../query/find-options.js';
import { RowLoader } from '../../../query/loader.js';
import { applyReadSet } from '../../../query/projection.js';
import { storedColumn } from '../../../query/pushdown.js';
import type { QuerySpec } from '../../../query/query-spec.js';
import { scanOf } from '../../../query/read-plan.js';
import { giveBackRawRow, takeRawRow, valueSpan } from '../../../query/row.js';
import type { ColumnSchema } from '../../../schema/types.js';
import { Get, type RawRow, type SyncTable } from '../../../table/index.js';
import type { EntityIndex } from '../entity-indexes.js';
import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, VERIFIED } from '../entry.js';
import { coverRow, decodesEntries, type IndexPlan, PlainReadings, type Reading } from './plan.js';

// — One entity: the entry with a get, and its row in the same turn, without plan and scan.

/** Tables with the reads of the fast path. */
type RawReadTable = SyncTable & Required<Pick<SyncTable, 'getRaw' | 'firstRaw'>>;

/** Look-ups by one index with the same projection: everything that does not depend on the values. */
class EqualLookUp {
  private readonly loader: RowLoader;
  private readonly reader: EntryReader;
  private readonly decodes: boolean;
  private readonly confirmation: EntryConfirmation;

  constructor(
    private readonly index: EntityIndex,
    readonly reading: Reading,
    access: TableAccess,
    private readonly rows: RawReadTable,
    private readonly entries: RawReadTable,
  ) {
    this.loader = new RowLoader(index.schema, access, reading.read.properties);
    this.reader = new EntryReader(index.index);
    this.decodes = decodesEntries(reading.covering);
    this.confirmation = new EntryConfirmation(index);
  }

  /** `only`: the prefix is the entry's whole row. `whole`: the entry's row ends with the data row. */
  find(
    prefix: Uint8Array,
    key: KeyConditions,
    only: boolean,
    whole: boolean,
  ): object | null | Promise<object | null> | undefined {
    const entry = takeRawRow();
    const made = takeRawRow();
    try {
      const found = only
        ? this.entries.getRaw(new Get(prefix), entry)
        : this.entries.firstRaw(prefix, ENTRY_QUALIFIER, entry);
      if (found !== true) return found === false ? null : undefined;
      if (!this.read(entry, whole ? prefix.length : -1, key, made)) return undefined;
      // An expired row is skipped, as by the general path.
      return this.loader.load(made) ?? undefined;
    } finally {
      giveBackRawRow(entry);
      giveBackRawRow(made);
    }
  }

  /** Reads the row that the entry names. @returns false when the row does not confirm the entry. */
  private read(entry: RawRow, behind: number, key: KeyConditions, made: RawRow): boolean {
    const { reader, reading, index } = this;
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end, behind);
    if (reader.state !== VERIFIED) return false;
    if (reading.covered) {
      coverRow(index, reading.covering, this.decodes, reader, entry.row, bytes, made);
      return true;
    }
    const get = new Get(reader.dataRow);
    applyReadSet(get, reading.read);
    return this.rows.getRaw(get, made) && this.confirmation.test(made, key, entry.row);
  }
}

/** Caches the look-ups of one reader by one index, by projection. */
export class IndexLookUps {
  private readonly readings: PlainReadings;
  private readonly byReading = new WeakMap<Reading, EqualLookUp>();
  /** The last one used: programs repeat their queries. */
  private last: EqualLookUp | undefined;

  private constructor(
    private readonly index: EntityIndex,
    private readonly access: TableAccess,
    private readonly rows: RawReadTable,
    private readonly entries: RawReadTable,
  ) {
    this.readings = PlainReadings.of(index);
  }

  /** Undefined where the fast path is impossible. */
  static of(index: EntityIndex, access: TableAccess): IndexLookUps | undefined {
    const { sync } = access;
    const entries = access.indexing?.entries.sync;
    if (index.index.several !== undefined) return undefined;
    if (index.schema.key.dictionaries !== undefined) return undefined;
    return isNear(sync) && isNear(entries) ? new IndexLookUps(index, access, sync, entries) : undefined;
  }

  /**
   * The entity, or with `first` the first of several; null when there is none. Undefined where the general path is
   * needed. The index must be active. @throws KeyError on a bad value; errors of the tables and the mapper.
   */
  find(
    spec: QuerySpec,
    key: KeyConditions,
    options: FindOptions,
    first: boolean,
  ): object | null | Promise<object | null> | undefined {
    if (spec.reversed || spec.timeRange !== undefined || spec.where.length > 0 || spec.slices.length > 0)
      return undefined;
    if (!affectNoReads(options)) return undefined;
    const { unique, parts, layout } = this.index.index;
    let given = 0;
    for (const _ in key) given++;
    const whole = given === parts.length;
    const only = unique && whole;
    if (!only && !first) return undefined;
    const prefix = layout.prefixOf(key);
    return prefix && this.lookUpOf(spec).find(prefix, key, only, whole);
  }

  private lookUpOf(spec: QuerySpec): EqualLookUp {
    const reading = this.readings.of(spec);
    if (this.last?.reading === reading) return this.last;
    let found = this.byReading.get(reading);
    if (found === undefined) {
      found = new EqualLookUp(this.index, reading, this.access, this.rows, this.entries);
      this.byReading.set(reading, found);
    }
    this.last = found;
    return found;
  }
}

function isNear(table: SyncTable | undefined): table is RawReadTable {
  return table?.getRaw !== undefined && table.firstRaw !== undefined;
}

// — Several entities: one range of entries and their entities in one turn, without cursors, by the plan of the query.

/** Rows read in one turn. */
const MOST = 64;

/** A prepared look-up and its range. */
interface LookUp {
  readonly plan: IndexPlan;
  readonly access: TableAccess;
  readonly limit: number;
  readonly rows: SyncTable & Required<Pick<SyncTable, 'getRaw'>>;
  readonly loader: RowLoader;
}

/** The entities. Undefined where the general path is needed. @throws errors of the tables and the mapper. */
export function lookUp(
  plan: IndexPlan,
  access: TableAccess,
  options: FindOptions,
  limit: number,
): object[] | Promise<object[]> | undefined {
  const { keyPlan, spec } = plan;
  const { sync } = access;
  const entries = access.indexing?.entries.sync;
  if (limit > MOST || limit === 0 || sync?.getRaw === undefined || entries === undefined) return undefined;
  if (spec.reversed || !affectNoReads(options)) return undefined;
  if (plan.rowTest !== undefined || keyPlan.check !== undefined || keyPlan.residual !== undefined) {
    return undefined;
  }
  const [range] = keyPlan.ranges;
  const { key } = spec.schema;
  if (keyPlan.kind !== 'range' || keyPlan.ranges.length !== 1 || key.dictionaries !== undefined) {
    return undefined;
  }
  if (plan.use.path.index.several !== undefined) return undefined;
  const scanner = entries.scanSync(scanOf(range!, false));
  if (scanner.nextRaw === undefined) {
    scanner.close();
    return undefined;
  }
  const loader = new RowLoader(spec.schema, access, plan.read.properties, plan.finish);
  const look: LookUp = { plan, access, limit, loader, rows: sync as LookUp['rows'] };
  const entry = takeRawRow();
  const made = takeRawRow();
  try {
    return collect(look, (into) => scanner.nextRaw!(into), entry, made);
  } finally {
    scanner.close();
    giveBackRawRow(entry);
    giveBackRawRow(made);
  }
}

/** Undefined when an entry is unverified. */
function collect(
  look: LookUp,
  next: (into: RawRow) => boolean,
  entry: RawRow,
  made: RawRow,
): object[] | Promise<object[]> | undefined {
  const { plan, limit, loader } = look;
  const { covered, covering, use } = plan;
  const reader = new EntryReader(use.path.index);
  const decodes = covered && decodesEntries(covering);
  const confirmation = new EntryConfirmation(use.path);
  const found: (object | Promise<object | null>)[] = [];
  let waits = false;
  while (found.length < limit && next(entry)) {
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    if (reader.state !== VERIFIED) return undefined;
    if (covered) coverRow(use.path, covering, decodes, reader, entry.row, bytes, made);
    else if (!fetch(look, reader.dataRow, made) || !confirmation.test(made, use.key, entry.row)) continue;
    const item = loader.load(made);
    if (item === null) continue;
    if (item instanceof Promise) waits = true;
    found.push(item);
  }
  if (!waits) return found as object[];
  return Promise.all(found).then((items) => items.filter((item) => item !== null));
}

function fetch({ rows, plan }: LookUp, row: Uint8Array, into: RawRow): boolean {
  const get = new Get(row);
  applyReadSet(get, plan.read);
  return rows.getRaw(get, into);
}

// — Rows that confirm entries.

/** Tests whether rows confirm the entries that were found by equality on an index's parts. */
export class EntryConfirmation {
  /** The column of each part, if each is a column: then a row with the requested values has the entry. */
  private readonly columns: readonly ColumnSchema[] | undefined;

  constructor(private readonly index: EntityIndex) {
    const { parts } = index.index;
    const columns = parts.map((part) => index.schema.columnsByProperty.get(part));
    this.columns = columns.every((column) => column?.kind === 'column')
      ? (columns as readonly ColumnSchema[]).map(storedColumn)
      : undefined;
  }

  /** Compares bytes of cells, and decoded values where bytes cannot decide. */
  test(row: RawRow, asked: KeyConditions, entry: Uint8Array): boolean {
    const { index } = this;
    if (!this.hasRequested(row, asked)) return index.hasEntry(row, entry);
    return index.where === undefined || index.where.test(row);
  }

  private hasRequested(row: RawRow, asked: KeyConditions): boolean {
    const { columns } = this;
    if (columns === undefined) return false;
    for (let i = 0; i < columns.length; i++) {
      const { property, family, qualifier, codec } = columns[i]!;
      const condition = asked[property];
      if (condition?.kind !== 'eq') return false;
      const value = codec.encode(condition.value);
      const { bytes, start, end } = valueSpan(row, family, qualifier);
      // An empty value is not distinguished from an absent one.
      if (end === start || compareSlices(bytes, start, end - start, value, 0, value.length) !== 0)
        return false;
    }
    return true;
  }
}
