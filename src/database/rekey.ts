/** One change of an entity's keys, from its plan to its end (docs/rekey.md). */

import { ControlTable, controlTableDescriptor, ensureTable, type Kept, rekeyRow } from '../ddl/index.js';
import { ConflictError, RowanError, SchemaError } from '../errors.js';
import type { JobRunOptions } from '../job/index.js';
import type { RekeyDifferences } from '../job/rekey/compare.js';
import { rowsOf } from '../job/rekey/layout-rows.js';
import type { Mirror } from '../job/rekey/mirror.js';
import type { RekeyTarget } from '../job/rekey/passes.js';
import { mappingProblems } from '../job/rekey/row-mapping.js';
import type { EntitySchema } from '../schema/types.js';
import { checkOptions } from '../table/checks.js';
import type { Engine } from '../table/index.js';
import { isMirrored, type RekeyRecord, type RekeyState } from './rekey-record.js';
import { type CutOverOptions, isWrong, type RekeyRun, type RekeyWay } from './rekey-way.js';

export interface RekeyPlan {
  readonly fromKey: string;
  readonly toKey: string;
  /** Why it cannot be; empty when it can. */
  readonly problems: readonly string[];
  /** What is known of it; undefined when it was never begun. */
  readonly record: RekeyRecord | undefined;
}

/** The order of the states on the way to the new layout. */
const BEFORE_READY: readonly RekeyState[] = ['planned', 'dual-write', 'backfill', 'verify'];

