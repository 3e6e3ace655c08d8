import { orderOfRows, toLatin1 } from '../../../bytes/index.js';
import type { RawRowWork, SplitContext, SplitWork } from '../../../job/types.js';
import { applyReadSet, readColumns } from '../../../query/projection.js';
import { type AtomicStep, Get, RawRow, type Result, type StepTable } from '../../../table/index.js';
import type { NewEntries } from '../entity-indexes.js';
import { dataRowOf, ENTRY_QUALIFIER, INDEX_FAMILY, type IndexEntry } from '../entry.js';
import { putOf } from '../plan.js';
import { entriesOfCells } from './embedded-work.js';
import { type IndexTarget, isOwn } from './target.js';

/** The most entries collected before they are sorted and written. As many again may be on their way to the WAL. */
const MAX_GATHERED = 2 ** 16;
/** The default number of rows between checkpoints. Each checkpoint shortens a sorted run. */
export const CHECKPOINT_ROWS = 2 ** 20;
/** The state of a checkpoint follows the entries in the WAL, so it cannot become durable before them. */
const DURABILITY = 'ASYNC_WAL';
/** Entries of one step: other work of the thread waits for it. */
const STEP = 2_048;

/**
 * Fast path of building an index whose entries can be computed from cells (`NewEntries`). Entries are collected,
 * sorted, and written in steps of adjacent entries, which are far cheaper for a memstore than scattered ones.
 *
 * Rows may be written meanwhile. Their writers write the entries too, and report the row to the build in the same
 * step. So a collected entry is valid unless its row was reported; such a row is read again in the step that writes
 * the entry. A row without an entry when it was read needs none from the build.
 *
 * Entries become durable in WAL order, and the job's state follows them: a durable checkpoint never covers entries
 * that are not.
 */
export class SortedBuildWork implements SplitWork {
  readonly raw: RawRowWork = { row: (row) => this.row(row), flush: () => this.flush() };
  /** Rows and values of the collected entries. */
  private entryRows: Uint8Array[] = [];
  private values: Uint8Array[] = [];
  /** The write of the previous entries. */
  private writing: Promise<void> = Promise.resolve();
  /** Rows of the entity since the last flush. */
  private own = 0;

  private constructor(
    private readonly target: IndexTarget,
    private readonly entries: NewEntries,
    private readonly table: StepTable,
    private readonly context: SplitContext,
    private readonly touched: ReadonlySet<string>,
  ) {}

  /** Undefined where entries need more than cells, or expire with their rows. */
  static of(
    target: IndexTarget,
    table: StepTable,
    touched: ReadonlySet<string>,
  ): ((context: SplitContext) => SortedBuildWork) | undefined {
    const entries = entriesOfCells(target);
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
    this.gather(row);
    return this.entryRows.length >= MAX_GATHERED ? this.hand() : undefined;
  }

  private gather(row: RawRow): void {
    const { target, entryRows, values } = this;
    const { indexes } = target;
    if (indexes.schema.key.matches(row.row)) {
      try {
        this.entries.addTo(entryRows, values, row);
        return;
      } catch {
        // The general path below fails too, with a better message.
      }
    }
    for (const entry of indexes.entriesOf(row.toResult())[0]!) {
      entryRows.push(entry.row);
      values.push(entry.value);
    }
  }

  private flush(): void {
    this.context.count('rows', this.own);
    this.own = 0;
  }

  async commit(): Promise<undefined> {
    await this.hand();
    await this.writing;
  }

  async close(): Promise<void> {
    await this.writing.catch(() => undefined);
  }

  /** Starts writing the collected entries once the previous ones are written. Rows are read meanwhile. */
  private async hand(): Promise<void> {
    const { entryRows, values } = this;
    this.entryRows = [];
    this.values = [];
    await this.writing;
    this.writing = this.write(entryRows, values);
    // The next one to wait for it sees the error.
    this.writing.catch(() => undefined);
  }

  /** Writes entries. Resolves when they are in the WAL. */
  private async write(rows: readonly Uint8Array[], values: readonly Uint8Array[]): Promise<void> {
    const order = orderOfRows(rows);
    let before: Promise<void> = Promise.resolve();
    for (let from = 0; from < order.length; from += STEP) {
      const own: IndexEntry[] = [];
      for (let i = from; i < order.length && i < from + STEP; i++)
        own.push({ row: rows[order[i]!]!, value: values[order[i]!]! });
      const step = this.step(own);
      step.catch(() => undefined);
      await before;
      before = step;
    }
    await before;
  }

  private async step(gathered: readonly IndexEntry[]): Promise<void> {
    const { table, target, context } = this;
    let written = 0;
    await table.atomic((step) => {
      for (let i = 0; i < gathered.length; i++) {
        const entry = gathered[i]!;
        const touched = this.touchedRow(entry);
        if (touched === undefined) {
          this.put(entry, step);
          written++;
          continue;
        }
        for (const now of target.indexes.entriesOf(this.readRow(touched, step))[0]!) {
          this.put(now, step);
          written++;
        }
      }
    });
    context.count('entries', written);
  }

  /** The row of the entity, if it was written since the build began. */
  private touchedRow(entry: IndexEntry): Uint8Array | undefined {
    if (this.touched.size === 0) return undefined;
    const row = dataRowOf(this.target.indexes.all[0]!.index, entry.row);
    return this.touched.has(toLatin1(row)) ? row : undefined;
  }

  private put(entry: IndexEntry, step: AtomicStep): void {
    const { tableName: table } = this.target.indexes;
    if (step.putLater === undefined) {
      step.apply({ table, change: putOf(entry).setDurability(DURABILITY) });
      return;
    }
    const { row, value } = entry;
    step.putLater({
      table,
      row,
      family: INDEX_FAMILY,
      qualifier: ENTRY_QUALIFIER,
      value,
      durability: DURABILITY,
    });
  }

  private readRow(row: Uint8Array, step: AtomicStep): Result {
    const { schema, columns } = this.target.indexes;
    const get = new Get(row);
    applyReadSet(get, readColumns(schema, [], columns, undefined));
    return step.read(get);
  }
}
