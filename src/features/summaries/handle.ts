import { toHex } from '../../bytes/index.js';
import type { LiveTables } from '../../ddl/index.js';
import { isWriteRefused, QueryError, RowanError, SchemaError, UnsupportedError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import { Deadline } from '../../query/deadline.js';
import { parseKeyConditions } from '../../query/index.js';
import { AheadWriter, type RowMaintainer, type StepReading } from '../../repository/index.js';
import { DataRows } from '../../repository/remote/row-work.js';
import type { CheckedPrefix, KeyedClass, KeyQuery } from '../../schema/entity-types.js';
import type { AdoptedSchema } from '../../schema/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../../schema/types.js';
import { checkGiven, checkOptions, checkPositiveInteger, describe } from '../../table/checks.js';
import type { OperationOptions } from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import type { Feature, FeatureContext, RowUpkeep } from '../feature.js';
import type { IndexesFeature, IndexHandle } from '../indexes/handle.js';
import type { DrainOptions, Outbox } from '../outbox.js';
import type { SummaryGroup, SummaryName, SummaryResult, SummaryTargetOf } from './compile.js';
import type { GroupsReport, SummaryTarget } from './jobs.js';
import { LaterFigures } from './later-work.js';
import { SummaryMaintainer, SummaryUpkeep } from './maintain.js';
import { SummaryPlan } from './plan.js';
import { type GroupPosition, SummaryReader } from './reader.js';
import { RemoteCount } from './remote.js';
import { readRecord } from './rows.js';
import { SummaryStates } from './states.js';
import { AMOUNTS } from './tokens.js';

/** The handle of a summary (`db.summary(…)`): its figures and jobs. */

/** The result of a check or repair. */
export interface SummaryReport extends GroupsReport {
  /** Rows of the entity that were counted. */
  readonly rows: number;
  /** Wrong or missing entries in the indexes of least and greatest values. */
  readonly entries: number;
  /** Groups and entries that were corrected. */
  readonly repaired: number;
}

/**
 * The state of a summary. `active`: it can be read. `building`: it is being counted. `disabled`: it has to be built.
 */
export type SummaryState = 'active' | 'building' | 'disabled';

/** Options of `find`. The timeout is that of the whole call. */
export interface SummaryFindOptions extends OperationOptions {
  /** The most groups. Default: all, up to 100,000; more are an error. */
  readonly limit?: number;
}

/** The options of all reads. */
const READ = { signal: true, timeout: true, attributes: true } as const;
const NO_GROUPS: GroupsReport = { groups: 0, valid: 0, stale: 0, missing: 0, extra: 0 };
/** The most groups that `find` returns without a limit. */
const MAX_GROUPS = 100_000;
/** Groups read in one step; and in one batch, where each value is a call. */
const PAGE = 256;
const REMOTE_PAGE = 32;

/** The parts of a database that a handle uses. */
interface SummarySource extends SummaryTarget {
  readonly reading: StepReading;
  /** HBase: the outbox with changes that are not in the figures yet. */
  readonly outbox: Outbox | undefined;
  /** Resolves when the answered writes of this program are in the figures. */
  followed(): Promise<void>;
  readonly reader: SummaryReader;
  /** The indexes that hold least and greatest values. */
  readonly indexes: readonly IndexHandle[];
  /** Runs jobs one after another. */
  alone<T>(run: () => Promise<T>): Promise<T>;
}

/** One summary of an open database (docs/summaries.md). Made by `Database.summary`. */
export class SummaryHandle<C extends KeyedClass, Name extends SummaryName<C>> {
  constructor(private readonly source: SummarySource) {}

  /**
   * The figures of one group at one moment. Null: the group has no rows. HBase: waits for the work after this program's
   * answered writes. @throws QueryError when the summary is not built; KeyError.
   */
  async get(
    group: SummaryGroup<C, Name>,
    options: OperationOptions = {},
  ): Promise<SummaryResult<C, Name> | null> {
    checkOptions('get', options, READ);
    const { reader, reading } = this.source;
    const values = { ...(group as Readonly<Record<string, unknown>>) };
    const deadline = new Deadline(options.timeout, false, options.signal);
    await deadline.within(this.source.followed());
    const found = await deadline.within(reading((step) => reader.get(step, values), options));
    return found as SummaryResult<C, Name> | null;
  }

  /**
   * The groups that satisfy conditions on leading properties of `by`, in their order. The conditions are those of
   * `find` on a repository.
   * @throws QueryError on more groups than the limit; as `get`.
   */
  async find<Q extends KeyQuery<SummaryTargetOf<C, Name>>>(
    prefix: Q & CheckedPrefix<SummaryTargetOf<C, Name>, Q>,
    options: SummaryFindOptions = {},
  ): Promise<SummaryResult<C, Name>[]> {
    checkOptions('find', options, { ...READ, limit: true });
    const { limit, ...rest } = options;
    if (limit !== undefined) checkPositiveInteger(limit, 'The limit');
    const out: SummaryResult<C, Name>[] = [];
    for await (const row of this.groups(prefix, rest, false)) {
      if (out.length === MAX_GROUPS && limit === undefined) {
        throw new QueryError(
          `find on a summary returns at most ${MAX_GROUPS} groups. Set a limit, or stream them: for await (… of summary.each(prefix)).`,
        );
      }
      out.push(row);
      if (out.length === limit) break;
    }
    return out;
  }

  /** As `find`, one group at a time. The groups of a page are of one moment. The timeout is that of each wait. */
  each<Q extends KeyQuery<SummaryTargetOf<C, Name>>>(
    prefix: Q & CheckedPrefix<SummaryTargetOf<C, Name>, Q>,
    options: OperationOptions = {},
  ): AsyncGenerator<SummaryResult<C, Name>, void, undefined> {
    checkOptions('each', options, READ);
    return this.groups(prefix, options, true);
  }

  private async *groups(
    given: object,
    options: OperationOptions,
    isStream: boolean,
  ): AsyncGenerator<SummaryResult<C, Name>, void, undefined> {
    const { reader, plan, reading, remote } = this.source;
    const { summary, schema } = plan;
    const page = remote === undefined ? PAGE : REMOTE_PAGE;
    const conditions = parseKeyConditions(
      `${schema.name}.${summary.name}`,
      { parts: summary.layout.parts.filter(({ name }) => summary.by.includes(name)) },
      given as Readonly<Record<string, unknown>>,
    );
    const deadline = new Deadline(options.timeout, isStream, options.signal);
    await deadline.within(this.source.followed());
    let from: GroupPosition | undefined;
    do {
      deadline.check();
      const start = from;
      const read = reading((step) => reader.page(step, conditions, page, start), options);
      const { rows, next } = await deadline.within(read);
      yield* rows as SummaryResult<C, Name>[];
      from = next;
    } while (from !== undefined);
  }

  /** The state of the summary. */
  async state(): Promise<SummaryState> {
    const { schema, summary } = this.source.plan;
    const state = await this.source.reading((step) => readRecord(step, schema, summary));
    if (state === undefined) return 'disabled';
    if (state.active === null) return state.building === null ? 'disabled' : 'building';
    return this.source.indexes.every(({ state }) => state === 'active') ? 'active' : 'building';
  }

  /** Counts all rows, and builds the indexes of least and greatest values where they are incomplete. */
  async build(run?: JobRunOptions): Promise<SummaryReport> {
    for (const index of this.source.indexes) if (index.state !== 'active') await index.build(run);
    return this.source.alone(() => this.counted(true, run));
  }

  /**
   * Counts all rows separately, and compares the result with the figures. Changes nothing that is read, but stores the count meanwhile.
   * @throws RowanError `ERR_SECURITY`, `ERR_READONLY`, `ERR_SPACE` where nothing may be written.
   */
  async check(run?: JobRunOptions): Promise<SummaryReport> {
    try {
      return await this.source.alone(() => this.counted(false, run));
    } catch (error) {
      if (!isWriteRefused(error)) throw error;
      const { schema, summary } = this.source.plan;
      const remedy = error.code === 'ERR_SPACE' ? '' : ' Run it as a user who may write there.';
      throw new RowanError(
        error.code,
        `check() of the summary ${summary.name} of ${schema.name} counts all rows into tables beside the figures, and that was refused: ` +
          `${error.message}${remedy}`,
        { cause: error, details: error.details },
      );
    }
  }

  /**
   * As `check`, and replaces the figures by the new count. A second repair changes nothing. HBase: `settledAfter`
   * applies to the outbox and to unverified entries of its indexes.
   */
  async repair(options: JobRunOptions & DrainOptions = {}): Promise<SummaryReport> {
    const { settledAfter, ...run } = checkGiven('repair', options);
    await this.drain(settledAfter === undefined ? {} : { settledAfter });
    return this.source.alone(() => this.counted(true, run, settledAfter));
  }

  /**
   * HBase: resolves when every change made before the call is in the figures. On the embedded engine they always are.
   */
  async drain(options?: DrainOptions): Promise<void> {
    await this.source.outbox?.drain(options);
    await this.source.remote?.rest();
  }

  private async counted(
    replace: boolean,
    run: JobRunOptions | undefined,
    settledAfter?: number,
  ): Promise<SummaryReport> {
    const { indexes } = this.source;
    const restart = run?.restart === true;
    let fresh = false;
    await this.source.followed();
    const { changeRecord, compareCounts, countRows, purgeCounts } = await import('./jobs.js');
    const { building, active } = await changeRecord(this.source, (before) => {
      fresh = false;
      const { building = null, next = 1 } = before ?? {};
      if (building !== null && !restart) return {};
      fresh = true;
      return { building: next, cursor: null, next: next + 1 };
    });
    await purgeCounts(this.source);
    const rows = await countRows(this.source, fresh, run);
    const compared = active === null ? NO_GROUPS : await compareCounts(this.source, active, building!);
    let found = compared;
    await changeRecord(this.source, (now) => {
      if (now?.building !== building || now?.cursor !== 'end') throw overtaken();
      // A count that was given up meanwhile has missed rows.
      found = now.active === active ? compared : NO_GROUPS;
      return { building: null, cursor: null, ...(replace && { active: building }) };
    });
    await purgeCounts(this.source);
    const off = found.stale + found.missing + found.extra;
    let entries = 0;
    let repairedEntries = 0;
    const options = { ...(run && { run }), ...(settledAfter !== undefined && { settledAfter }) };
    for (const index of indexes) {
      const { missing, extra, stale, repaired } = replace
        ? await index.repair(options)
        : await index.verify(options);
      entries += missing + extra + stale;
      repairedEntries += repaired;
    }
    return { rows, ...found, entries, repaired: replace ? off + repairedEntries : 0 };
  }
}

function overtaken(): RowanError {
  return new RowanError(
    'ERR_CONFLICT',
    'The count of a summary was restarted by another program. Run it again.',
  );
}

const PENDING = {
  name: 'rowan.summary.pending',
  unit: '{row}',
  what: 'Rows that this program has written and not counted yet',
};

/** The summaries feature of an open database. */
export class SummariesFeature implements Feature {
  private byEntity = new Map<EntityClass, readonly SummaryPlan[]>();
  /** HBase: the counts of each summary. */
  private readonly counts = new Map<SummaryPlan, RemoteCount>();
  /** HBase: writes the rows of each entity ahead of their figures. */
  private readonly ahead = new Map<EntitySchema, AheadWriter>();
  private readonly states: SummaryStates;

  constructor(
    private readonly context: FeatureContext,
    private readonly indexes: IndexesFeature,
  ) {
    this.states = new SummaryStates({
      engine: context.engine,
      isRemote: context.isRemote,
      plansOf: (entity) => this.plansOf(entity),
      targetOf: (plan) => this.targetOf(plan),
    });
  }

  /** @throws SchemaError naming every invalid condition; UnsupportedError on rows that expire, on HBase. */
  adopt({ entities }: AdoptedSchema): void {
    const problems: string[] = [];
    this.byEntity = new Map();
    for (const entity of entities) {
      const { target, summaries, name } = entity;
      if (summaries.length === 0) continue;
      if (this.context.isRemote) checkRemote(entity);
      try {
        this.byEntity.set(
          target,
          summaries.map((summary) => new SummaryPlan(this.context.schemaOf(target), summary)),
        );
      } catch (error) {
        if (!(error instanceof QueryError)) throw error;
        problems.push(`${name}: the condition of a summary is wrong. ${error.message}`);
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  async tablesOpened(tables: readonly TableSchema[], before: LiveTables, readOnly: boolean): Promise<void> {
    await this.states.open(tables, before, readOnly);
  }

  async unbuilt(): Promise<string[]> {
    return this.states.unbuilt(this.context.declared().entities);
  }

  private plansOf({ target }: EntitySchema): readonly SummaryPlan[] {
    return this.byEntity.get(target) ?? [];
  }

  maintainers(schema: EntitySchema): RowMaintainer[] {
    const plans = this.plansOf(schema);
    if (plans.length === 0) return [];
    const maintainer = this.maintainerOf(plans);
    if (this.context.isRemote) maintainer.ahead = this.aheadOf(schema, plans, maintainer);
    return [maintainer];
  }

  private aheadOf(
    schema: EntitySchema,
    plans: readonly SummaryPlan[],
    maintainer: SummaryMaintainer,
  ): AheadWriter {
    let ahead = this.ahead.get(schema);
    if (ahead === undefined) {
      const { engine, now, onFailure } = this.context;
      const counts = plans.map((plan) => this.countOf(plan));
      const work = new LaterFigures(plans, counts, maintainer, engine.table(plans[0]!.tableName));
      const rows = new DataRows(engine.table(schema.table.descriptor.name), schema);
      ahead = new AheadWriter({ schema, rows, work, now, onFailure });
      this.ahead.set(schema, ahead);
    }
    return ahead;
  }

  /** HBase: works off what programs left that ended before their rows were counted. */
  async resume(): Promise<void> {
    for (const ahead of this.ahead.values()) ahead.kick();
  }

  async backlog(): Promise<readonly Metric[]> {
    return AheadWriter.metrics(this.ahead.values(), PENDING);
  }

  private maintainerOf(plans: readonly SummaryPlan[]): SummaryMaintainer {
    const counts = plans.map((plan) => this.countOf(plan));
    return new SummaryMaintainer(plans, this.context.now, counts);
  }

  upkeep(schema: EntitySchema): RowUpkeep | undefined {
    const plans = this.plansOf(schema);
    if (plans.length === 0) return undefined;
    const summaries = plans.map((plan) => ({
      target: this.targetOf(plan),
      handle: this.handle<KeyedClass, never>(schema, plan.summary.name as never),
    }));
    return new SummaryUpkeep(this.maintainerOf(plans), summaries);
  }

  private countOf(plan: SummaryPlan): RemoteCount {
    let count = this.counts.get(plan);
    if (count === undefined) {
      const { engine, now } = this.context;
      count = new RemoteCount(plan, {
        table: (name) => engine.table(name),
        now,
        cellTtl: engine.capabilities.cellTtl,
        // Among engines whose atomic step is one row, only a connection to a served store has transactions.
        isServed: engine.transaction !== undefined,
      });
      this.counts.set(plan, count);
    }
    return count;
  }

  async end(): Promise<void> {
    await Promise.all([...this.ahead.values()].map((ahead) => ahead.end()));
    await Promise.all([...this.counts.values()].map((count) => count.rest()));
  }

  private targetOf(plan: SummaryPlan): SummaryTarget {
    const { engine, isRemote } = this.context;
    return { engine, plan, ...(isRemote && { remote: this.countOf(plan) }) };
  }

  /** @throws QueryError when the entity has no such summary. */
  handle<C extends KeyedClass, Name extends SummaryName<C>>(
    schema: EntitySchema,
    name: Name,
  ): SummaryHandle<C, Name> {
    const plans = this.plansOf(schema);
    const plan = plans.find(({ summary }) => summary.name === name);
    if (plan === undefined) {
      const known = plans.map(({ summary }) => summary.name).join(', ');
      throw new QueryError(
        `${schema.name} has no summary ${describe(name)}. ${known === '' ? 'Declare one: static readonly summaries = { name: summary(…) }.' : `It has ${known}.`}`,
        { details: { entity: schema.name, summary: name } },
      );
    }
    const { indexes } = this;
    const { reading, isRemote, outbox } = this.context;
    const names = new Set(plan.summary.figures.flatMap(({ index }) => index ?? []));
    return new SummaryHandle<C, Name>({
      ...this.targetOf(plan),
      reading,
      outbox: isRemote ? outbox : undefined,
      followed: () => this.context.followed(schema),
      reader: new SummaryReader(plan, indexes.paths(schema), isRemote ? AMOUNTS : undefined),
      indexes: [...names].map((index) => indexes.handle(schema, index)),
      alone: (run) => indexes.alone(`summary ${toHex(plan.summary.id)}`, run),
    });
  }
}

/** @throws UnsupportedError on an entity whose rows expire: on HBase no write happens when a row expires. */
function checkRemote({ name, timeToLive, marker }: EntitySchema): void {
  const what = timeToLive.lifelong ? 'a ttl' : marker === undefined ? 'no marker (marker: false)' : undefined;
  if (what === undefined) return;
  throw new UnsupportedError(
    `${name} has summaries (@Summary) and ${what}, which HBase does not support together. Remove one of them there.`,
    { details: { entity: name } },
  );
}
