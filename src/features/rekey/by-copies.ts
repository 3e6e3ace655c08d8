import { setTimeout as delay } from 'node:timers/promises';
import { ConflictError, RowanError, throwIfAborted } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { Engine } from '../../table/index.js';
import type { RowUpkeep } from '../feature.js';
import type { CatchUp } from './jobs/catch-up.js';
import type { RekeyDifferences, RowDifferences } from './jobs/compare.js';
import type { RemoteComparison } from './jobs/remote-compare.js';
import { RowMapping } from './jobs/row-mapping.js';
import {
  type CutOverOptions,
  isWrong,
  type RecordCutOver,
  type RekeyRecord,
  type RekeyRun,
  type RekeyStrategy,
  STATE_ORDER,
} from './strategy.js';
import { FencedTables, KeptDeletesTables, type RekeyTables } from './tables.js';

/** Default limit, ms, for which writes may be refused at a cut-over. */
const REST_MS = 5000;
/** The fraction of that limit below which a pass is short enough for the next one to run while writes are refused. */
const SHORT = 1 / 4;
/** The most passes made to get one that is short enough. */
const PASSES = 10;
/** The most attempts at refusing writes; each ends when the limit is reached. */
const TRIES = 3;

/**
 * How long to wait for a table that another process is truncating, and how often to poll. A busy master needs seconds
 * for it: HBase's `TruncateTableProcedure` recreates the table and opens its regions, and refuses requests meanwhile.
 */
const EMPTIED_MS = 120_000;
const POLL_MS = 50;

/** Rows compared in one batch while writes are refused. */
const COMPARED_TOGETHER = 500;

/** Names of engines in messages. */
const PLACES: Readonly<Record<string, string>> = { hbase: 'HBase', bigtable: 'Bigtable' };

/** A cut-over in progress. */
interface Cut extends Required<Pick<CutOverOptions, 'compare' | 'restMs'>> {
  readonly run: RekeyRun;
  readonly signal: AbortSignal | undefined;
  readonly job: JobRunOptions;
  readonly catchUp: CatchUp;
  readonly comparison: RemoteComparison;
}

/**
 * The strategy of engines whose atomic step is one row (HBase, Bigtable). Cells are copied with their timestamps while
 * writers continue; later passes copy what was written meanwhile, by timestamp. For the last pass the servers refuse all
 * writes to the old table, so that none is lost, whichever programs have it open. How the old table shows its deletes until the
 * cut-over differs by engine (tables.ts).
 */
export class RekeyByCopies implements RekeyStrategy {
  readonly firstState = 'backfill';
  readonly canAbortAfterCutOver = false;
  readonly canVerifyAgain = true;

