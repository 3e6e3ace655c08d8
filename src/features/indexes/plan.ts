import { concatBytes, equalBytes, startsWithBytes } from '../../bytes/index.js';
import { ConflictError } from '../../errors.js';
import { EntryExpiry } from '../../repository/expiry.js';
import { refuseUnfollowed } from '../../repository/maintainer.js';
import { keyText } from '../../repository/row-access.js';
import type { RowImage } from '../../repository/row-image.js';
import type { ColumnSchema } from '../../schema/types.js';
import { literalOf } from '../../table/checks.js';
import { Delete, Put, type Result, type RowMutation } from '../../table/index.js';
import type { EntityIndex, EntityIndexes } from './entity-indexes.js';
import {
  decodeList,
  ENTRY_QUALIFIER,
  encodeList,
  INDEX_FAMILY,
  type IndexEntry,
  NOTE_VALUE,
  noteRow,
} from './entry.js';

/** The change of one entry: removed (only `before`), added (only `after`) or rewritten. */
export interface EntryChange {
  readonly index: EntityIndex;
  /** The row of the entry. */
  readonly row: Uint8Array;
  readonly before: IndexEntry | undefined;
  readonly after: IndexEntry | undefined;
  /** The TTL of the entry, ms. Undefined: without end. */
  readonly ttl: number | undefined;
  /**
   * Whether the stored entry has a longer TTL than the new one. It would reappear when the new one expires, so it is
   * deleted first.
   */
  readonly isShortened: boolean;
}

/** An entry of a row that is listed beside it. */
type ListedEntry = Pick<EntryChange, 'index' | 'row'>;

/** Plans which index entries a change of a row removes and adds. Both engines use it. */
export class EntryPlanner {
  readonly life: EntryExpiry;
  /** Whether an index is over a Map. Then every cell of the family may matter. */
  readonly isWide: boolean;
  /** The names of the indexes, for messages. */
  readonly names: string;

  constructor(
    readonly indexes: EntityIndexes,
    private readonly now: () => number,
  ) {
    const { schema, columns } = indexes;
    this.life = new EntryExpiry(schema);
    this.names = `indexes (${schema.indexes.map(({ name }) => name).join(', ')})`;
    this.isWide = columns.some(({ kind }) => kind === 'columns');
  }

  /**
   * @throws UnsupportedError for mutations whose result the row image cannot show, so that entries could not follow.
   */
  refuse(mutations: readonly RowMutation[]): void {
    refuseUnfollowed(this.indexes.schema, this.names, mutations, this.now);
  }

  /** Whether a change of these columns may change entries or their TTL. */
  isMadeOf(columns: readonly ColumnSchema[]): boolean {
    return this.isWide || this.life.ends || columns.some((column) => this.indexes.columns.includes(column));
  }

  /** Whether the change alters none of the columns that entries are made of. */
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

  /** For each index the removed entries, then the added ones. @throws KeyError on a value that no entry can hold. */
  changes(before: RowImage, after: RowImage): readonly EntryChange[] {
    if (this.leavesEntries(before, after)) return NOTHING;
    const { all } = this.indexes;
    const old = this.indexes.formerEntriesOf(before.toResult());
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
    for (const entry of old) {
      const { row } = entry;
      if (now.some((one) => equalBytes(one.row, row))) continue;
      out.push({ index, row, before: entry, after: undefined, ttl: undefined, isShortened: false });
    }
    const ttl = this.life.ends ? this.remaining(index, after) : undefined;
    for (const entry of now) {
      const { row } = entry;
      const known = old.find((one) => equalBytes(one.row, row));
      if (known !== undefined && !this.life.ends && equalBytes(known.value, entry.value)) continue;
      const isShortened = known !== undefined && ttl !== undefined && ttl < this.left(index, before);
      out.push({ index, row, before: known, after: entry, ttl, isShortened });
    }
  }

  /**
   * The entries in the list beside a row. `others`: those of indexes that this program does not declare, as they are stored.
   * @throws CorruptionError on malformed bytes.
   */
  listed(
    list: Uint8Array | undefined,
    row: Uint8Array,
  ): { readonly entries: readonly ListedEntry[]; readonly others: readonly Uint8Array[] } {
    const entries: ListedEntry[] = [];
    const others: Uint8Array[] = [];
    for (const one of list === undefined ? [] : decodeList(list)) {
      const index = this.indexes.all.find(({ index: { id } }) => startsWithBytes(one, id));
      if (index === undefined) others.push(one);
      else entries.push({ index, row: concatBytes(one, row) });
    }
    return { entries, others };
  }

  /** The list of a row that has these entries. Those of indexes that are not eventual are left out. */
  listOf(entries: readonly ListedEntry[], row: Uint8Array, others: readonly Uint8Array[]): Uint8Array {
    const own = entries.filter(({ index }) => index.index.eventual);
    return encodeList([
      ...own.map((entry) => entry.row.subarray(0, entry.row.length - row.length)),
      ...others,
    ]);
  }

  remaining(index: EntityIndex, row: RowImage): number | undefined {
    return this.life.remaining(index.needed, (family, qualifier) => row.cell(family, qualifier), this.now());
  }

  private left(index: EntityIndex, row: RowImage): number {
    return this.remaining(index, row) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether a row has this entry. */
  hasEntry(index: EntityIndex, stored: Result, entry: Uint8Array): boolean {
    const entries = this.indexes.entriesOf(stored)[this.indexes.all.indexOf(index)]!;
    return entries.some(({ row }) => equalBytes(row, entry));
  }

  /** The error of a unique value that another entity has. */
  duplicateError(index: EntityIndex, entry: Uint8Array, holder: Uint8Array): ConflictError {
    const { schema } = this.indexes;
    const values = index.index.layout.decode(entry);
    const key = schema.key.decode(holder);
    const stored = index.index.layout.stored.decode(entry);
    const shown = index.index.parts.map((part) => `${part}: ${literalOf(stored[part])}`).join(', ');
    return new ConflictError(
      `There is another ${schema.name} with { ${shown} }: ${keyText(schema, key)}. The index "${index.index.name}" is unique. ` +
        'Choose other values, or change that one first.',
      { details: { entity: schema.name, index: index.index.name, key, values } },
    );
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** A put of the entry. */
export function putOf({ row, value }: IndexEntry, ttl?: number): Put {
  return new Put(row).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER, value).setTtl(ttl);
}

/** A note that the entry is to be updated. */
export function entryNoteOf(entry: Uint8Array): Put {
  return new Put(noteRow(entry)).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER, NOTE_VALUE);
}

export function deleteOf(row: Uint8Array, timestamp?: number): Delete {
  return new Delete(row).addColumns(INDEX_FAMILY, ENTRY_QUALIFIER, timestamp);
}
