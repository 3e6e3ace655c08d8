import { toLatin1 } from '../../../bytes/index.js';
import type { DerivedPutsWork, RawRowWork, SplitContext, SplitWork } from '../../../job/types.js';
import { KeyWriter } from '../../../key/codecs/index.js';
import { applyReadSet, readColumns } from '../../../query/projection.js';
import {
  type AtomicStep,
  ColumnPuts,
  Get,
  type PackedDerivedPuts,
  RawRow,
  type Result,
  STEP_BYTES,
  STEP_PUTS,
  type StepTable,
} from '../../../table/index.js';
import type { NewEntries } from '../entity-indexes.js';
import { dataRowOf, ENTRY_QUALIFIER, INDEX_FAMILY, type IndexEntry } from '../entry.js';
import { putOf } from '../plan.js';
import { derivedEntries } from './derived-entries.js';
import { entriesOfCells } from './embedded-work.js';
import { type IndexTarget, isOwn } from './target.js';

/** The default number of rows between checkpoints. Each waits for the entries that are being written. */
export const CHECKPOINT_ROWS = 2 ** 20;
/** The state of a checkpoint follows the entries in the WAL, so it cannot become durable before them. */
const DURABILITY = 'ASYNC_WAL';
const INITIAL_BYTES = 2 ** 17;

/** Entries of one step, in one buffer. */
class GatheredEntries {
  readonly puts: ColumnPuts;
  readonly out = new KeyWriter(INITIAL_BYTES);

  constructor(table: string) {
    this.puts = new ColumnPuts(table, INDEX_FAMILY, ENTRY_QUALIFIER, DURABILITY);
    this.out.append(ENTRY_QUALIFIER);
  }

  get isFull(): boolean {
    return this.puts.count >= STEP_PUTS || this.out.length >= STEP_BYTES;
  }

  add({ row, value }: IndexEntry): void {
    const { puts, out } = this;
    out.append(row);
    puts.rowEnds.push(out.length);
    out.append(value);
    puts.valueEnds.push(out.length);
    puts.bytes = out.buffer;
  }
}

/**
 * Fast path of building an index whose entries can be computed from cells (`NewEntries`). The entries of many rows are collected in one
 * buffer and written in one step, without an object for each. The memstore sorts those of several steps together.
 *
 * Rows may be written meanwhile. Their writers write the entries too, and report the row to the build in the same
 * step. So a collected entry is valid unless its row was reported; such a row is read again in the step that writes
 * the entry. A row without an entry when it was read needs none from the build.
 *
 * Entries become durable in WAL order, and the job's state follows them: a durable checkpoint never covers entries
 * that are not.
 */
export class PackedBuildWork implements SplitWork {
  readonly raw: RawRowWork = { row: (row) => this.row(row), flush: () => this.flush() };
  /** Threads that read make the entries, too. */
  readonly derived: DerivedPutsWork | undefined;
  private gathered: GatheredEntries;
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
    made: DerivedPutsWork['puts'] | undefined,
  ) {
    this.derived = made && { puts: made, take: (packet) => this.take(packet) };
    this.gathered = new GatheredEntries(target.indexes.tableName);
  }

  /** Undefined where entries need more than cells, or expire with their rows. */
  static of(
    target: IndexTarget,
    table: StepTable,
    touched: ReadonlySet<string>,
  ): ((context: SplitContext) => PackedBuildWork) | undefined {
    const entries = entriesOfCells(target);
    if (entries === undefined) return undefined;
    const made = derivedEntries(target);
    return (context) => new PackedBuildWork(target, entries, table, context, touched, made);
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
    return this.gathered.isFull ? this.hand() : undefined;
  }

  private gather(row: RawRow): void {
    const { indexes } = this.target;
    const { puts, out } = this.gathered;
    if (indexes.schema.key.matches(row.row)) {
      try {
        this.entries.addRaw(puts, out, row);
        return;
      } catch {
        // The general path below fails too, with a better message.
      }
    }
    for (const entry of indexes.entriesOf(row.toResult())[0]!) this.gathered.add(entry);
  }

  private async take({ rows, puts, others }: PackedDerivedPuts): Promise<void> {
    const { tableName } = this.target.indexes;
    for (const each of puts)
      await this.start((step) =>
        this.step(ColumnPuts.of(tableName, INDEX_FAMILY, ENTRY_QUALIFIER, DURABILITY, each), step),
      );
    for (let from = 0; from < others.length; from += STEP_PUTS) {
      const some = others.slice(from, from + STEP_PUTS);
      await this.start((step) => some.reduce((written, row) => written + this.putEntriesOf(row, step), 0));
    }
    this.own += rows;
    this.flush();
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
    const { puts } = this.gathered;
    if (puts.count === 0) return;
    this.gathered = new GatheredEntries(this.target.indexes.tableName);
    await this.start((step) => this.step(puts, step));
  }

  /** Begins a step once the previous one is written. `write` returns the number of entries. */
  private async start(write: (step: AtomicStep) => number): Promise<void> {
    await this.writing;
    this.writing = this.written(write);
    // The next one to wait for it sees the error.
    this.writing.catch(() => undefined);
  }

  /** Resolves when the entries are in the WAL. */
  private async written(write: (step: AtomicStep) => number): Promise<void> {
    this.context.count('entries', await this.table.atomic(write));
  }

  /** Returns the number of entries that it wrote. */
  private step(puts: ColumnPuts, step: AtomicStep): number {
    if (this.touched.size === 0 && step.putColumn?.(puts) === true) return puts.count;
    let written = 0;
    for (let i = 0; i < puts.count; i++) {
      const row = puts.rowAt(i);
      const touched = this.touchedRow(row);
      if (touched !== undefined) {
        written += this.putEntriesOf(touched, step);
        continue;
      }
      this.put({ row: row.slice(), value: puts.bytes.slice(puts.rowEnds[i], puts.valueEnds[i]) }, step);
      written++;
    }
    return written;
  }

  /** Writes the entries of a row as it is now, and returns their number. */
  private putEntriesOf(row: Uint8Array, step: AtomicStep): number {
    const entries = this.target.indexes.entriesOf(this.readRow(row, step))[0]!;
    for (const entry of entries) this.put(entry, step);
    return entries.length;
  }

  /** The row of the entity, if it was written since the build began. */
  private touchedRow(entry: Uint8Array): Uint8Array | undefined {
    if (this.touched.size === 0) return undefined;
    const row = dataRowOf(this.target.indexes.all[0]!.index, entry);
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
