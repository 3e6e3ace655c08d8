import { equalBytes } from '../../bytes/index.js';
import { KeyWriter } from '../../key/index.js';
import type {
  ChangeImage,
  ChangeStep,
  PutLater,
  RowEffect,
  StepMaintainer,
} from '../../repository/maintainer.js';
import type { RowImage } from '../../repository/row-image.js';
import type { ColumnSchema } from '../../schema/types.js';
import {
  ColumnPuts,
  type Durability,
  Get,
  LATEST_TIMESTAMP,
  type PackedPuts,
  type Put,
} from '../../table/index.js';
import { type EntityIndexes, NewEntries } from './entity-indexes.js';
import { decodeEntry, ENTRY_QUALIFIER, INDEX_FAMILY } from './entry.js';
import { deleteOf, type EntryChange, EntryPlanner, entryNoteOf, putOf } from './plan.js';

/** A longer buffer is dropped, so that one large batch does not occupy memory for ever. */
const MAX_KEPT_BYTES = 1 << 20;

/**
 * The maintainer of an entity's indexes in one step with its rows. For an eventual index it only queues a note of
 * each entry. On HBase entries are written by `RemoteEntries` (remote.ts), because they must exist, unverified, before the row does.
 */
export class IndexMaintainer implements StepMaintainer {
  readonly name = 'indexes';
  readonly effectsOfNewRow: ((put: Put, putLater: PutLater) => boolean) | undefined;
  readonly effectsOfNewRows: ((puts: PackedPuts) => ColumnPuts | undefined) | undefined;
  private readonly planner: EntryPlanner;
  /** Holds the bytes of packed entries until the next ones. */
  private packed = new KeyWriter();
  /** Rows and values of the new entries: reused for each put. */
  private readonly added = { rows: [] as Uint8Array[], values: [] as Uint8Array[] };

  constructor(
    private readonly indexes: EntityIndexes,
    now: () => number,
  ) {
    this.planner = new EntryPlanner(indexes, now);
    const { ends } = this.planner.life;
    const packed = ends ? undefined : NewEntries.of(indexes, true);
    this.effectsOfNewRows = packed && ((puts) => this.entriesOfNew(packed, puts));
    const entries = ends ? undefined : NewEntries.of(indexes);
    this.effectsOfNewRow = entries && ((put, putLater) => this.addNew(entries, put, putLater));
  }

  private entriesOfNew(of: NewEntries, puts: PackedPuts): ColumnPuts | undefined {
    const durability = durabilityOfEntries(puts.durability);
    const { tableName } = this.indexes;
    const entries = new ColumnPuts(tableName, INDEX_FAMILY, ENTRY_QUALIFIER, durability);
    if (this.packed.buffer.length > MAX_KEPT_BYTES) this.packed = new KeyWriter();
    const out = this.packed;
    out.length = 0;
    out.append(ENTRY_QUALIFIER);
    try {
      of.addPacked(entries, out, puts);
    } catch {
      // The general path fails too, with a better message.
      return undefined;
    }
    return entries;
  }

  private addNew(of: NewEntries, put: Put, putLater: PutLater): boolean {
    if (put.ttl !== undefined || put.timestamp !== LATEST_TIMESTAMP) return false;
    const { rows, values } = this.added;
    rows.length = 0;
    values.length = 0;
    try {
      of.addTo(rows, values, put);
    } catch {
      // The general path fails too, with a better message.
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

  /** The entries of a row that was written below its repository, with this durability. */
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

  /**
   * @throws ConflictError when another entity has the value. An entry that its own row does not confirm blocks
   * nobody. Where rows end, an entry is looked at that the row had before, too: another row may have taken the value after this
   * one had ended, and the clock was set back.
   */
  private addEffects(
    change: EntryChange,
    dataRow: Uint8Array,
    step: Pick<ChangeStep, 'read'>,
    out: RowEffect[],
  ): void {
    const { index, row, before, after, ttl, isShortened } = change;
    const { tableName: table, schema } = this.indexes;
    if (index.index.eventual) {
      out.push({ table, mutation: entryNoteOf(row) });
      return;
    }
    const isOwn = before !== undefined && after !== undefined && !this.planner.life.ends;
    const asked = index.index.unique && !isOwn;
    const holder = asked ? this.holder(change, step) : dataRow;
    const own = holder !== undefined && equalBytes(holder, dataRow);
    if (after === undefined) {
      if (own) out.push({ table, mutation: deleteOf(row) });
      return;
    }
    if (holder !== undefined && !own) {
      const stored = step.read(new Get(holder), schema.table.descriptor.name);
      if (this.planner.hasEntry(index, stored, row)) throw this.planner.duplicateError(index, row, holder);
    }
    // A put after a delete in the same step has a later timestamp.
    if (isShortened) out.push({ table, mutation: deleteOf(row) });
    out.push({ table, mutation: putOf(after, ttl) });
  }

  /** The data row that an entry of a unique index names. */
  private holder({ index, row }: EntryChange, step: Pick<ChangeStep, 'read'>): Uint8Array | undefined {
    const found = step.read(new Get(row), this.indexes.tableName).getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
    return found && decodeEntry(index.index, row, found).dataRow;
  }
}

/**
 * Entries are as durable as their row. Without WAL entry and row could be lost separately, so then entries get the
 * default.
 */
function durabilityOfEntries(ofRow: Durability): Durability {
  return ofRow === 'SKIP_WAL' ? 'USE_DEFAULT' : ofRow;
}
