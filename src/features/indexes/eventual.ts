/**
 * The queue of eventual indexes on the embedded engine. A note names an entry to be updated. The update reads the row
 * in the same step, and the row decides whether the entry exists. So the order of notes does not matter, nor do
 * repetitions or concurrent writers.
 */

import { equalBytes, startsWithBytes } from '../../bytes/index.js';
import { applyReadSet, type ReadSet, readColumns } from '../../query/projection.js';
import { EntryExpiry } from '../../repository/expiry.js';
import { type AtomicStep, Get, Scan } from '../../table/index.js';
import type { EntityIndexes } from './entity-indexes.js';
import { dataRowOf, notePrefix, noteRow } from './entry.js';
import { deleteOf, putOf } from './plan.js';

/** The notes of one entity's eventual indexes. */
export class EventualIndexQueue {
  /** The prefix of each index's notes, by index position. Undefined where entries are written with the rows. */
  private readonly prefixes: readonly (Uint8Array | undefined)[];
  private readonly life: EntryExpiry;
  private readonly read: ReadSet;

  constructor(
    readonly indexes: EntityIndexes,
    private readonly now: () => number,
  ) {
    const { schema, all, columns } = indexes;
    this.prefixes = all.map(({ index }) => (index.eventual ? notePrefix(index.id) : undefined));
    this.life = new EntryExpiry(schema);
    this.read = readColumns(schema, [], columns, undefined);
  }

  /** Whether a row of the index table is a note of one of the indexes. */
  has(row: Uint8Array): boolean {
    return this.placeOf(row) >= 0;
  }

  /** At most `most` notes of an index after `after`. */
  waiting(step: AtomicStep, place: number, after: Uint8Array | undefined, most: number): Uint8Array[] {
    const scan = new Scan().setStartStopRowForPrefix(this.prefixes[place]!).setLimit(most);
    if (after !== undefined) scan.withStartRow(after, false);
    return step.scan(scan, this.indexes.tableName).map(({ row }) => row);
  }

  /** The positions of the eventual indexes among the entity's. */
  get places(): readonly number[] {
    return this.prefixes.flatMap((prefix, place) => (prefix === undefined ? [] : [place]));
  }

  /** Updates the entries of these notes from their rows, and removes the notes. @returns the number of notes. */
  process(step: AtomicStep, notes: readonly Uint8Array[]): number {
    let settled = 0;
    for (const note of notes) if (this.settleOne(step, note)) settled++;
    return settled;
  }

  private settleOne(step: AtomicStep, note: Uint8Array): boolean {
    const { tableName: table, schema, all } = this.indexes;
    const place = this.placeOf(note);
    if (place < 0 || step.read(new Get(note), table).isEmpty) return false;
    const index = all[place]!;
    const entry = noteRow(note);
    const get = new Get(dataRowOf(index.index, entry));
    applyReadSet(get, this.read);
    const stored = step.read(get, schema.table.descriptor.name);
    const is = this.indexes.entriesOf(stored)[place]!.find(({ row }) => equalBytes(row, entry));
    const cellOf = (family: string, qualifier: Uint8Array) => stored.getLatest(family, qualifier);
    const change =
      is === undefined ? deleteOf(entry) : putOf(is, this.life.remaining(index, cellOf, this.now()));
    // A stored entry with a longer TTL would reappear.
    if (is !== undefined && this.life.ends) {
      step.apply({ table, change: deleteOf(entry).setDurability('ASYNC_WAL') });
    }
    // A power loss undoes it together with the removal of the note, so it is done again.
    step.apply({ table, change: change.setDurability('ASYNC_WAL') });
    step.apply({ table, change: deleteOf(note).setDurability('ASYNC_WAL') });
    return true;
  }

  private placeOf(row: Uint8Array): number {
    return this.prefixes.findIndex((prefix) => prefix !== undefined && startsWithBytes(row, prefix));
  }
}
