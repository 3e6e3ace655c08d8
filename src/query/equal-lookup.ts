/**
 * The shortest way of look-ups by an index: one entity by equality on its parts, of tables that answer in this thread. The
 * entry is read as a row is got, without a plan and without a scan, and its row in the same turn. It gives what the plan
 * gives when it is run.
 */

import { ENTRY_QUALIFIER, type EntityIndex, EntryReader, INDEX_FAMILY, VERIFIED } from '../indexes/index.js';
import type { KeyConditions } from '../key/types.js';
import { Get, type RawRow, type SyncTable } from '../table/index.js';
import type { TableAccess } from './access.js';
import { BornOut } from './born-out.js';
import { coverRow, decodesEntries } from './covered-row.js';
import type { Reading } from './index-plan.js';
import { RowLoader } from './loader.js';
import { applyReadSet } from './projection.js';
import { giveBackRawRow, takeRawRow, valueSpan } from './row.js';

/** Tables that are read so. */
export type NearTable = SyncTable & Required<Pick<SyncTable, 'getRaw' | 'firstRaw'>>;

/** Look-ups by one index that read the same of the entities: what does not depend on the values asked for. */
export class EqualLookUp {
  private readonly loader: RowLoader;
  private readonly reader: EntryReader;
  private readonly decodes: boolean;
  private readonly bornOut: BornOut;

  constructor(
    private readonly index: EntityIndex,
    readonly reading: Reading,
    access: TableAccess,
    private readonly rows: NearTable,
    private readonly entries: NearTable,
  ) {
    this.loader = new RowLoader(index.schema, access, reading.read.properties);
    this.reader = new EntryReader(index.index);
    this.decodes = decodesEntries(reading.covering);
    this.bornOut = new BornOut(index);
  }

  /** `only`: the prefix is the entry's row. `whole`: the row of the entity stands behind it. */
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
      // One that has ended since is passed over by who reads on.
      return this.loader.load(made) ?? undefined;
    } finally {
      giveBackRawRow(entry);
      giveBackRawRow(made);
    }
  }

  /** Makes the row that the entry stands for; false when it is not borne out. */
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
    return this.rows.getRaw(get, made) && this.bornOut.test(made, key, entry.row);
  }
}