  private readonly tables: RekeyTables;

  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
    /** Maintains the data that features store about an entity's rows. */
    private readonly upkeepOf: (schema: EntitySchema) => readonly RowUpkeep[],
    /** Makes features finish their work on rows of the old layout, before these are removed. */
    private readonly retireOld: () => Promise<void>,
    /** Refuses writes of this program to the new layout before the cut-over: copies would overwrite them. */
    private readonly guard: () => void,
    private readonly unguard: () => void,
  ) {
    const Tables = engine.capabilities.deleteMarkers ? KeptDeletesTables : FencedTables;
    this.tables = new Tables(engine, from, to);
  }

  problems(): string[] {
    const { from, to } = this;
    const problems = this.tables.problems();
    const place = PLACES[this.engine.name] ?? this.engine.name;
    for (const { name, table, indexes, timeToLive, mutual } of [from, to]) {
      if (table.entities.length > 1)
        problems.push(
          `On ${place} the table of ${name} refuses writes for a time, or is truncated, so it must hold no other entity. Declare ${name} in a table of its own.`,
        );
      if (indexes.length > 0)
        problems.push(
          `${name} has indexes, which on ${place} are not updated for copied rows. Remove them until the keys are changed, then build them.`,
        );
      if (mutual !== undefined)
        problems.push(
          `${name} is mutual, and on ${place} a row and its mirror are written one after the other, so the cut-over could leave links whose rows differ. Write a new table with a job while writes are stopped.`,
        );
      if (timeToLive.lifelong)
        problems.push(
          `Rows of ${name} expire, and ${place} does not return the remaining time to live of a cell. Use the ttl of a family instead.`,
        );
    }
    if (from.table.descriptor.name === to.table.descriptor.name)
      problems.push(`${from.name} and ${to.name} share a table. On ${place} each needs a table of its own.`);
    if ([new RowMapping(from, to), new RowMapping(to, from)].some(({ needed }) => needed.length > 0))
      problems.push(
        `A part of one key is a column of the other, and on ${place} cells are copied without the rest of their rows. Declare the part in both keys.`,
      );
    return problems;
  }

  async prepare(): Promise<void> {}

  async begin({ record, set, time }: RekeyRun, { signal }: JobRunOptions): Promise<void> {
    this.guard();
    const { MARGIN } = await import('./jobs/catch-up.js');
    await this.tables.begin({ record, set }, signal);
    await set({ since: (await time()) - MARGIN });
  }

  async copy({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.guard();
    const { copyCells } = await import('./jobs/remote-copy.js');
    const { signal } = options;
    for (const upkeep of this.upkeepOf(this.to)) await upkeep.prepare(signal === undefined ? {} : { signal });
    await copyCells(target, 'copy', 0, options);
  }

  /** Copies what was written since the last pass began. How both compare is known only once writes are refused. */
  async verify(run: RekeyRun, options: JobRunOptions): Promise<undefined> {
    this.guard();
    const { CatchUp } = await import('./jobs/catch-up.js');
    await new CatchUp(run).pass(options);
  }

  async cutOver(run: RekeyRun, options: CutOverOptions, recordCutOver: RecordCutOver): Promise<RekeyRecord> {
    const { compare = true, restMs = REST_MS, signal } = options;
    const cut = await this.beginCut(run, { compare, restMs, signal });
    await cut.catchUp.pass(cut.job);
    const found = compare === true ? await cut.comparison.all(cut.job) : undefined;
    if (found !== undefined && isWrong({ ...found, entries: 0 }))
      return recordCutOver({ ...found, entries: 0 });
    for (let tries = 1; tries <= TRIES; tries++) {
      if (!(await this.approach(cut))) break;
      const record = await this.rest(cut, found, recordCutOver);
      if (record !== undefined) return record;
    }
    throw this.tooMuch(restMs);
  }

  private async beginCut(
    run: RekeyRun,
    { compare, restMs, signal }: Pick<Cut, 'compare' | 'restMs' | 'signal'>,
  ): Promise<Cut> {
    const { CatchUp } = await import('./jobs/catch-up.js');
    const { RemoteComparison } = await import('./jobs/remote-compare.js');
    const job = signal === undefined ? {} : { signal };
    const [catchUp, comparison] = [new CatchUp(run), new RemoteComparison(run.target)];
    return { run, compare, restMs, signal, job, catchUp, comparison };
  }

  /** Runs passes until one is short. @returns whether the next one may end within the limit. */
  private async approach({ catchUp, job, restMs }: Cut): Promise<boolean> {
    let took = Number.POSITIVE_INFINITY;
    for (let passes = 0; passes < PASSES && took > restMs * SHORT; passes++) {
      const began = performance.now();
      await catchUp.pass(job);
      took = performance.now() - began;
    }
    return took < restMs;
  }

  /**
   * Runs the last pass while the old table refuses writes. Undefined: it exceeded the limit, and the table accepts
   * writes again.
   */
  private async rest(
    cut: Cut,
    found: RowDifferences | undefined,
    recordCutOver: RecordCutOver,
  ): Promise<RekeyRecord | undefined> {
    const { run, restMs, signal } = cut;
    const limit = new AbortController();
    const began = performance.now();
    const timer = Number.isFinite(restMs) && setTimeout(() => limit.abort(), restMs);
    try {
      await this.tables.setReadOnly(true);
      // An abort may have emptied the new table in between.
      await run.checkCutting();
      const ends = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
      const differences = await this.copyLast(cut, found, { signal: ends });
      await this.checkReadOnly();
      throwIfAborted(ends);
      return await recordCutOver(differences, Math.round(performance.now() - began));
    } catch (error) {
      await this.giveUp(run);
      if (limit.signal.aborted && !signal?.aborted && isAbort(error)) return undefined;
      throw error;
    } finally {
      if (timer !== false) clearTimeout(timer);
    }
  }

  /** Copies the rest. @returns the remaining differences. */
  private async copyLast(
    { catchUp, comparison, compare }: Cut,
    found: RowDifferences | undefined,
    job: JobRunOptions,
  ): Promise<RekeyDifferences | undefined> {
    const last: Uint8Array[] = [];
    await catchUp.pass(job, (copied) => {
      for (const { row } of copied) last.push(row);
    });
    if (compare === 'resting') return { ...(await comparison.all(job)), entries: 0 };
    if (found === undefined) return undefined;
    const counts = { missing: found.missing, extra: found.extra, different: found.different };
    for (let at = 0; at < last.length; at += COMPARED_TOGETHER) {
      throwIfAborted(job.signal);
      for (const what of await comparison.now(last.slice(at, at + COMPARED_TOGETHER))) counts[what]++;
    }
    return { ...found, ...counts, entries: 0 };
  }

  private tooMuch(restMs: number): RowanError {
    const { name } = this.from.table.descriptor;
    return new RowanError(
      'ERR_BUSY',
      `The latest writes to table "${name}" could not be copied within ${restMs} ms, for which writers may wait. The table accepts writes again. Cut over again when there are fewer writes, or allow more time (restMs).`,
      { retryable: true, details: { table: name, restMs } },
    );
  }

  /** Writes accepted since would be lost. */
  private async checkReadOnly(): Promise<void> {
    const { name } = this.from.table.descriptor;
    if ((await this.engine.admin.getDescriptor(name)).readOnly) return;
    throw new ConflictError(
      `Table "${name}" accepted writes again during the cut-over: another process aborts the key change, or alters the table. Cut over again when that is done.`,
      { details: { table: name } },
    );
  }

  /** Makes the old table accept writes again, unless another process's cut-over made it refuse them. */
  private async giveUp({ record, now }: RekeyRun): Promise<void> {
    const { state, cutting = record.cutting } = await now();
    if (STATE_ORDER.indexOf(state) >= STATE_ORDER.indexOf('cut-over') || cutting !== record.cutting) return;
    await this.tables.setReadOnly(false);
    if ((await now()).state === 'cut-over') await this.tables.setReadOnly(true);
  }

  /** Resolves to undefined: no write can be lost, because the old table has refused writes since the cut-over. */
  async lostAtCleanup(): Promise<undefined> {}

  async copiesVisible(): Promise<void> {}

  allowNewWrites(): void {
    this.unguard();
  }

  async removeOld({ record }: RekeyRun): Promise<void> {
    await this.retireOld();
    await this.empty(this.from);
    await this.clear(this.from);
    await this.tables.retireOld(record);
    await this.tables.restoreNew(record);
  }

  async removeNew({ record }: RekeyRun): Promise<void> {
    await this.empty(this.to);
    await this.clear(this.to);
    await this.tables.restoreNew(record);
    await this.tables.restoreOld(record);
    this.unguard();
  }

  /** Truncates a table and keeps its regions. A read-only table stays read-only. */
  private async empty({ name: entity, table }: EntitySchema): Promise<void> {
    const { admin } = this.engine;
    const { name } = table.descriptor;
    for (let overtaken: number | undefined; ; await delay(POLL_MS)) {
      if (!(await this.comesBack(name)))
        throw new ConflictError(
          `Table "${name}" of ${entity} no longer exists, so there is nothing to remove.`,
          { details: { table: name } },
        );
      try {
        if (await admin.isTableEnabled(name)) await admin.disableTable(name);
        await admin.truncateTable(name, true);
        return;
      } catch (error) {
        overtaken ??= performance.now();
        if (!isOvertaken(error) || performance.now() - overtaken > EMPTIED_MS) throw error;
      }
    }
  }

  /** Removes what features store about the rows. */
  private async clear(schema: EntitySchema): Promise<void> {
    for (const upkeep of this.upkeepOf(schema)) await upkeep.clear();
  }

  /** Whether a table exists, or will soon: a truncation drops and recreates it. */
  private async comesBack(name: string): Promise<boolean> {
    const { admin } = this.engine;
    for (const began = performance.now(); ; await delay(POLL_MS)) {
      if (await admin.tableExists(name)) return true;
      if (performance.now() - began > EMPTIED_MS) return false;
    }
  }
}

/** The table was changed meanwhile: the master is finishing a request of a killed process. */
function isOvertaken(error: unknown): boolean {
  return (
    error instanceof RowanError &&
    ['ERR_TABLE_ENABLED', 'ERR_TABLE_DISABLED', 'ERR_TABLE_NOT_FOUND'].includes(error.code)
  );
}

function isAbort(error: unknown): boolean {
  return error instanceof RowanError && error.code === 'ERR_ABORTED';
}
