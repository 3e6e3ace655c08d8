/** Index jobs of the embedded engine: rows and entries are compared and corrected in one step. */

import { compareSlices, equalBytes, toLatin1 } from '../../../bytes/index.js';
import { OverlappedWork } from '../../../job/entity-rows.js';
import type { RawRowWork, SplitContext } from '../../../job/types.js';
import { applyReadSet, type ReadSet, readColumns } from '../../../query/projection.js';
import { EntryExpiry, readingAtOnce } from '../../../repository/index.js';
import {
  Get,
  RawRow,
  type Result,
  type RowRead,
  type StepTable,
  type TableChange,
} from '../../../table/index.js';
import { NewEntries } from '../entity-indexes.js';
import {
  decodeEntry,
  ENTRY_QUALIFIER,
  EntryReader,
  INDEX_FAMILY,
  type IndexEntry,
  noteRow,
} from '../entry.js';
import { deleteOf, putOf } from '../plan.js';
import { type DifferingRows, hasCell } from './digest.js';
import { type IndexTarget, isOwn, isSampled, isVerified, strayName } from './target.js';

/** Computes entries from cells; `unique` as in `NewEntries.of`. Undefined where entries need more than cells, or expire with their rows. */
export function entriesOfCells({ indexes }: IndexTarget, unique = false): NewEntries | undefined {
  return new EntryExpiry(indexes.schema).ends ? undefined : NewEntries.of(indexes, unique);
}

/** The common part: the row as it is at commit, and its entries. */
abstract class IndexWork extends OverlappedWork {
  protected readonly index;
  private readonly life: EntryExpiry;

