/** The handle of a key change (`db.rekey(…)`): `plan` to `cleanup` (docs/rekey.md). */

import { randomUUID } from 'node:crypto';
import { AvroRegistry, schemaTableDescriptor, TableSchemaStore } from '../../codec/index.js';
import { checkSchemas } from '../../ddl/index.js';
import { ConflictError, InvalidArgumentError, RowanError, SchemaError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import { copiedAvro } from '../../schema/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { checkOptions } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import type { RekeyDifferences } from './jobs/compare.js';
import type { DualWrites } from './jobs/dual-writes.js';
import { mappingProblems } from './jobs/row-mapping.js';
import { RekeyRecordAccess } from './record-access.js';
import {
  type CleanupOptions,
  type CutOverOptions,
  hasDualWrites,
  isAborted,
  isWrong,
  type RekeyRecord,
  type RekeyRun,
  type RekeyState,
  type RekeyStrategy,
} from './strategy.js';

export interface RekeyPlan {
  readonly fromKey: string;
  readonly toKey: string;
  /** Why the change is impossible. Empty when it is possible. */
  readonly problems: readonly string[];
  /** The stored progress. Undefined when the change was never begun. */
  readonly record: RekeyRecord | undefined;
}

/**
 * A change of an entity's keys, made by `Database.rekey`. Each call resumes where the last one, even of a killed
 * process, stopped.
 */
export class Rekey {
  private running: AbortController | undefined;
  private readonly access: RekeyRecordAccess;

  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
    private readonly dualWrites: DualWrites,
    private readonly strategy: RekeyStrategy,
    private readonly declared: () => readonly EntitySchema[],
    /** The position of change feeds. Undefined: changes are not recorded. */
    private readonly feedPosition: () => Promise<string | undefined>,
  ) {
    this.access = new RekeyRecordAccess(engine, from, to);
  }

  /** Checks whether the change is possible, and reports its progress. Changes nothing. */
  async plan(): Promise<RekeyPlan> {
    return {
      fromKey: this.from.key.signature,
      toKey: this.to.key.signature,
      problems: this.problems(),
      record: await this.status(),
    };
  }

  /** The stored progress. Undefined when the change was never begun. */
  async status(): Promise<RekeyRecord | undefined> {
    const record = (await this.access.read())?.value;
    // Another process may have cut over, or aborted, a change that this one has run.
    if (record !== undefined && mayWriteNew(record)) this.strategy.allowNewWrites();
    return record;
  }

  /**
   * Runs until the new layout is complete (`ready`): starts writing to both layouts, copies earlier rows, and
   * compares the two. Readers and writers continue meanwhile.
   * @throws SchemaError when the change is impossible; ConflictError when the new layout has rows of its own, or
   * differs; RowanError `ERR_ABORTED` when it was paused or `signal` aborted it (call `run` again to resume),
   * `ERR_BUSY` when it is running already.
   */
  run(options: JobRunOptions = {}): Promise<RekeyRecord> {
    return this.exclusively(options, async (run) => {
      let record = await this.begun();
      if (record.paused) record = await this.access.set({ paused: false });
      return this.abortingWhen(record, isStopped, async () => {
        const { strategy, access } = this;
        if (record.state === 'planned') {
          // Before it is recorded: processes that read that it has begun rely on it.
          await strategy.begin(this.runOf(record), run);
          record = await access.advance(record, { state: strategy.firstState });
        }
        if (record.state === 'dual-write') record = await access.advance(record, { state: 'backfill' });
        if (record.state === 'backfill') {
          await strategy.copy(this.runOf(record), run);
          record = await access.advance(record, { state: 'verify' });
        }
        if (record.state !== 'verify' && !(record.state === 'ready' && strategy.canVerifyAgain))
          return record;
        const differences = await strategy.verify(this.runOf(record), run);
        if (differences === undefined) return access.advance(record, { state: 'ready' });
        if (isWrong(differences)) {
          await access.set({ differences });
          throw this.differs(differences);
        }
        await strategy.copiesVisible();
        return access.advance(record, { state: 'ready', differences, ...(await this.feeds('feedsFrom')) });
      });
    });
  }

  /** Stops a `run`, in whichever process it is. Writes still go to both layouts. The next `run` resumes. */
  async pause(): Promise<RekeyRecord> {
    this.running?.abort();
    return this.access.set({ paused: true });
  }

  /**
   * Switches to the new layout. On the embedded engine the old layout is still updated, so that `abort` can return to
   * it until `cleanup`. On HBase and Bigtable the remaining writes are copied and, unless `compare` is false, every row is
   * compared with its copy, while writes continue. Then the old table refuses all writes (`ERR_READONLY`), and
   * writers wait, at most `restMs`, until the last writes are copied.
   * @throws ConflictError unless both hold the same (`ready`); RowanError `ERR_BUSY` when more is written than can be
   *   copied while writes rest. Then writes of the old layout go on.
   */
  cutOver(options: CutOverOptions = {}): Promise<RekeyRecord> {
    checkOptions('cutOver', options, { compare: true, restMs: true, signal: true });
    const { restMs } = options;
    if (restMs !== undefined && !(restMs > 0))
      throw new InvalidArgumentError(`restMs is a positive number of milliseconds, not ${restMs}.`);
    return this.exclusively(
      options.signal === undefined ? {} : { signal: options.signal },
      async ({ signal }) => {
        const { access, strategy } = this;
        let record = await access.required();
        if (record.state === 'cut-over') return record;
        if (record.state !== 'ready')
          throw this.notNow('cut over', record.state, 'Run it until it is ready.');
        // If several processes try at once, the last one counts.
        const claim = this.engine.capabilities.sync ? undefined : randomUUID();
        if (claim !== undefined) record = await access.advance(record, { cutting: claim });
        if (record.state !== 'ready') return record;
        return this.abortingWhen(record, isAborted, async () => {
          const cut = await strategy.cutOver(
            this.runOf(record),
            { ...options, ...(signal && { signal }) },
            (differences, rested) => this.recordCutOver(record, differences, rested),
          );
          strategy.allowNewWrites();
          return cut;
        });
      },
    );
  }

  private async recordCutOver(
    record: RekeyRecord,
    differences: RekeyDifferences | undefined,
    rested: number | undefined,
  ): Promise<RekeyRecord> {
    if (differences !== undefined && isWrong(differences)) {
      await this.access.set({ differences });
      throw this.differs(differences);
    }
    // On HBase and Bigtable the old table refuses writes by now, and the new one still refuses them.
    const feeds = this.strategy.canAbortAfterCutOver ? {} : await this.feeds('feedsFrom', 'feedsUntil');
    return this.access.advance(record, {
      state: 'cut-over',
      ...feeds,
      ...(differences && { differences }),
      ...(rested !== undefined && { rested }),
    });
  }

  /**
   * Removes the rows of the old layout, which can no longer be written. This cannot be undone.
   * @throws ConflictError before the cut-over; and, unless `compare` is false, when the old layout has rows or cells
   * that the new one lacks: then nothing is removed.
   */
  cleanup({ compare = true, ...options }: CleanupOptions = {}): Promise<RekeyRecord> {
    return this.exclusively(options, async (run) => {
      const { access } = this;
      let record = await access.required();
      if (record.state === 'done') return record;
      if (record.state !== 'cut-over' && record.state !== 'cleanup')
        throw this.notNow('cleaned up', record.state, 'Cut over first.');
      if (record.state === 'cut-over') {
        const lost = compare ? await this.strategy.lostAtCleanup(this.runOf(record), run) : undefined;
        if (lost !== undefined && isWrong(lost)) throw this.wouldLose(lost);
        // Both entities have every change up to here: writes go to both until the record says otherwise.
        const feeds = record.feedsUntil === undefined ? await this.feeds('feedsUntil') : {};
        record = await access.advance(record, { state: 'cleanup', ...feeds });
      }
      await this.strategy.removeOld(this.runOf(record), run);
      return access.advance(record, { state: 'done' });
    });
  }

  /** Returns to the old layout, and removes the rows of the new one. @throws ConflictError from `cleanup` on. */
  async abort(options: JobRunOptions = {}): Promise<RekeyRecord> {
    this.running?.abort();
    await this.idle;
    return this.exclusively(options, async (run) => {
      const { access } = this;
      let record = await access.required();
      if (record.state === 'aborted') return record;
      if (record.state === 'cleanup' || record.state === 'done')
        throw this.notNow('aborted', record.state, 'Declare and run a key change in the opposite direction.');
      if (record.state === 'cut-over' && !this.strategy.canAbortAfterCutOver)
        throw this.notNow(
          'aborted',
          record.state,
          'The new table may have been written since. Declare and run a key change in the opposite direction.',
        );
      if (record.state !== 'aborting') {
        const feeds = record.feedsFrom === undefined ? {} : await this.feeds('feedsUntil');
        record = await access.advance(record, { state: 'aborting', ...feeds });
      }
      await this.strategy.removeNew(this.runOf(record), run);
      return access.advance(record, { state: 'aborted' });
    });
  }

  /** Settles when no work is running. */
  private idle: Promise<unknown> = Promise.resolve();

  private async exclusively<T>(options: JobRunOptions, work: (run: JobRunOptions) => Promise<T>): Promise<T> {
    if (this.running !== undefined) {
      throw new RowanError(
        'ERR_BUSY',
        `The keys of ${this.from.name} are being changed by another call. Await it, or pause it first.`,
        {
          details: { entity: this.from.name },
        },
      );
    }
    const stop = new AbortController();
    this.running = stop;
    const signal =
      options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    try {
      const working = work({ ...options, signal });
      this.idle = working.catch(() => undefined);
      return await working;
    } finally {
      this.running = undefined;
    }
  }

  /** Runs work that is aborted (`ERR_ABORTED`) once another process has changed the record so that it must stop. */
  private async abortingWhen<T>(
    { run }: RekeyRecord,
    ends: (record: RekeyRecord) => boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    // Only one process can have such a store open.
    if (this.engine.capabilities.sync) return work();
    const { running, access } = this;
    const end = access.poll(
      (record) => record.run !== run || ends(record),
      () => running?.abort(),
    );
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** The position of change feeds as these properties of the record. */
  private async feeds(...names: readonly ('feedsFrom' | 'feedsUntil')[]): Promise<Partial<RekeyRecord>> {
    const position = await this.feedPosition();
    return position === undefined ? {} : Object.fromEntries(names.map((name) => [name, position]));
  }

  private runOf(record: RekeyRecord): RekeyRun {
    const { engine, from, to, dualWrites, access } = this;
    return {
      target: { engine, from, to, dualWrites, run: record.run, tables: record.tables },
      record,
      now: () => access.required(),
      checkCutting: () => access.checkCutting(record),
      set: (change) => access.set(change),
      time: () => access.time(),
    };
  }

  private problems(): string[] {
    return [...mappingProblems(this.from, this.to, this.declared()), ...this.strategy.problems()];
  }

  /** Begins the change unless it has begun. */
  private async begun(): Promise<RekeyRecord> {
    const { access } = this;
    for (;;) {
      const known = await access.read();
      if (known !== undefined && isRunning(known.value)) return known.value;
      if (known !== undefined && known.value.state !== 'aborted')
        throw this.notNow(
          'begun',
          known.value.state,
          known.value.state === 'done' ? 'It is done.' : 'Finish that first.',
        );
      const problems = this.problems();
      if (problems.length > 0)
        throw new SchemaError(
          `The keys of ${this.from.name} cannot be changed:\n${problems.join('\n')}`,
          problems,
        );
      await this.takeSchemas();
      await this.strategy.prepare();
      const { rowsOf } = await import('./jobs/layout-rows.js');
      const there = await rowsOf(this.engine, this.to);
      // The rows may be those of a process that has begun it since.
      if (there !== 'nothing' && (await access.isAsRead(known))) throw this.occupied(there);
      if (there !== 'nothing') continue;
      const begun = await access.begin(known, {
        from: this.from.name,
        to: this.to.name,
        fromKey: this.from.key.signature,
        toKey: this.to.key.signature,
        state: 'planned',
        paused: false,
        run: (known?.value.run ?? 0) + 1,
      });
      if (begun === undefined) continue;
      // A process that works at the attempt before may not have heard of its end.
      const { forgetJobs } = await import('./jobs/passes.js');
      const { engine, from, to } = this;
      await forgetJobs({ engine, from, to, run: begun.run - 2, tables: begun.tables });
      return begun;
    }
  }

  /** Has the schemas of Avro values go along with them. @throws SchemaError where the new entity cannot read values of one. */
  private async takeSchemas(): Promise<void> {
    const { engine, from, to } = this;
    const copied = copiedAvro(from, to);
    if (copied.length === 0) return;
    const registry = new AvroRegistry(new TableSchemaStore(engine.table(schemaTableDescriptor().name)));
    for (const { subject, heir } of copied) await registry.loadAll(subject, heir);
    await checkSchemas(registry, { entities: [to] });
  }

  private occupied(there: 'rows' | 'deletes'): ConflictError {
    return new ConflictError(
      there === 'deletes'
        ? `Rows of ${this.to.name} were deleted, and its table keeps the delete markers, which would hide copied cells. Use another table or record type for it.`
        : `${this.to.name} already has rows, which could not be told from copies of rows of ${this.from.name}. Use a table or record type of its own, or remove these rows.`,
      { details: { entity: this.to.name } },
    );
  }

  private notNow(what: string, state: RekeyState, remedy: string): ConflictError {
    return new ConflictError(
      `The change of the keys of ${this.from.name} to those of ${this.to.name} is at "${state}", and cannot be ${what}. ${remedy}`,
      { details: { entity: this.from.name, state } },
    );
  }

  private wouldLose({ missing, different, unkeyed }: RekeyDifferences): ConflictError {
    const { from, to } = this;
    return new ConflictError(
      `${from.name} has rows that ${to.name} lacks and that would be lost: ${missing} are missing, ${different} lack cells, ` +
        `${unkeyed} lack a value for the new key. They were written without this database (bulk load, shell). Write them again through a ` +
        'repository, which copies them, or remove them. `cleanup({ compare: false })` skips this check.',
      { details: { entity: from.name, missing, different, unkeyed } },
    );
  }

  private differs({ rows: _, ...found }: RekeyDifferences): ConflictError {
    const { missing, extra, different, unkeyed, entries } = found;
    return new ConflictError(
      `The rows of ${this.from.name} and ${this.to.name} differ: ${missing} missing, ${extra} extra, ${different} different, ${unkeyed} without a value ` +
        `for the new key, ${entries} wrong index entries. Set the missing values, and repair the indexes. Other differences were ` +
        'written without this database (bulk load, shell): abort the change, and start it again.',
      { details: { entity: this.from.name, ...found } },
    );
  }
}

function isRunning({ state }: RekeyRecord): boolean {
  return state === 'planned' || hasDualWrites(state);
}

/** Whether the new layout may be written: after the cut-over, or an abort. */
function mayWriteNew({ state }: RekeyRecord): boolean {
  return state === 'cut-over' || state === 'cleanup' || state === 'done' || state === 'aborted';
}

function isStopped(record: RekeyRecord): boolean {
  return record.paused || isAborted(record);
}
