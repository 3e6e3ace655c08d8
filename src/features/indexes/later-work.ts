/**
 * Entries that are written after the call has returned, on HBase. If all indexes of an entity are eventual, one call writes a row
 * ({@link AheadWriter}). The entries of many rows are written together later: entries are marked, shadows renewed, entries verified.
 *
 * An existing row may be overwritten without a read, because its former entries are listed beside its shadow
 * (docs/indexes-eventual.md). If rows may have entries that are not listed, {@link IntentDriver} writes the rows that exist.
 */

import { equalBytes } from '../../bytes/index.js';
import { type AheadRow, EntryExpiry, type LaterWork } from '../../repository/index.js';
import { type ChangeImage, refuseUnfollowed } from '../../repository/maintainer.js';
import type { Table } from '../../table/index.js';
import type { EntityIndexes } from './entity-indexes.js';
import { INDEX_FAMILY, type IndexEntry } from './entry.js';
import type { StoredEntry } from './marks.js';
import type { RemoteEntries } from './remote.js';

/** The row of an index table with the writer records. No entry has so short a row. FROZEN. */
const WRITERS_ROW = Uint8Array.of(1);

/** Whether the entries of all indexes of an entity may be written after its rows. Not if rows expire. */
export function mayComeLater({ all, schema }: EntityIndexes): boolean {
  return all.every(({ index }) => index.eventual) && !new EntryExpiry(schema).ends;
}

export class LaterEntries implements LaterWork {
  readonly records: LaterWork['records'];

  /**
   * `entries`: with a driver of their own, which has no intents. `table`: that of the entries. `isListed`: whether all entries of rows are
   * listed beside them.
   */
  constructor(
    private readonly entries: RemoteEntries,
    table: Table,
    private readonly now: () => number,
    private readonly isListed: () => boolean,
  ) {
    this.records = { table, row: WRITERS_ROW, family: INDEX_FAMILY };
  }

  get needsFormer(): boolean {
    return !this.isListed();
  }

  /** Undefined for a put that sets some columns of an index and leaves others: the values together may be none that an entry can hold. */
  plan({ operation, mutations, before, after }: ChangeImage): number | undefined {
    const { planner, indexes } = this.entries;
    refuseUnfollowed(indexes.schema, planner.names, mutations, this.now);
    const added = planner.changes(before, after).length;
    if (operation === 'insert' || this.needsFormer) return added;
    const isDecided = indexes.all.every(({ deciding }) => {
      const set = deciding.filter(({ family, qualifier }) => after.cell(family, qualifier) !== undefined);
      return set.length === 0 || set.length === deciding.length;
    });
    return isDecided ? Math.max(1, added) : undefined;
  }

  async perform(rows: readonly AheadRow[]): Promise<boolean> {
    const outcomes = await this.entries.repair(rows.map(({ row }) => ({ row })));
    for (const { error } of outcomes) if (error !== undefined) throw error;
    return true;
  }

  /** The rows that lack one of their entries, or have one that is not theirs. Unverified ones are settled by readers. */
  async lacking(rows: readonly Uint8Array[]): Promise<Uint8Array[]> {
    const { indexes, marks, planner } = this.entries;
    const loaded = await this.entries.rows.loadAll(rows, undefined);
    const wanted = loaded.flatMap(({ stored }, i) =>
      indexes
        .entriesOf(stored)
        .flatMap((entries, place) =>
          entries.map((entry) => ({ of: rows[i]!, index: indexes.all[place]!, ...entry })),
        ),
    );
    const standing = await marks.storedEntries(wanted, undefined);
    const isLacking = (entry: IndexEntry, found: StoredEntry | undefined): boolean =>
      found === undefined || (found.token === undefined && !equalBytes(found.cell.value, entry.value));
    const lacking = new Set(wanted.filter((entry, i) => isLacking(entry, standing[i])).map(({ of }) => of));
    for (const [i, { stored, listed }] of loaded.entries()) {
      const row = rows[i]!;
      const { entries } = planner.listed(listed, row);
      const isOff = entries.some((entry) => !planner.hasEntry(entry.index, stored, entry.row));
      if (!stored.isEmpty && isOff) lacking.add(row);
    }
    return [...lacking];
  }
}
