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
import { ENTRY_QUALIFIER, INDEX_FAMILY, type IndexEntry, NewEntries } from '../../indexes/index.js';
import { applyReadSet, readColumns } from '../../query/projection.js';
import { type CommittingTable, EntryLife, putOf } from '../../repository/index.js';
import { type AtomicStep, type Durability, Get, type Result } from '../../table/index.js';
import type { SplitContext, SplitWork } from '../types.js';
import { type IndexTarget, isOwn } from './target.js';

/** Entries that are gathered at most; a checkpoint mostly comes first. */
const MOST_GATHERED = 32_768;
/** Entries of a step: what other work of this thread waits for. */
const STEP = 2_048;

interface Gathered extends IndexEntry {
  readonly dataRow: Uint8Array;
}

export class SortedBuildWork implements SplitWork {
  private gathered: Gathered[] = [];

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
    let own = 0;
    for (const row of rows) {
      if (!isOwn(this.target, row)) continue;
      own++;
      for (const { row: entry, value } of this.entriesOf(row))
        this.gathered.push({ row: entry, value, dataRow: row.row });
    }
    this.context.count('rows', own);
    if (this.gathered.length >= MOST_GATHERED) await this.write();
  }

  async commit(): Promise<undefined> {
    await this.write();
  }

  private entriesOf(row: Result): readonly IndexEntry[] {
    const { indexes } = this.target;
    if (indexes.schema.key.matches(row.row)) {
      try {
        return this.entries.entriesOf(row);
      } catch {
        // Below it fails as well, and says of what.
      }
    }
    return indexes.entriesOf(row)[0]!;
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

  private async step(gathered: readonly Gathered[], durability: Durability): Promise<void> {
    const { table, touched, context } = this;
    let written = 0;
    await table.atomic((step) => {
      for (const entry of gathered) {
        if (touched.size === 0 || !touched.has(toLatin1(entry.dataRow))) {
          this.put(entry, durability, step);
          written++;
          continue;
        }
        for (const now of this.target.indexes.entriesOf(this.readRow(entry.dataRow, step))[0]!) {
          this.put(now, durability, step);
          written++;
        }
      }
    });
    context.count('entries', written);
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