  constructor(
    protected readonly target: IndexTarget,
    protected readonly table: StepTable,
    protected readonly context: SplitContext,
  ) {
    super();
    this.index = target.indexes.all[0]!.index;
    this.life = new EntryExpiry(target.indexes.schema);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const { table } = this;
    const { engine } = this.target;
    const counts = new Map<string, number>();
    const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
    const decide = (read: RowRead): readonly TableChange[][] => {
      const changes: TableChange[] = [];
      for (const row of rows) this.one(row, read, changes, count);
      return changes.length === 0 ? [] : [changes];
    };
    if (engine.capabilities.readOnly === true)
      await readingAtOnce(engine)(({ read }) => decide((get, name = table.name) => read(get, name)));
    else await table.commit(decide);
    for (const [what, by] of counts) this.context.count(what, by);
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
    table: StepTable,
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

/** Reads rows and entries as they are in this turn of the event loop, without a step that writers wait for. */
class EntryCheck {
  private readonly entries: StepTable;
  private readonly row = new RawRow();
  private readonly stored = new RawRow();
  private readonly reader: EntryReader;
  private readonly columns: ReadSet;
  /** The entries of the row that was read last. */
  private readonly rows: Uint8Array[] = [];
  private readonly values: Uint8Array[] = [];

  private constructor(
    private readonly target: IndexTarget,
    private readonly table: StepTable,
    private readonly computed: NewEntries,
  ) {
    const { engine, indexes } = target;
    this.entries = engine.table(indexes.tableName) as StepTable;
    this.reader = new EntryReader(indexes.all[0]!.index);
    this.columns = readColumns(indexes.schema, [], indexes.columns, undefined);
  }

  /** Undefined where entries need more than cells, or expire with their rows. */
  static of(target: IndexTarget, table: StepTable): EntryCheck | undefined {
    const computed = entriesOfCells(target);
    return computed && table.getRaw && new EntryCheck(target, table, computed);
  }

  /** The number of entries that a row has, if all are stored as they must be. */
  validOf(row: Uint8Array): number | undefined {
    if (!this.read(row)) return undefined;
    const { rows, values, stored } = this;
    for (let i = 0; i < rows.length; i++) {
      const get = new Get(rows[i]!).addColumn(INDEX_FAMILY, ENTRY_QUALIFIER);
      if (!this.entries.getRaw!(get, stored)) return undefined;
      const { bytes, starts, ends } = stored;
      const value = values[i]!;
      if (compareSlices(bytes, starts[0]!, ends[0]! - starts[0]!, value, 0, value.length) !== 0)
        return undefined;
    }
    return rows.length;
  }

  /** The row of the entity that a stored entry names; undefined for a malformed one. */
  dataRowOf({ row, bytes, starts, ends }: RawRow): Uint8Array | undefined {
    try {
      this.reader.read(row, bytes, starts[0]!, ends[0]!);
      return this.reader.dataRow;
    } catch {
      return undefined;
    }
  }

  /** Whether the row of a stored entry has it. */
  isConfirmed({ row, count, bytes, starts, ends }: RawRow): boolean {
    if (count !== 1) return false;
    this.reader.read(row, bytes, starts[0]!, ends[0]!);
    return this.read(this.reader.dataRow) && this.rows.some((entry) => equalBytes(entry, row));
  }

  /** Computes the entries of a row. False where that takes a step: it may be no entity, or has a value that no entry can hold. */
  private read(key: Uint8Array): boolean {
    const { rows, values, row } = this;
    const { schema } = this.target.indexes;
    rows.length = values.length = 0;
    const get = new Get(key);
    applyReadSet(get, this.columns);
    if (!schema.key.matches(key) || !this.table.getRaw!(get, row) || !hasCell(row, schema.marker!))
      return false;
    try {
      this.computed.addTo(rows, values, row);
      return true;
    } catch {
      return false;
    }
  }
}

/** The common part of both directions of comparing. What has no fault is not read again; all else is compared in a step. */
abstract class ComparingWork extends IndexWork {
  readonly raw: RawRowWork | undefined;
  /** Rows and entries that are compared in a step after the batch. */
  private readonly suspects: Result[] = [];

  constructor(
    target: IndexTarget,
    table: StepTable,
    context: SplitContext,
    protected readonly sample: number,
    protected readonly repair: boolean,
    /** The rows whose entries are compared. Undefined: all. */
    private readonly differing: DifferingRows | undefined,
  ) {
    super(target, table, context);
    const check = EntryCheck.of(target, table);
    this.raw = check && { row: (row) => this.look(row, check), flush: () => this.flush() };
  }

  /** Whether the row or entry has no fault. */
  protected abstract isWell(row: RawRow, check: EntryCheck): boolean;

  /** The row of the entity, if it is known. */
  protected abstract dataRow(row: RawRow, check: EntryCheck): Uint8Array | undefined;

  private look(row: RawRow, check: EntryCheck): void {
    if (!isSampled(row.row, this.sample) || this.isEqual(row, check)) return;
    if (!this.isWell(row, check)) this.suspects.push(row.toResult());
  }

  /** Whether the row, with its entries, is known to have no fault. */
  private isEqual(row: RawRow, check: EntryCheck): boolean {
    const { differing } = this;
    if (differing === undefined) return false;
    const dataRow = this.dataRow(row, check);
    return dataRow !== undefined && !differing.has(dataRow);
  }

  protected async flush(): Promise<void> {
    if (this.suspects.length > 0) await this.rows(this.suspects.splice(0));
  }
}

/** Compares from rows to entries. */
export class RowWork extends ComparingWork {
  /** Rows without a fault since the last batch, and their entries. */
  private wellRows = 0;
  private validEntries = 0;

  protected dataRow({ row }: RawRow): Uint8Array {
    return row;
  }

  protected isWell(row: RawRow, check: EntryCheck): boolean {
    if (!isOwn(this.target, row)) return true;
    const valid = check.validOf(row.row);
    if (valid === undefined) return false;
    this.wellRows++;
    this.validEntries += valid;
    return true;
  }

  protected override async flush(): Promise<void> {
    if (this.wellRows > 0) this.context.count('rows', this.wellRows);
    if (this.validEntries > 0) this.context.count('valid', this.validEntries);
    this.wellRows = this.validEntries = 0;
    await super.flush();
  }

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
  protected dataRow(entry: RawRow, check: EntryCheck): Uint8Array | undefined {
    return check.dataRowOf(entry);
  }

  protected isWell(entry: RawRow, check: EntryCheck): boolean {
    return check.isConfirmed(entry);
  }

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
