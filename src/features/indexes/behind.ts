/**
 * Entries that follow behind the answer, on HBase: where all indexes of an entity are eventual, a new row is written in one call
 * ({@link AheadWriter}), and its entries afterwards, with those of many rows: entries are marked, shadows renewed, entries verified.
 *
 * A row that exists already is written by {@link IntentDriver}, because its former entries must be found after a crash: only the row
 * has the former values, and writing it loses them (docs/indexes-eventual.md).
 */

import { type AheadRow, EntryExpiry, type RowFollowing } from '../../repository/index.js';
import { type ChangeImage, refuseUnfollowed } from '../../repository/maintainer.js';
import type { Table } from '../../table/index.js';
import type { EntityIndexes } from './entity-indexes.js';
import { INDEX_FAMILY } from './entry.js';
import type { RemoteEntries } from './remote.js';

/** The row of an index table with the writer records. No entry has so short a row. FROZEN. */
const WRITERS_ROW = Uint8Array.of(1);

/** Whether entries of all indexes of an entity may follow behind its rows. Those of rows that expire do not. */
export function mayFollow({ all, schema }: EntityIndexes): boolean {
  return all.every(({ index }) => index.eventual) && !new EntryExpiry(schema).ends;
}

export class EntriesBehind implements RowFollowing {
  readonly needsFormer = true;
  readonly records: RowFollowing['records'];

  /** `entries`: with a driver of their own, which has no intents. `table`: that of the entries. */
  constructor(
    private readonly entries: RemoteEntries,
    table: Table,
    private readonly now: () => number,
  ) {
    this.records = { table, row: WRITERS_ROW, family: INDEX_FAMILY };
  }

  plan({ mutations, before, after }: ChangeImage): number {
    const { planner, indexes } = this.entries;
    refuseUnfollowed(indexes.schema, planner.names, mutations, this.now);
    return planner.changes(before, after).length;
  }

  async follow(rows: readonly AheadRow[]): Promise<boolean> {
    const outcomes = await this.entries.repair(rows.map(({ row }) => ({ row })));
    for (const { error } of outcomes) if (error !== undefined) throw error;
    return true;
  }

  /** The rows that lack one of their entries. */
  async lacking(rows: readonly Uint8Array[]): Promise<Uint8Array[]> {
    const { indexes, marks } = this.entries;
    const loaded = await this.entries.rows.loadAll(rows, undefined);
    const wanted = loaded.flatMap(({ stored }, i) =>
      indexes
        .entriesOf(stored)
        .flatMap((entries, place) =>
          entries.map((entry) => ({ of: rows[i]!, index: indexes.all[place]!, row: entry.row })),
        ),
    );
    const standing = await marks.storedEntries(wanted, undefined);
    return [...new Set(wanted.filter((_, i) => standing[i] === undefined).map(({ of }) => of))];
  }
}