/** Made by `Database.rekey`. Each call goes on where the last one, or the process that was killed, stood. */
export class Rekey {
  private running: AbortController | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
    private readonly mirror: Mirror,
    private readonly way: RekeyWay,
    private readonly declared: () => readonly EntitySchema[],
  ) {}

  /** Whether it can be, and where it stands. Changes nothing. */
  async plan(): Promise<RekeyPlan> {
    return {
      fromKey: this.from.key.signature,
      toKey: this.to.key.signature,
      problems: this.problems(),
      record: (await this.read())?.value,
    };
  }

  /** Undefined when it was never begun. */
  async status(): Promise<RekeyRecord | undefined> {
    return (await this.read())?.value;
  }

  /**
   * Goes on until the new layout may be read (`ready`): has writes go to both, copies what was written before, and holds the
   * two against each other. Readers and writers go on meanwhile.
   * @throws SchemaError when it cannot be; ConflictError when the new layout has rows of its own, or differs; RowanError
   * `ERR_ABORTED` when it was paused or `signal` ended it: another `run` goes on; `ERR_BUSY` when it is run already.
   */
  run(options: JobRunOptions = {}): Promise<RekeyRecord> {
    return this.alone(options, async (run) => {
      let record = await this.begun();
      if (record.paused) record = await this.set({ paused: false });
      const { way } = this;
      if (record.state === 'planned') {
        // Before it is noted: whoever reads that it is under way may rely on it.
        await way.begin(this.runOf(record));
        record = await this.set({ state: way.first });
      }
      if (record.state === 'dual-write') record = await this.set({ state: 'backfill' });
      if (record.state === 'backfill') {
        await way.copy(this.runOf(record), run);
        record = await this.set({ state: 'verify' });
      }
      if (record.state !== 'verify' && !(record.state === 'ready' && way.runsAgain)) return record;
      const differences = await way.verify(this.runOf(record), run);
      if (differences === undefined) return this.set({ state: 'ready' });
      if (isWrong(differences)) {
        await this.set({ differences });
        throw this.differs(differences);
      }
      return this.set({ state: 'ready', differences });
    });
  }

  /** Ends what `run` does in this process; writes go to both layouts still. The next `run` goes on. */
  async pause(): Promise<RekeyRecord> {
    this.running?.abort();
    return this.set({ paused: true });
  }

  /**
   * Makes the new layout the one that counts. On the embedded engine the old one is kept up, so that there is a way back until
   * `cleanup`. On HBase the old table takes no writes from here on, from nobody (`ERR_READONLY`): what was written last is copied, and, unless
   * `compare` is false, every row held against its copy.
   * @throws ConflictError unless both hold the same (`ready`); then writes of the old layout go on.
   */
  cutOver(options: CutOverOptions = {}): Promise<RekeyRecord> {
    checkOptions('cutOver', options, { compare: true, signal: true });
    return this.alone(options.signal === undefined ? {} : { signal: options.signal }, async ({ signal }) => {
      const record = await this.required();
      if (record.state === 'cut-over') return record;
      if (record.state !== 'ready') throw this.notNow('cut over', record.state, 'Run it until it is ready.');
      const differences = await this.way.cutOver(this.runOf(record), {
        ...options,
        ...(signal && { signal }),
      });
      if (differences !== undefined && isWrong(differences)) {
        await this.set({ differences });
        throw this.differs(differences);
      }
      const cut = await this.set({ state: 'cut-over', ...(differences && { differences }) });
      this.way.counts();
      return cut;
    });
  }

  /**
   * Removes the rows of the old layout, which cannot be written any more. There is no way back.
   * @throws ConflictError before it was cut over.
   */
  cleanup(options: JobRunOptions = {}): Promise<RekeyRecord> {
    return this.alone(options, async (run) => {
      let record = await this.required();
      if (record.state === 'done') return record;
      if (record.state !== 'cut-over' && record.state !== 'cleanup')
        throw this.notNow('cleaned up', record.state, 'Cut over first.');
      if (record.state === 'cut-over') record = await this.set({ state: 'cleanup' });
      await this.way.removeOld(this.runOf(record), run);
      return this.set({ state: 'done' });
    });
  }

  /**
   * Goes back to the old layout, and removes the rows of the new one.
   * @throws ConflictError from `cleanup` on.
   */
  async abort(options: JobRunOptions = {}): Promise<RekeyRecord> {
    this.running?.abort();
    await this.idle;
    return this.alone(options, async (run) => {
      let record = await this.required();
      if (record.state === 'aborted') return record;
      if (record.state === 'cleanup' || record.state === 'done')
        throw this.notNow('aborted', record.state, 'Change the keys of the new one back.');
      if (record.state === 'cut-over' && !this.way.leadsBack)
        throw this.notNow(
          'aborted',
          record.state,
          'The new table may have been written since. Change its keys back.',
        );
      if (record.state !== 'aborting') record = await this.set({ state: 'aborting' });
      await this.way.removeNew(this.runOf(record), run);
      return this.set({ state: 'aborted' });
    });
  }

  /** Settles when nothing of it is under way. */
  private idle: Promise<unknown> = Promise.resolve();

  private async alone<T>(options: JobRunOptions, work: (run: JobRunOptions) => Promise<T>): Promise<T> {
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

  private runOf(record: RekeyRecord): RekeyRun {
    const { engine, from, to, mirror } = this;
    const target: RekeyTarget = { engine, from, to, mirror, run: record.run };
    return {
      target,
      record,
      set: (change) => this.set(change),
      time: async () => {
        await this.set({});
        return (await this.control()).changedAt(rekeyRow(from.name, to.name));
      },
    };
  }

  private problems(): string[] {
    return [...mappingProblems(this.from, this.to, this.declared()), ...this.way.problems()];
  }

  /** Begins it unless it is under way. */
  private async begun(): Promise<RekeyRecord> {
    const known = (await this.read())?.value;
    if (known !== undefined && (BEFORE_READY.includes(known.state) || isMirrored(known.state))) return known;
    if (known !== undefined && known.state !== 'aborted')
      throw this.notNow('begun', known.state, known.state === 'done' ? 'It is done.' : 'Finish that first.');
    const problems = this.problems();
    if (problems.length > 0)
      throw new SchemaError(
        `The keys of ${this.from.name} cannot be changed:\n${problems.join('\n')}`,
        problems,
      );
    await this.way.prepare();
    const there = await rowsOf(this.engine, this.to);
    if (there === 'deletes') {
      throw new ConflictError(
        `Rows of ${this.to.name} were deleted, and its table keeps the deletes: they would hide what is copied with its times. Give it another table or record type.`,
        { details: { entity: this.to.name } },
      );
    }
    if (there === 'rows') {
      throw new ConflictError(
        `${this.to.name} has rows already, which would be taken for copies of those of ${this.from.name}. Give it a table or a record type of its own, or remove them.`,
        { details: { entity: this.to.name } },
      );
    }
    return this.set({
      from: this.from.name,
      to: this.to.name,
      fromKey: this.from.key.signature,
      toKey: this.to.key.signature,
      state: 'planned',
      paused: false,
      run: (known?.run ?? 0) + 1,
    });
  }

  private async control(): Promise<ControlTable> {
    const descriptor = controlTableDescriptor();
    await ensureTable(this.engine.admin, descriptor);
    return new ControlTable(this.engine.table(descriptor.name));
  }

  private async read(): Promise<Kept<RekeyRecord> | undefined> {
    return (await this.control()).read<RekeyRecord>(rekeyRow(this.from.name, this.to.name));
  }

  private async set(change: Partial<RekeyRecord>): Promise<RekeyRecord> {
    const control = await this.control();
    const row = rekeyRow(this.from.name, this.to.name);
    for (;;) {
      const known = await control.read<RekeyRecord>(row);
      if (known === undefined && change.run === undefined) throw this.neverBegun();
      const next = { ...known?.value, ...change, changed: this.engine.now() } as RekeyRecord;
      if ((await control.change(row, known, next)) !== undefined) return next;
    }
  }

  private async required(): Promise<RekeyRecord> {
    const known = await this.read();
    if (known === undefined) throw this.neverBegun();
    return known.value;
  }

  private neverBegun(): ConflictError {
    return new ConflictError(
      `The keys of ${this.from.name} are not being changed to those of ${this.to.name}. Begin with run().`,
      { details: { entity: this.from.name } },
    );
  }

  private notNow(what: string, state: RekeyState, mend: string): ConflictError {
    return new ConflictError(
      `The change of the keys of ${this.from.name} to those of ${this.to.name} is at "${state}", and cannot be ${what}. ${mend}`,
      { details: { entity: this.from.name, state } },
    );
  }

  private differs({ rows: _, ...found }: RekeyDifferences): ConflictError {
    const { missing, extra, different, unkeyed, entries } = found;
    return new ConflictError(
      `The rows of ${this.from.name} and ${this.to.name} are not alike: ${missing} missing, ${extra} extra, ${different} different, ${unkeyed} without a value ` +
        `that the new key is made of, ${entries} entries of indexes that are not what the rows say. Give those without a value one; repair the indexes; what else differs was ` +
        'written past the database (bulk loads, a shell): abort, and begin anew.',
      { details: { entity: this.from.name, ...found } },
    );
  }
}
