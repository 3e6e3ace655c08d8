import { equalBytes } from '../bytes/index.js';
import { ConflictError } from '../errors.js';
import {
  decodeEntry,
  ENTRY_QUALIFIER,
  type EntityIndex,
  type EntityIndexes,
  INDEX_FAMILY,
  type IndexEntry,
  NewEntries,
  NOTE_VALUE,
  noteRow,
} from '../indexes/index.js';
import type { ColumnSchema } from '../schema/types.js';
import {
  Delete,
  type Durability,
  Get,
  LATEST_TIMESTAMP,
  Put,
  type Result,
  type RowMutation,
} from '../table/index.js';
import { EntryLife } from './expiry.js';
import {
  type ChangeImage,
  type ChangeStep,
  type PutLater,
  type RowEffect,
  refuseUnfollowed,
  type StepMaintainer,
} from './maintainer.js';
import { keyText } from './row-access.js';
import type { RowImage } from './row-image.js';

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

/**
 * Maintains the entries of an entity's indexes in one step with its rows; of an eventual index it notes the entries that are to be
 * looked at. On HBase {@link IntentDriver} writes entries around the row itself: they must stand, unverified, before the row does.
 */

export class IndexMaintainer implements StepMaintainer {
  readonly name = 'indexes';
  readonly effectsOfNewRow: ((put: Put, putLater: PutLater) => boolean) | undefined;
  private readonly planner: EntryPlanner;
  /** Entries of the row that is put: filled again for each. */
  private readonly added = { rows: [] as Uint8Array[], values: [] as Uint8Array[] };

  constructor(
    private readonly indexes: EntityIndexes,
    now: () => number,
  ) {
    this.planner = new EntryPlanner(indexes, now);
    const entries = this.planner.life.ends ? undefined : NewEntries.of(indexes);
    this.effectsOfNewRow = entries && ((put, putLater) => this.addNew(entries, put, putLater));
  }

  private addNew(of: NewEntries, put: Put, putLater: PutLater): boolean {
    if (put.ttl !== undefined || put.timestamp !== LATEST_TIMESTAMP) return false;
    const { rows, values } = this.added;
    rows.length = 0;
    values.length = 0;
    try {
      of.addTo(rows, values, put);
    } catch {
      // The long way fails as well, and says of what.
      return false;
    }
    const { tableName: table } = this.indexes;
    const durability = durabilityOfEntries(put.durability);
    for (let i = 0; i < rows.length; i++) {
      const value = values[i]!;
      putLater({ table, row: rows[i]!, family: INDEX_FAMILY, qualifier: ENTRY_QUALIFIER, value, durability });
    }
    return true;
  }

  effects({ row, before, after, mutations }: ChangeImage, step: ChangeStep): readonly RowEffect[] {
    this.planner.refuse(mutations);
    return this.effectsOf(
      row,
      this.planner.changes(before, after),
      durabilityOfEntries(mutations[0]!.durability),
      step,
    );
  }

  isAffectedBy(columns: readonly ColumnSchema[]): boolean {
    return this.planner.isMadeOf(columns);
  }

  /** The entries of a row that was written below its repository, as durable as is said. */
  effectsBelow(
    row: Uint8Array,
    before: RowImage,
    after: RowImage,
    durability: Durability,
    step: Pick<ChangeStep, 'read'>,
  ): readonly RowEffect[] {
    return this.effectsOf(row, this.planner.changes(before, after), durability, step);
  }

  private effectsOf(
    row: Uint8Array,
    changes: readonly EntryChange[],
    durability: Durability,
    step: Pick<ChangeStep, 'read'>,
  ): readonly RowEffect[] {
    const out: RowEffect[] = [];
    for (const change of changes) this.addEffects(change, row, step, out);
    for (const { mutation } of out) mutation.setDurability(durability);
    return out;
  }

  /** @throws ConflictError when another entity has the values. An entry that its row does not bear out holds nobody up. */
  private addEffects(
    change: EntryChange,
    dataRow: Uint8Array,
    step: Pick<ChangeStep, 'read'>,
    out: RowEffect[],
  ): void {
    const { index, row, was, is, ttl, isShortened } = change;
    const { tableName: table, schema } = this.indexes;
    if (index.index.eventual) {
      out.push({ table, mutation: entryNoteOf(row) });
      return;
    }
    const asked = index.index.unique && (was === undefined || is === undefined);
    const holder = asked ? this.holder(change, step) : dataRow;
    const own = holder !== undefined && equalBytes(holder, dataRow);
    if (is === undefined) {
      if (own) out.push({ table, mutation: deleteOf(row) });
      return;
    }
    if (holder !== undefined && !own) {
      const stored = step.read(new Get(holder), schema.table.descriptor.name);
      if (this.planner.bears(index, stored, row)) throw this.planner.taken(index, row, holder);
    }
    // What is written behind a delete in a step has a later time.
    if (isShortened) out.push({ table, mutation: deleteOf(row) });
    out.push({ table, mutation: putOf(is, ttl) });
  }

  /** The data row that an entry of a unique index names. */
  private holder({ index, row }: EntryChange, step: Pick<ChangeStep, 'read'>): Uint8Array | undefined {
    const found = step.read(new Get(row), this.indexes.tableName).getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
    return found && decodeEntry(index.index, row, found).dataRow;
  }
}

/** Entries are acknowledged with their row; but past the log they would be lost without it, or it without them. */
function durabilityOfEntries(ofRow: Durability): Durability {
  return ofRow === 'SKIP_WAL' ? 'USE_DEFAULT' : ofRow;
}
