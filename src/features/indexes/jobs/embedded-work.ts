/** Index jobs of the embedded engine: rows and entries are compared and corrected in one step. */

import { equalBytes, toLatin1 } from '../../../bytes/index.js';
import { OverlappedWork } from '../../../job/entity-rows.js';
import type { SplitContext } from '../../../job/types.js';
import { applyReadSet, readColumns } from '../../../query/projection.js';
import { EntryExpiry } from '../../../repository/index.js';
import { Get, type Result, type RowRead, type SyncTable, type TableChange } from '../../../table/index.js';
import { decodeEntry, ENTRY_QUALIFIER, INDEX_FAMILY, type IndexEntry, noteRow } from '../entry.js';
import { deleteOf, putOf } from '../plan.js';
import { type IndexTarget, isOwn, isSampled, isVerified, strayName } from './target.js';

/** A table whose steps may change rows of several tables. */
export type AtomicTable = SyncTable & Required<Pick<SyncTable, 'commit'>>;

/** The common part: the row as it is at commit, and its entries. */
abstract class IndexWork extends OverlappedWork {
  protected readonly index;
  private readonly life: EntryExpiry;

  constructor(
    protected readonly target: IndexTarget,
    protected readonly table: AtomicTable,
    protected readonly context: SplitContext,
  ) {
    super();
    this.index = target.indexes.all[0]!.index;
    this.life = new EntryExpiry(target.indexes.schema);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    let counted: [string, number][] = [];
    await this.table.commit((read) => {
      const changes: TableChange[] = [];
      const counts = new Map<string, number>();
      const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
      for (const row of rows) this.one(row, read, changes, count);
      counted = [...counts];
      return changes.length === 0 ? [] : [changes];
    });
    for (const [what, by] of counted) this.context.count(what, by);
  }

  protected abstract one(
    row: Result,
    read: RowRead,
    changes: TableChange[],
    count: (what: string) => void,
  ): void;

  protected readRow(row: Uint8Array, read: RowRead): Result {
    const get = new Get(row);
    applyReadSet(get, readColumns(this.target.indexes.schema, [], this.target.indexes.columns, undefined));
    return read(get);
  }

  protected readEntry(row: Uint8Array, read: RowRead): Uint8Array | undefined {
    return read(new Get(row), this.target.indexes.tableName).getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
  }

  /** Whether a note about the entry is pending. */
  protected isNoted(entry: Uint8Array, read: RowRead): boolean {
    if (!this.index.eventual) return false;
    return !read(new Get(noteRow(entry)), this.target.indexes.tableName).isEmpty;
  }

  protected entriesOf(row: Result) {
    return this.target.indexes.entriesOf(row)[0]!;
  }

  /** A put of an entry, which expires with the row. */
  protected write(entry: IndexEntry, row: Result): TableChange {
    const cellOf = (family: string, qualifier: Uint8Array) => row.getLatest(family, qualifier);
    const ttl = this.life.remaining(this.target.indexes.all[0]!.needed, cellOf, this.target.engine.now());
    return { table: this.target.indexes.tableName, change: putOf(entry, ttl) };
  }

  /** The other row that holds a unique value, if it still has the value. */
  protected takenBy(
    entry: Uint8Array,
    stored: Uint8Array | undefined,
    row: Uint8Array,
    read: RowRead,
  ): Uint8Array | undefined {
    if (!this.index.unique || stored === undefined) return undefined;
    const { dataRow } = decodeEntry(this.index, entry, stored);
    if (equalBytes(dataRow, row)) return undefined;
    const isHeld = this.entriesOf(this.readRow(dataRow, read)).some((one) => equalBytes(one.row, entry));
    return isHeld ? dataRow : undefined;
  }
}

export class BuildWork extends IndexWork {
  private of: TableChange[] | undefined;
  /** Unique entries of this batch, which are not in the store yet. */
  private readonly pending = new Set<string>();

  constructor(
    target: IndexTarget,
    table: AtomicTable,
    context: SplitContext,
    private readonly touched: ReadonlySet<string>,
  ) {
    super(target, table, context);
  }

  protected one(row: Result, read: RowRead, changes: TableChange[], count: (what: string) => void): void {
    if (!isOwn(this.target, row)) return;
    const { touched } = this;
    const now = touched.size > 0 && touched.has(toLatin1(row.row)) ? this.readRow(row.row, read) : row;
    for (const entry of this.entriesOf(now)) {
      if (this.index.unique) {
        if (
          this.isPending(entry.row, changes) ||
          this.takenBy(entry.row, this.readEntry(entry.row, read), now.row, read) !== undefined
        ) {
          count('conflicts');
          continue;
        }
      }
      changes.push(this.write(entry, now));
      count('entries');
    }
    count('rows');
  }

  private isPending(entry: Uint8Array, changes: TableChange[]): boolean {
    if (this.of !== changes) this.pending.clear();
    this.of = changes;
    const name = toLatin1(entry);
    const pending = this.pending.has(name);
    this.pending.add(name);
    return pending;
  }
}

/** The common part of both directions of comparing. */
abstract class ComparingWork extends IndexWork {
  constructor(
    target: IndexTarget,
    table: AtomicTable,
    context: SplitContext,
    protected readonly sample: number,
    protected readonly repair: boolean,
  ) {
    super(target, table, context);
  }
}

/** Compares from rows to entries. */
export class RowWork extends ComparingWork {
  protected one(row: Result, read: RowRead, changes: TableChange[], count: (what: string) => void): void {
    if (!isOwn(this.target, row) || !isSampled(row.row, this.sample)) return;
    count('rows');
    const now = this.readRow(row.row, read);
    for (const entry of this.entriesOf(now)) {
      const stored = this.readEntry(entry.row, read);
      if (stored !== undefined && equalBytes(stored, entry.value)) {
        count('valid');
        continue;
      }
      const holder = this.takenBy(entry.row, stored, row.row, read);
      const taken = holder !== undefined;
      if (taken) this.target.shared?.note(row.row, holder);
      if (this.isNoted(entry.row, read)) count('pending');
      else count(stored === undefined || taken ? 'missing' : isVerified(stored) ? 'stale' : 'unverified');
      if (!this.repair || taken) continue;
      changes.push(this.write(entry, now));
      count('repaired');
    }
  }
}

/** Compares from entries to rows. Stale entries of existing rows were counted in the other direction. */
export class EntryWork extends ComparingWork {
  protected one(row: Result, read: RowRead, changes: TableChange[], count: (what: string) => void): void {
    if (!isSampled(row.row, this.sample)) return;
    const stored = this.readEntry(row.row, read);
    if (stored === undefined) return;
    const what = this.verdict(row, stored, read);
    if (what === undefined) return;
    count(this.isNoted(row.row, read) ? 'pending' : what);
    if (!this.repair) return;
    changes.push({ table: this.target.indexes.tableName, change: deleteOf(row.row) });
    count('repaired');
  }

  private verdict(entry: Result, stored: Uint8Array, read: RowRead): string | undefined {
    const { dataRow } = decodeEntry(this.index, entry.row, stored);
    const row = this.readRow(dataRow, read);
    if (this.entriesOf(row).some((one) => equalBytes(one.row, entry.row))) return undefined;
    const { timestamp } = entry.cells[0]!;
    return strayName(this.target, { isVerified: isVerified(stored), timestamp }, row);
  }
}
