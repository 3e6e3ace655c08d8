/**
 * Builds an index whose entries are told from cells (`NewEntries`): they are gathered up to a checkpoint, sorted, and
 * written in steps of entries that stand side by side, which a memstore takes at a fraction of the price of entries that
 * stand anywhere.
 *
 * Rows may be written meanwhile. Whoever writes a row writes its entries, and says so to those who watch, in the step of the
 * row; so an entry that was gathered holds unless its row was told, and then the row is read again in the step that writes
 * the entry. A row that had no entry when it was read needs none from here.
 *
 * Entries become durable in the order of the log: those of the last step of a checkpoint are as durable as the table asks,
 * and those before them therefore too.
 */

import { orderOfRows, toLatin1 } from '../../bytes/index.js';
import {
  dataRowOf,
  ENTRY_QUALIFIER,
  INDEX_FAMILY,
  type IndexEntry,
  NewEntries,
} from '../../indexes/index.js';
import { applyReadSet, readColumns } from '../../query/projection.js';
import { type CommittingTable, EntryLife, putOf } from '../../repository/index.js';
import { type AtomicStep, type Durability, Get, RawRow, type Result } from '../../table/index.js';
import type { RawRowWork, SplitContext, SplitWork } from '../types.js';
import { type IndexTarget, isOwn } from './target.js';

/** Entries that are gathered at most: as many as are sorted by numbers. A checkpoint comes after as many rows. */
export const MOST_GATHERED = 2 ** 16;
/** Entries of a step: what other work of this thread waits for. */
const STEP = 2_048;

export class SortedBuildWork implements SplitWork {
  readonly raw: RawRowWork = { row: (row) => this.row(row), flush: () => this.flush() };
  private gathered: IndexEntry[] = [];
  /** Rows of the entity since the last flush. */
  private own = 0;

  private constructor(
    private readonly target: IndexTarget,
    private readonly entries: NewEntries,
    private readonly table: CommittingTable,
    private readonly context: SplitContext,
    private readonly touched: ReadonlySet<string>,
  ) {}

  /** Undefined where entries take more than cells to tell, or end with their rows. */
  static of(
    target: IndexTarget,
    table: CommittingTable,
    touched: ReadonlySet<string>,
  ): ((context: SplitContext) => SortedBuildWork) | undefined {
    if (new EntryLife(target.indexes.schema).ends) return undefined;
    const entries = NewEntries.of(target.indexes);
    return entries && ((context) => new SortedBuildWork(target, entries, table, context, touched));
  }

  async rows(rows: readonly Result[]): Promise<void> {
    const raw = new RawRow();
    for (const row of rows) {
      raw.fill(row);
      await this.row(raw);
    }
    this.flush();
  }

  private row(row: RawRow): undefined | Promise<void> {
    if (!isOwn(this.target, row)) return undefined;
    this.own++;
    const entries = this.entriesOf(row);
    for (let i = 0; i < entries.length; i++) this.gathered.push(entries[i]!);
    return this.gathered.length >= MOST_GATHERED ? this.write() : undefined;
  }

  private flush(): void {
    this.context.count('rows', this.own);
    this.own = 0;
  }

  async commit(): Promise<undefined> {
    await this.write();
  }

  private entriesOf(row: RawRow): readonly IndexEntry[] {
    const { indexes } = this.target;
    if (indexes.schema.key.matches(row.row)) {
      try {
        return this.entries.entriesOf(row);
      } catch {
        // Below it fails as well, and says of what.
      }
    }
    return indexes.entriesOf(row.toResult())[0]!;
  }

  /** Writes what is gathered; resolves when it is durable. */
  private async write(): Promise<void> {
    const { gathered } = this;
    this.gathered = [];
    const order = orderOfRows(gathered.map(({ row }) => row));
    let before: Promise<void> = Promise.resolve();
    for (let from = 0; from < order.length; from += STEP) {
      const last = from + STEP >= order.length;
      const own = Array.from(order.subarray(from, from + STEP), (at) => gathered[at]!);
      const step = this.step(own, last ? 'USE_DEFAULT' : 'ASYNC_WAL');
      // Whoever waits for it next is told.
      step.catch(() => undefined);
      await before;
      before = step;
    }
    await before;
  }

  private async step(gathered: readonly IndexEntry[], durability: Durability): Promise<void> {
    const { table, target, context } = this;
    let written = 0;
    await table.atomic((step) => {
      for (const entry of gathered) {
        const touched = this.touchedRow(entry);
        if (touched === undefined) {
          this.put(entry, durability, step);
          written++;
          continue;
        }
        for (const now of target.indexes.entriesOf(this.readRow(touched, step))[0]!) {
          this.put(now, durability, step);
          written++;
        }
      }
    });
    context.count('entries', written);
  }

  /** The row of the entity, if somebody has written it since the build began. */
  private touchedRow(entry: IndexEntry): Uint8Array | undefined {
    if (this.touched.size === 0) return undefined;
    const row = dataRowOf(this.target.indexes.all[0]!.index, entry.row);
    return this.touched.has(toLatin1(row)) ? row : undefined;
  }

  private put(entry: IndexEntry, durability: Durability, step: AtomicStep): void {
    const { tableName: table } = this.target.indexes;
    if (step.putLater === undefined) {
      step.apply({ table, change: putOf(entry).setDurability(durability) });
      return;
    }
    const { row, value } = entry;
    step.putLater({ table, row, family: INDEX_FAMILY, qualifier: ENTRY_QUALIFIER, value, durability });
  }

  private readRow(row: Uint8Array, step: AtomicStep): Result {
    const { schema, columns } = this.target.indexes;
    const get = new Get(row);
    applyReadSet(get, readColumns(schema, [], columns, undefined));
    return step.read(get);
  }
}
