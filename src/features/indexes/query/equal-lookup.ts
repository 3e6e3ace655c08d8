import type { KeyConditions } from '../../../key/types.js';
import type { TableAccess } from '../../../query/access.js';
import { affectNoReads, type FindOptions } from '../../../query/find-options.js';
import { RowLoader } from '../../../query/loader.js';
import { applyReadSet } from '../../../query/projection.js';
import type { QuerySpec } from '../../../query/query-spec.js';
import { giveBackRawRow, takeRawRow, valueSpan } from '../../../query/row.js';
import { Get, type RawRow, type SyncTable } from '../../../table/index.js';
import type { EntityIndex } from '../entity-indexes.js';
import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, VERIFIED } from '../entry.js';
import { coverRow, decodesEntries, EntryConfirmation } from './choice.js';
import { PlainReadings, type Reading } from './plan.js';

/**
 * Fast path of a look-up of one entity by equality on all parts of an index, on a synchronous table: reads the entry
 * with a get, and its row in the same turn, without plan and scan. Gives the same as the plan.
 */

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
