import { equalBytes } from '../../bytes/index.js';
import { ControlTable, controlTableDescriptor, ensureTable, type Kept, rekeyRow } from '../../ddl/index.js';
import { ConflictError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import type { Engine } from '../../table/index.js';
import { isOfTables, type RekeyRecord, type RekeyState, STATE_ORDER, tablesOf } from './strategy.js';

/** Milliseconds between two checks whether another process has ended the change. */
const POLL_MS = 500;

/**
 * Reads and updates the record of a key change. On engines shared by several processes, each of them may resume the
 * same change.
 */
export class RekeyRecordAccess {
  private readonly tables: readonly [string, string];

  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
  ) {
    this.tables = tablesOf(from, to);
  }

  /** Undefined when the change was never begun. Creates no table: a reader may lack the right. */
  async read(): Promise<Kept<RekeyRecord> | undefined> {
    const control = await this.existing();
    return control && (await this.find(control)).kept;
  }

  /**
   * The row of the record, and what it contains. A program that is the first with these names has the short row. It is
   * never removed, so the row of a record stays the same.
   */
  private async find(
    control: ControlTable,
  ): Promise<{ row: Uint8Array; kept: Kept<RekeyRecord> | undefined }> {
    const { from, to, tables } = this;
    const row = rekeyRow(from.name, to.name);
    const kept = await control.read<RekeyRecord>(row);
    if (kept === undefined || isOfTables(kept.value, tables)) return { row, kept };
    const longRow = rekeyRow(from.name, to.name, tables);
    return { row: longRow, kept: await control.read<RekeyRecord>(longRow) };
  }

  /** @throws ConflictError when the change was never begun. */
  async required(): Promise<RekeyRecord> {
    const known = await this.read();
    if (known === undefined) throw this.neverBegun();
    return known.value;
  }

  /** Replaces the record that was read by a new one. Undefined: another process has changed it since. */
  async begin(
    known: Kept<RekeyRecord> | undefined,
    record: Omit<RekeyRecord, 'changed' | 'tables'>,
  ): Promise<RekeyRecord | undefined> {
    const { tables, engine } = this;
    const next: RekeyRecord = { ...record, tables, changed: engine.now() };
    const control = await this.control();
    const row = known?.row ?? (await this.find(control)).row;
    return (await control.change(row, known, next)) && next;
  }

  /** Updates the record, whatever its state. */
  set(change: Partial<RekeyRecord>): Promise<RekeyRecord> {
    return this.change(() => change) as Promise<RekeyRecord>;
  }

  /**
   * Updates the record if its state is that of `before`. If another process has taken the same step already, returns
   * its record.
   * @throws ConflictError when another process has aborted or restarted the change, or cuts over in place of this
   * one.
   */
  advance(before: RekeyRecord, change: Partial<RekeyRecord>): Promise<RekeyRecord> {
    return this.change((known) => {
      if (isSame(known, before, change)) return change;
      if (isFurther(known, before)) return undefined;
      throw this.overtaken(known.state);
    });
  }

  /**
   * @throws ConflictError when another process has aborted or restarted the change, or cuts over in place of this
   * one.
   */
  async checkCutting(before: RekeyRecord): Promise<void> {
    const { run, state, cutting } = await this.required();
    if (run !== before.run || state !== before.state || cutting !== before.cutting)
      throw this.overtaken(state);
  }

  /** The time of the engine, which is not below that of any earlier write. */
  async time(): Promise<number> {
    await this.set({});
    const control = await this.control();
    return control.changedAt((await this.find(control)).row);
  }

  /** Whether the record is unchanged since it was read. */
  async isAsRead(known: Kept<RekeyRecord> | undefined): Promise<boolean> {
    const now = await this.read();
    return known === undefined || now === undefined ? known === now : equalBytes(known.bytes, now.bytes);
  }

  /** Polls the record, and calls `stop` once `mustStop` holds. @returns a function that ends the polling. */
  poll(mustStop: (record: RekeyRecord) => boolean, stop: () => void): () => void {
    let looking = false;
    const look = async (): Promise<void> => {
      if (looking) return;
      looking = true;
      // A failed read is tried again; lasting failures show in the work itself.
      const known = await this.read().catch(() => undefined);
      looking = false;
      if (known !== undefined && mustStop(known.value)) stop();
    };
    const timer = setInterval(() => void look(), POLL_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** `what` returns undefined where nothing is to be changed. */
  private async change(what: (known: RekeyRecord) => Partial<RekeyRecord> | undefined): Promise<RekeyRecord> {
    const control = await this.existing();
    if (control === undefined) throw this.neverBegun();
    for (;;) {
      const { kept: known } = await this.find(control);
      if (known === undefined) throw this.neverBegun();
      const change = what(known.value);
      if (change === undefined) return known.value;
      const next: RekeyRecord = { ...known.value, ...change, changed: this.engine.now() };
      if ((await control.change(known.row, known, next)) !== undefined) return next;
    }
  }

  private async existing(): Promise<ControlTable | undefined> {
    const { name } = controlTableDescriptor();
    const { engine } = this;
    return (await engine.admin.tableExists(name)) ? new ControlTable(engine.table(name)) : undefined;
  }

  private async control(): Promise<ControlTable> {
    const descriptor = controlTableDescriptor();
    await ensureTable(this.engine.admin, descriptor);
    return new ControlTable(this.engine.table(descriptor.name));
  }

  private overtaken(state: RekeyState): ConflictError {
    return new ConflictError(
      `Another process has continued the change of the keys of ${this.from.name} to those of ${this.to.name}; its state is "${state}" now. Call status(), then decide again.`,
      { details: { entity: this.from.name, state } },
    );
  }

  private neverBegun(): ConflictError {
    return new ConflictError(
      `No change of the keys of ${this.from.name} to those of ${this.to.name} is in progress. Start it with run().`,
      { details: { entity: this.from.name } },
    );
  }
}

function isSame(known: RekeyRecord, before: RekeyRecord, { state }: Partial<RekeyRecord>): boolean {
  if (known.run !== before.run || known.state !== before.state) return false;
  return state !== 'cut-over' || known.cutting === before.cutting;
}

function isFurther(known: RekeyRecord, before: RekeyRecord): boolean {
  const at = STATE_ORDER.indexOf(before.state);
  return known.run === before.run && at >= 0 && STATE_ORDER.indexOf(known.state) > at;
}
