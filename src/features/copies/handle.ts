import { equalBytes } from '../../bytes/index.js';
import { QueryError, RowanError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import {
  deleteNote,
  getNote,
  isNoteOf,
  MAX_EFFECTS,
  OUTBOX_TABLE,
  type OutboxNote,
  type RowMaintainer,
  readNotes,
} from '../../repository/index.js';
import type { AdoptedSchema } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import { checkGiven } from '../../table/checks.js';
import { Scan, type StepTable } from '../../table/index.js';
import type { Feature, FeatureContext } from '../feature.js';
import type { IndexesFeature, IndexHandle } from '../indexes/handle.js';
import type { DrainOptions, Outbox } from '../outbox.js';
import type { CopyReport, CopyTarget } from './jobs.js';
import { CopyHolder, CopySource } from './maintain.js';
import { CopyPlan } from './plan.js';

// — Operations on all copies in the rows of one entity.

/** The result of a check, with the state of the outbox. */
export interface CopiesReport extends CopyReport {
  /**
   * Pending effects in the outbox, of any entity: sources whose copies are still to be changed; on HBase also changes
   * in progress.
   */
  readonly pending: number;
}

/** Options of `repair` and `backfill`. */
export interface CopiesRepairOptions extends JobRunOptions, DrainOptions {}

/** The copies of an entity of an open database (docs/denormalization.md). Made by `Database.denormalized`. */
export class CopyHandle {
  constructor(
    private readonly outbox: Outbox,
    private readonly target: CopyTarget,
    /** The indexes by which its rows are found. */
    private readonly indexes: readonly IndexHandle[],
  ) {}

  /** Resolves when every change of a source that was in the outbox at the call has reached its copies. */
  drain(options?: DrainOptions): Promise<void> {
    return this.outbox.drain(options);
  }

  /** Compares every row with its sources. Changes nothing. */
  check(run?: JobRunOptions): Promise<CopiesReport> {
    return this.report(false, run);
  }

  /** As `check`, and corrects every copy. A second repair changes nothing. */
  async repair(options: CopiesRepairOptions = {}): Promise<CopiesReport> {
    const { settledAfter, ...run } = checkGiven('repair', options);
    await this.drain(settledAfter === undefined ? {} : { settledAfter });
    return this.report(true, run);
  }

  /**
   * Builds incomplete indexes through which rows are found, then repairs. Needed when a declaration is added and rows
   * exist.
   */
  async backfill(options: CopiesRepairOptions = {}): Promise<CopiesReport> {
    const { settledAfter: _, ...run } = checkGiven('backfill', options);
    for (const index of this.indexes) if (index.state !== 'active') await index.build(run);
    return this.repair(options);
  }

  private async report(repair: boolean, run: JobRunOptions | undefined): Promise<CopiesReport> {
    const { checkCopies } = await import('./jobs.js');
    const report = await checkCopies(this.target, repair, run);
    return { ...report, pending: await this.outbox.pending() };
  }
}

/** Rows changed in one step of the outbox. */
const STEP_ROWS = 256;
/** Notes read at once. */
const NOTES = 64;

/** The rows that hold copies of a row, as `Database.explainWrite` lists them. */
export interface ExplainedCopies {
  /** The entity whose rows hold the copies. */
  readonly entity: string;
  /** Own property -> property of the source. */
  readonly fields: Readonly<Record<string, string>>;
  /** How the rows are found: `key`, or the name of an index. */
  readonly foundBy: string;
  /** The rows that name this one, counted up to 10,000. */
  readonly rows: number;
  readonly fanOut: number;
  /**
   * The time at which a copy is written: in the step of the write, after it while the writer waits (HBase), or by the
   * outbox.
   */
  readonly how: 'step' | 'behind' | 'outbox';
}

/** The copies that a write of a row affects. */
export interface ExplainedCopying {
  /** Copies in the row itself: the entities that a write of the row reads. */
  readonly copiedFrom: readonly string[];
  /** Copies of the row in other rows. */
  readonly copiedTo: readonly ExplainedCopies[];
}

/** The copies feature of an open database, with its outbox on the embedded engine. */
export class CopiesFeature implements Feature, Outbox {
  /** The number of notes written so far, including those of uncommitted transactions. */
  private notes = 0;
  private byHolder = new Map<EntityClass, readonly CopyPlan[]>();
  private bySource = new Map<EntityClass, readonly CopyPlan[]>();
  private draining: Promise<void> | undefined;
  private again = false;
  private ended = false;

  constructor(
    private readonly context: FeatureContext,
    private readonly indexes: IndexesFeature,
  ) {}

  /** Undefined on HBase: there every effect has an intent of its own. */
  get outbox(): Outbox | undefined {
    return this.context.isRemote ? undefined : this;
  }

  /** Registers the declarations. */
  adopt({ entities }: AdoptedSchema): void {
    const now = (): number => this.context.now();
    this.byHolder = new Map();
    this.bySource = new Map();
    for (const { target, copies } of entities) {
      if (copies.length === 0) continue;
      const plans = copies.map((copy) =>
        CopyPlan.of(this.context.schemaOf(target), copy, this.context.schemaOf(copy.target()), now),
      );
      this.byHolder.set(target, plans);
      for (const plan of plans) {
        const { target: from } = plan.source;
        this.bySource.set(from, [...(this.bySource.get(from) ?? []), plan]);
      }
    }
  }

  /** The maintainers of the copies in an entity's rows, and of copies of its rows. */
  maintainers({ target }: EntitySchema): RowMaintainer[] {
    const held = this.byHolder.get(target);
    const copied = this.bySource.get(target);
    const { context } = this;
    const out: RowMaintainer[] = [];
    if (held !== undefined) out.push(new CopyHolder(held[0]!.entity, held, context));
    if (copied !== undefined)
      out.push(new CopySource(copied[0]!.source, copied, context, () => this.noted()));
    return out;
  }

  sources({ copies }: Pick<EntitySchema, 'copies'>): ReturnType<NonNullable<Feature['sources']>> {
    return { what: 'copies (@Denormalized)', entities: copies.map(({ target }) => target()) };
  }

  /** @throws QueryError when the entity declares none. */
  handle(schema: EntitySchema): CopyHandle {
    const plans = this.plansOf(schema);
    if (plans.length === 0) {
      throw new QueryError(
        `${schema.name} has no copies. Declare them: static readonly copies = { name: copy(…) }.`,
        {
          details: { entity: schema.name },
        },
      );
    }
    const names = new Set(schema.copies.flatMap(({ index }) => index ?? []));
    const { engine, driver, isRemote, outbox, reading } = this.context;
    const repair = (row: Uint8Array) => this.repair(schema, row);
    const rows = isRemote ? { remote: { reading, repair } } : { driver };
    return new CopyHandle(
      outbox,
      { engine, schema, plans, ...rows },
      [...names].map((name) => this.indexes.handle(schema, name)),
    );
  }

  /**
   * HBase: sets the copies of a row to the values of its sources. @returns how many declarations had something to
   * change.
   */
  private async repair(schema: EntitySchema, row: Uint8Array): Promise<number> {
    const holder = new CopyHolder(schema, this.plansOf(schema), this.context);
    const repaired = await holder.repair(row);
    await holder.settle(row);
    return repaired;
  }

  async explain(schema: EntitySchema, row: Uint8Array): Promise<ExplainedCopying> {
    const { isRemote, reading } = this.context;
    const copiedTo: ExplainedCopies[] = [];
    for (const plan of this.bySource.get(schema.target) ?? []) {
      const { rows } = await reading((step) => plan.link.find(step, row, MAX_EFFECTS));
      copiedTo.push({
        entity: plan.entity.name,
        fields: Object.fromEntries(plan.copy.fields.map(({ column, source }) => [column.property, source])),
        foundBy: plan.link.foundBy,
        rows: rows.length,
        fanOut: plan.fanOut,
        how: rows.length > plan.fanOut ? 'outbox' : isRemote ? 'behind' : 'step',
      });
    }
    return { copiedFrom: this.plansOf(schema).map(({ source }) => source.name), copiedTo };
  }

  private plansOf({ target }: EntitySchema): readonly CopyPlan[] {
    return this.byHolder.get(target) ?? [];
  }

  /** Works off the notes of a transaction once it is committed. */
  async kickAfter<T>(written: Promise<T>): Promise<T> {
    const before = this.notes;
    try {
      return await written;
    } finally {
      if (this.notes !== before) this.kick();
    }
  }

  private noted(): void {
    this.notes++;
    // After the step that writes the note.
    setImmediate(() => this.kick());
  }

  /** Starts working off the outbox in the background. */
  kick(): void {
    if (this.ended || this.byHolder.size === 0) return;
    this.drain().catch((error: unknown) => {
      if (!this.ended && error instanceof RowanError) this.context.onFailure(error);
    });
  }

  /** Resolves when every note that was pending at the call is processed. */
  drain(): Promise<void> {
    this.again = true;
    this.draining ??= this.passes().finally(() => {
      this.draining = undefined;
    });
    return this.draining;
  }

  /** The number of pending notes. */
  async pending(): Promise<number> {
    let count = 0;
    for await (const found of this.table(OUTBOX_TABLE).scan(new Scan())) count += readNotes(found).length;
    return count;
  }

  /** Stops after the current step. The rest is resumed when the database is opened next. */
  async end(): Promise<void> {
    this.ended = true;
    await this.draining?.catch(() => undefined);
  }

  private async passes(): Promise<void> {
    while (this.again && !this.ended) {
      this.again = false;
      let last: Uint8Array | undefined;
      do last = await this.pass(last);
      while (last !== undefined && !this.ended);
    }
  }

  /** Processes a page of notes. @returns the last of them; undefined at the end. */
  private async pass(after: Uint8Array | undefined): Promise<Uint8Array | undefined> {
    const scan = new Scan().setLimit(NOTES);
    if (after !== undefined) scan.withStartRow(after, false);
    const found = await this.table(OUTBOX_TABLE).atomic((step) => step.scan(scan));
    for (const note of found.flatMap(readNotes)) {
      const plans = this.plansOfNote(note);
      for (const [at, plan] of plans.entries()) {
        await this.work(note, plan, at === plans.length - 1);
        if (this.ended) return undefined;
      }
    }
    return found.at(-1)?.row;
  }

  /**
   * The plans of a note: the declarations of one link share it. Notes of declarations that this program does not know
   * are left for one that does.
   */
  private plansOfNote(note: OutboxNote): readonly CopyPlan[] {
    return [...this.byHolder.values()].flatMap((plans) => plans.filter((plan) => isNoteOf(note, plan)));
  }

  /** Gives a source's values to the rows of one plan. @param isLast whether the note is done then. */
  private async work(note: OutboxNote, plan: CopyPlan, isLast: boolean): Promise<void> {
    const { driver } = this.context;
    const { target } = note;
    let from: Parameters<CopyPlan['link']['find']>[3];
    do {
      from = await this.table(plan.entity.table.descriptor.name).atomic((step) => {
        const values = plan.valuesOf(plan.read(step, target));
        const { rows, next } = plan.link.find(step, target, STEP_ROWS, from);
        driver.applyChanges(plan.changes(rows, target, values), step);
        if (next !== undefined || !isLast) return next;
        // A note written again meanwhile is processed again: rows done so far have seen the older source.
        const [now] = readNotes(step.read(getNote(note), OUTBOX_TABLE));
        if (now !== undefined && equalBytes(now.token, note.token)) {
          const { table, mutation } = deleteNote(note);
          step.apply({ table, change: mutation });
        } else if (now !== undefined) this.again = true;
        return undefined;
      });
    } while (from !== undefined && !this.ended);
  }

  /** A table as its entities are declared, with atomic steps. */
  private table(name: string): StepTable {
    return this.context.engine.table(name) as StepTable;
  }
}
