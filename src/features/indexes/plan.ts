import { equalBytes } from '../../bytes/index.js';
import { ConflictError } from '../../errors.js';
import { EntryLife } from '../../repository/expiry.js';
import { refuseUnfollowed } from '../../repository/maintainer.js';
import { keyText } from '../../repository/row-access.js';
import type { RowImage } from '../../repository/row-image.js';
import type { ColumnSchema } from '../../schema/types.js';
import { Delete, Put, type Result, type RowMutation } from '../../table/index.js';
import type { EntityIndex, EntityIndexes } from './entity-indexes.js';
import { ENTRY_QUALIFIER, INDEX_FAMILY, type IndexEntry, NOTE_VALUE, noteRow } from './entry.js';

/** What a change of a row takes away of the entries of its entity's indexes, and adds: the rule of both engines. */

/** An entry that a change takes away (`was` alone), adds (`is` alone) or writes anew. */
export interface EntryChange {
  readonly index: EntityIndex;
  /** Of the entry. */
  readonly row: Uint8Array;
  readonly was: IndexEntry | undefined;
  readonly is: IndexEntry | undefined;
  /** Milliseconds that the entry has left; undefined: without end. */
  readonly ttl: number | undefined;
  /** Whether what stands there lives longer: it would come to light again when the entry has ended, and goes. */
  readonly isShortened: boolean;
}

export class EntryPlanner {
  readonly life: EntryLife;
  /** Whether an index is over a Map: then any cell of a family may count. */
  readonly isWide: boolean;
  /** The indexes, for messages. */
  private readonly names: string;

  constructor(
    readonly indexes: EntityIndexes,
    private readonly now: () => number,
  ) {
    const { schema, columns } = indexes;
    this.life = new EntryLife(schema);
    this.names = `indexes (${schema.indexes.map(({ name }) => name).join(', ')})`;
    this.isWide = columns.some(({ kind }) => kind === 'columns');
  }

  /** @throws UnsupportedError for what the image of a row does not say, and an entry therefore could not follow. */
  refuse(mutations: readonly RowMutation[]): void {
    refuseUnfollowed(this.indexes.schema, this.names, mutations, this.now);
  }

  /** Whether entries may be other ones, or end at another time, behind a change of these columns. */
  isMadeOf(columns: readonly ColumnSchema[]): boolean {
    return this.isWide || this.life.ends || columns.some((column) => this.indexes.columns.includes(column));
  }

  /** Whether the change touches nothing that entries are made of. */
  leavesEntries(before: RowImage, after: RowImage): boolean {
    if (this.isWide || before.isEmpty || after.isEmpty) return false;
    const { schema, columns } = this.indexes;
    for (const { family, qualifier } of columns) {
      const was = before.cell(family, qualifier);
      const is = after.cell(family, qualifier);
      if (was === is) continue;
      if (this.life.ends || was === undefined || is === undefined || !equalBytes(was.value, is.value))
        return false;
    }
    const { marker } = schema;
    if (marker === undefined) return true;
    const was = before.value(marker.family, marker.qualifier);
    const is = after.value(marker.family, marker.qualifier);
    return was === is || (was !== undefined && is !== undefined && equalBytes(was, is));
  }

  /** Of each index first the entries that go, then those that come. @throws KeyError on a value that no entry can hold. */
  changes(before: RowImage, after: RowImage): readonly EntryChange[] {
    if (this.leavesEntries(before, after)) return NOTHING;
    const { all } = this.indexes;
    const old = this.indexes.entriesOf(before.toResult());
    const now = this.indexes.entriesOf(after.toResult());
    const out: EntryChange[] = [];
    for (let i = 0; i < all.length; i++) this.compare(all[i]!, old[i]!, now[i]!, before, after, out);
    return out;
  }

  private compare(
    index: EntityIndex,
    old: readonly IndexEntry[],
    now: readonly IndexEntry[],
    before: RowImage,
    after: RowImage,
    out: EntryChange[],
  ): void {
    for (const was of old) {
      if (now.some(({ row }) => equalBytes(row, was.row))) continue;
      out.push({ index, row: was.row, was, is: undefined, ttl: undefined, isShortened: false });
    }
    const ttl = this.life.ends ? this.remaining(index, after) : undefined;
    for (const is of now) {
      const was = old.find(({ row }) => equalBytes(row, is.row));
      if (was !== undefined && !this.life.ends && equalBytes(was.value, is.value)) continue;
      const isShortened = was !== undefined && ttl !== undefined && ttl < this.left(index, before);
      out.push({ index, row: is.row, was, is, ttl, isShortened });
    }
  }

  remaining(index: EntityIndex, row: RowImage): number | undefined {
    return this.life.remaining(index, (family, qualifier) => row.cell(family, qualifier), this.now());
  }

  private left(index: EntityIndex, row: RowImage): number {
    return this.remaining(index, row) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether a row bears an entry out. */
  bears(index: EntityIndex, stored: Result, entry: Uint8Array): boolean {
    const entries = this.indexes.entriesOf(stored)[this.indexes.all.indexOf(index)]!;
    return entries.some(({ row }) => equalBytes(row, entry));
  }

  /** The error of a value that another entity has, by its row. */
  taken(index: EntityIndex, entry: Uint8Array, holder: Uint8Array): ConflictError {
    const { schema } = this.indexes;
    const values = index.index.layout.decode(entry);
    const key = schema.key.decode(holder);
    const shown = index.index.parts.map((part) => `${part}: ${String(values[part])}`).join(', ');
    return new ConflictError(
      `There is another ${schema.name} with { ${shown} }, ${keyText(schema, key)}: the index "${index.index.name}" is unique. ` +
        'Choose other values, or change that one first.',
      { details: { entity: schema.name, index: index.index.name, key, values } },
    );
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** The mutation that makes an entry what it is to be. */
export function putOf({ row, value }: IndexEntry, ttl?: number): Put {
  return new Put(row).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER, value).setTtl(ttl);
}

/** The mutation that notes that an entry is to be looked at. */
export function entryNoteOf(entry: Uint8Array): Put {
  return new Put(noteRow(entry)).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER, NOTE_VALUE);
}

export function deleteOf(row: Uint8Array, timestamp?: number): Delete {
  return new Delete(row).addColumns(INDEX_FAMILY, ENTRY_QUALIFIER, timestamp);
}
