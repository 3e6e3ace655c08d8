/**
 * Keeps the entries of an entity's indexes in step with its rows. What a row's entries are is said by
 * `EntityIndexes`; here is which of them a change takes away and adds.
 */

import { equalBytes, toLatin1 } from '../bytes/index.js';
import { ConflictError } from '../errors.js';
import {
  decodeEntry,
  ENTRY_QUALIFIER,
  type EntityIndex,
  type EntityIndexes,
  INDEX_FAMILY,
  type IndexEntry,
} from '../indexes/index.js';
import { Delete, Get, Put } from '../table/index.js';
import { EntryLife } from './entry-life.js';
import type { ChangeImage, ChangeParticipant, ChangeStep, FollowUp } from './executor.js';
import { refuseUnfollowed } from './followed-writes.js';
import { keyText } from './row-access.js';
import type { RowImage } from './row-image.js';

export class IndexParticipant implements ChangeParticipant {
  readonly name = 'indexes';
  private readonly life: EntryLife;
  /** Whether an index is over a Map: then any cell of a family may count. */
  private readonly wide: boolean;

  constructor(
    private readonly indexes: EntityIndexes,
    private readonly now: () => number,
  ) {
    const { schema, columns } = indexes;
    this.life = new EntryLife(schema);
    this.wide = columns.some(({ kind }) => kind === 'columns');
  }

  follow(change: ChangeImage, step: ChangeStep): readonly FollowUp[] {
    const { schema } = this.indexes;
    refuseUnfollowed(
      schema,
      `indexes (${schema.indexes.map(({ name }) => name).join(', ')})`,
      change.mutations,
      this.now,
    );
    for (const watcher of this.indexes.watchers) watcher.add(toLatin1(change.row));
    const { before, after } = change;
    if (this.leavesEntries(before, after)) return NOTHING;
    const { all } = this.indexes;
    const old = this.indexes.entriesOf(before.toResult());
    const now = this.indexes.entriesOf(after.toResult());
    const out: FollowUp[] = [];
    for (let i = 0; i < all.length; i++) this.followOne(all[i]!, old[i]!, now[i]!, change, step, out);
    return out;
  }

  /** Whether the change touches nothing that entries are made of. */
  private leavesEntries(before: RowImage, after: RowImage): boolean {
    if (this.wide || before.isEmpty || after.isEmpty) return false;
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

  private followOne(
    index: EntityIndex,
    old: readonly IndexEntry[],
    now: readonly IndexEntry[],
    change: ChangeImage,
    step: ChangeStep,
    out: FollowUp[],
  ): void {
    const { tableName } = this.indexes;
    for (const entry of old) {
      if (now.some(({ row }) => equalBytes(row, entry.row))) continue;
      if (index.index.unique && !this.holds(index, entry.row, change.row, step)) continue;
      out.push({ table: tableName, mutation: deleteOf(entry.row) });
    }
    const ttl = this.life.ends ? this.remaining(index, change.after) : undefined;
    for (const entry of now) {
      const same = old.find(({ row }) => equalBytes(row, entry.row));
      if (same !== undefined && !this.life.ends && equalBytes(same.value, entry.value)) continue;
      if (index.index.unique && same === undefined) this.claim(index, entry.row, change, step);
      out.push({ table: tableName, mutation: putOf(entry, ttl) });
    }
  }

  private remaining(index: EntityIndex, row: RowImage): number | undefined {
    return this.life.remaining(index, (family, qualifier) => row.cell(family, qualifier), this.now());
  }

  private holds(index: EntityIndex, row: Uint8Array, dataRow: Uint8Array, step: ChangeStep): boolean {
    const holder = this.holder(index, row, step);
    return holder !== undefined && equalBytes(holder, dataRow);
  }

  /** The data row that an entry of a unique index names. */
  private holder(index: EntityIndex, row: Uint8Array, step: ChangeStep): Uint8Array | undefined {
    const found = step.read(new Get(row), this.indexes.tableName).getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
    return found && decodeEntry(index.index, row, found).dataRow;
  }

  /** @throws ConflictError when another entity has the values. An entry that its row does not bear out holds nobody up. */
  private claim(index: EntityIndex, row: Uint8Array, { row: own }: ChangeImage, step: ChangeStep): void {
    const holder = this.holder(index, row, step);
    if (holder === undefined || equalBytes(holder, own)) return;
    const { schema } = this.indexes;
    const stored = step.read(new Get(holder), schema.table.descriptor.name);
    const place = this.indexes.all.indexOf(index);
    if (!this.indexes.entriesOf(stored)[place]!.some((entry) => equalBytes(entry.row, row))) return;
    const values = index.index.layout.decode(row);
    const key = schema.key.decode(holder);
    const shown = index.index.parts.map((part) => `${part}: ${String(values[part])}`).join(', ');
    throw new ConflictError(
      `There is another ${schema.name} with { ${shown} }, ${keyText(schema, key)}: the index "${index.index.name}" is unique. ` +
        'Choose other values, or change that one first.',
      { details: { entity: schema.name, index: index.index.name, key, values } },
    );
  }
}

const NOTHING: readonly FollowUp[] = Object.freeze([]);

/** The mutation that makes an entry what it is to be. */
export function putOf({ row, value }: IndexEntry, ttl?: number): Put {
  return new Put(row).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER, value).setTtl(ttl);
}

export function deleteOf(row: Uint8Array): Delete {
  return new Delete(row).addColumns(INDEX_FAMILY, ENTRY_QUALIFIER);
}
