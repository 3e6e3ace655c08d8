import { equalBytes, startsWithBytes, toHex, toLatin1 } from '../../bytes/index.js';
import type { FeatureSteps, LiveTables } from '../../ddl/index.js';
import {
  ConflictError,
  InvalidArgumentError,
  QueryError,
  SchemaError,
  UnsupportedError,
} from '../../errors.js';
import type { JobOutcome, JobRunOptions } from '../../job/index.js';
import type { IndexState } from '../../query/access.js';
import { AheadWriter, IntentDriver, type StepMaintainer } from '../../repository/index.js';
import {
  type ColumnSchema,
  type EntityClass,
  type EntitySchema,
  type IndexSchema,
  LIST_QUALIFIER,
  SHADOW_QUALIFIER,
  type TableSchema,
} from '../../schema/types.js';
import { checkGiven, describe } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import type { Feature, FeatureContext } from '../feature.js';
import { IndexMaintainer } from './embedded.js';
import { EntityIndexes } from './entity-indexes.js';
import { indexTableName } from './entry.js';
import { type EntityNotes, EventualEntries } from './eventual.js';
import type { IndexReport, IndexTarget, VerifyOptions } from './jobs/target.js';
import { LaterEntries, mayComeLater } from './later-work.js';
import { entityIndexes, type IndexAccess } from './query/access.js';
import { EntryFigures, RemoteEntries } from './remote.js';
import {
  checkIndexes,
  ensureIndexes,
  type IndexStanding,
  type IndexStates,
  indexStanding,
  isListable,
  setIndexStanding,
} from './states.js';

/** One index of an open database: its state, and jobs that build, verify, repair and drop it while writes continue. */
export class IndexHandle {
  private readonly index: IndexSchema;

  constructor(
    private readonly engine: Engine,
    private readonly indexing: IndexesFeature,
    private readonly access: IndexAccess,
    name: string,
  ) {
    const { schema, all } = access.indexes;
    const found = all.find(({ index }) => index.name === name);
    if (found === undefined) {
      throw new QueryError(
        `${schema.name} has no index ${describe(name)}. It has ${all.map(({ index }) => index.name).join(', ')}.`,
        { details: { entity: schema.name, index: name } },
      );
    }
    this.index = found.index;
  }

  /** Whether entries are written after the rows, in the background. */
  get eventual(): boolean {
    return this.index.eventual;
  }

  /** Undefined where the tables were opened with `tables: 'ignore'`, or `'verify'` before the index was built. */
  get state(): IndexState | undefined {
    return this.indexing.stateOf(this.index);
  }

  /**
   * Writes the entries of every row, then lets queries use the index. Resumes an unfinished run. Rows may be written
   * meanwhile.
   * @throws ConflictError when two rows have the same value in a unique index, or another program has disabled,
   * dropped or built it meanwhile.
   */
  build(run?: JobRunOptions): Promise<JobOutcome> {
    return this.alone(() => this.buildAlone(run));
  }

  private async buildAlone(run: JobRunOptions | undefined): Promise<JobOutcome> {
    const { state, build, listed = false } = await this.standing();
    // A build from before the index was disabled is incomplete: rows were written or entries removed since.
    const now = state === 'disabled' ? build + 1 : build;
    const begun: IndexStanding = { state: state === 'active' ? 'active' : 'building', build: now, listed };
    if (state !== 'active') await this.change(() => begun);
    const { buildIndex } = await import('./jobs/index-jobs.js');
    const outcome = await buildIndex(this.target(), { over: state === 'active' || now > 0, build: now }, run);
    await this.change((standing) => {
      if (standing.state === begun.state && standing.build === now) return { ...begun, state: 'active' };
      throw new ConflictError(
        `The index "${this.index.name}" was disabled, dropped or built by another program while it was built: it may lack what was ` +
          'written since. Build it again.',
        { details: { entity: this.access.indexes.schema.name, index: this.index.name } },
      );
    });
    return outcome;
  }

  /**
   * Brings an eventual index up to date. Resolves with the number of entries updated when none is left of those
   * pending at the call. Without it they are updated in the background, and after a crash at the next opening.
   * @throws InvalidArgumentError for an index whose entries are written with the rows.
   */
  async drain(): Promise<number> {
    const { indexes } = this.access;
    const { schema, all } = indexes;
    if (!this.index.eventual) {
      throw new InvalidArgumentError(
        `The index "${this.index.name}" of ${schema.name} is not eventual: its entries are written with the rows, and none waits. Leave out drain().`,
        { details: { entity: schema.name, index: this.index.name } },
      );
    }
    const notes = this.indexing.notesOf(this.access);
    if (notes !== undefined) return notes.drain(all.findIndex(({ index }) => index === this.index));
    await this.indexing.rest();
    const found = (await this.indexing.aheadOf(schema)?.recover()) ?? 0;
    const { drainIndex } = await import('./jobs/index-jobs.js');
    const { counters } = await drainIndex(this.target());
    return found + (counters['entries'] ?? 0);
  }

  /** Compares rows and entries in both directions. Changes nothing. */
  async verify(options: VerifyOptions = {}): Promise<IndexReport> {
    const known = checked('verify', options);
    await this.indexing.rest();
    const { verifyIndex } = await import('./jobs/index-jobs.js');
    return verifyIndex(this.target(), false, known);
  }

  /** As `verify`, and corrects every entry. A second repair changes nothing. */
  async repair(options: VerifyOptions = {}): Promise<IndexReport> {
    const known = checked('repair', options);
    await this.indexing.rest();
    if (this.index.eventual) await this.drain();
    const { verifyIndex } = await import('./jobs/index-jobs.js');
    return verifyIndex(this.target(), true, known);
  }

  /**
   * Removes every entry. Queries cannot use the index until it is built again. To remove the index for good, remove
   * its declaration.
   */
  drop(run?: JobRunOptions): Promise<JobOutcome> {
    return this.alone(async () => {
      await this.change((standing) => ({ ...standing, state: 'disabled' }));
      const { dropEntries } = await import('./jobs/index-jobs.js');
      const outcome = await dropEntries(this.engine, this.access.indexes.tableName, this.index.id, run);
      // Those that are written from now on are listed.
      await this.change((standing) => ({ ...standing, listed: isListable(this.engine, this.index) }));
      return outcome;
    });
  }

  /** Runs builds and drops of an index one after another. */
  private alone<T>(run: () => Promise<T>): Promise<T> {
    return this.indexing.alone(toHex(this.index.id), run);
  }

  private async standing(): Promise<IndexStanding> {
    const known = await indexStanding(this.engine.admin, this.access.indexes.schema, this.index);
    return known ?? { state: 'building', build: 0 };
  }

  /** All indexes of a table share one metadata: concurrent changes would overwrite each other. */
  private change(to: (standing: IndexStanding) => IndexStanding): Promise<void> {
    return this.indexing.alone(`metadata of ${this.access.indexes.tableName}`, async () => {
      const standing = to(await this.standing());
      await setIndexStanding(this.engine.admin, this.access.indexes.schema, this.index, standing);
      this.indexing.setState(this.index, standing);
    });
  }

  private target(): IndexTarget {
    const { indexes } = this.access;
    const where = indexes.all.find(({ index }) => index === this.index)!.where;
    return {
      engine: this.engine,
      indexes: new EntityIndexes(indexes.schema, () => where, [this.index]),
      ahead: this.indexing.aheadOf(indexes.schema),
    };
  }
}

/** @throws InvalidArgumentError when the sample is no share, or `settledAfter` is no time. */
function checked(doing: string, options: VerifyOptions): VerifyOptions {
  const { sample, settledAfter } = checkGiven(doing, options);
  if (settledAfter !== undefined && !(Number.isSafeInteger(settledAfter) && settledAfter >= 0)) {
    throw new InvalidArgumentError(
      `${doing}: settledAfter is a number of milliseconds, 0 or more, not ${describe(settledAfter)}.`,
    );
  }
  if (sample === undefined || (typeof sample === 'number' && sample > 0 && sample <= 1)) return options;
  throw new InvalidArgumentError(`${doing}: sample is a share above 0 and up to 1, not ${describe(sample)}.`);
}

const PENDING = {
  name: 'rowan.index.pending',
  unit: '{entry}',
  what: 'Entries of eventual indexes that are not written yet',
};

/** The indexes feature of an open database: the states of its indexes, their entries, and the queue of jobs that change them. */
export class IndexesFeature implements Feature {
  private readonly byEntity = new Map<EntitySchema, IndexAccess>();
  private states: IndexStates = new Map();
  /** The keys of `states`, cached because each query looks them up. */
  private readonly names = new WeakMap<IndexSchema, string>();
  /** The last job that runs alone, by the name of what it changes. */
  private readonly last = new Map<string, Promise<unknown>>();

  private readonly eventual: EventualEntries;
  /** HBase: the entries that are written after the calls have returned, of each entity. */
  private readonly ahead = new Map<EntitySchema, AheadWriter>();
  private readonly figures = new EntryFigures();

  private readonly engine: Engine;

  constructor(private readonly context: FeatureContext) {
    this.engine = context.engine;
    this.eventual = new EventualEntries(context.engine, context.onFailure);
  }

  /** @throws SchemaError naming every invalid condition, and indexes that the engine cannot support. */
  check(entities: readonly EntitySchema[]): void {
    const problems: string[] = [];
    const linked = new Set(
      entities.flatMap(({ copies, references }) => [...copies, ...references].map((link) => link.target())),
    );
    for (const schema of entities) {
      if (schema.indexes.length === 0 && !isFollowed(schema, linked)) continue;
      const problem = this.shadowProblem(schema);
      if (problem !== undefined) problems.push(problem);
      try {
        entityIndexes(schema);
      } catch (error) {
        if (!(error instanceof QueryError)) throw error;
        problems.push(`${schema.name}: the condition of an index is wrong. ${error.message}`);
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  /** Reads the states of the tables' indexes. Unless `readOnly`, updates the metadata to match the declarations. */
  async tablesReady(tables: readonly TableSchema[], live: LiveTables, readOnly: boolean): Promise<void> {
    this.states = readOnly
      ? await checkIndexes(this.engine, tables, live)
      : await ensureIndexes(this.engine, tables, live);
    this.byEntity.clear();
    for (const schema of tables.flatMap(({ entities }) => entities)) {
      const access = this.paths(schema);
      if (access === undefined || this.engine.capabilities.readOnly === true) continue;
      this.eventual.of(access.indexes)?.kickAll();
    }
  }

  /** The pending notes of an eventual index. Undefined where entries are written with the rows. */
  notesOf({ indexes }: IndexAccess): EntityNotes | undefined {
    return this.eventual.of(indexes);
  }

  /** Resolves when the entries of answered writes are verified. */
  async rest(): Promise<void> {
    await Promise.all([...this.ahead.values()].map((ahead) => ahead.rest()));
    await this.context.rest();
  }

  /** HBase: works off what programs left that ended before the entries of their rows were written. */
  async resume(): Promise<void> {
    if (!this.context.isRemote) return;
    for (const { target } of this.context.declared().entities)
      this.aheadOf(this.context.schemaOf(target))?.kick();
  }

  async end(): Promise<void> {
    await this.eventual.end();
    await Promise.all([...this.ahead.values()].map((ahead) => ahead.end()));
  }

  /** HBase: the entries of an entity that are written after the calls have returned. Undefined: they are written before and after each row. */
  aheadOf(schema: EntitySchema): AheadWriter | undefined {
    const indexes = this.context.isRemote ? this.paths(schema)?.indexes : undefined;
    if (indexes === undefined || !mayComeLater(indexes)) return undefined;
    let ahead = this.ahead.get(schema);
    if (ahead === undefined) {
      const { engine } = this;
      const { now, onFailure } = this.context;
      const table = engine.table(indexes.tableName);
      const entriesOf = (driver: IntentDriver) =>
        new RemoteEntries(indexes, table, driver, now, undefined, this.figures);
      const rows = engine.table(schema.table.descriptor.name);
      const { entries } = new IntentDriver(rows, schema, now, [], entriesOf);
      const work = new LaterEntries(entries, table, now, () => this.isListed(indexes));
      ahead = new AheadWriter({ schema, rows: entries.rows, work, now, onFailure });
      this.ahead.set(schema, ahead);
    }
    return ahead;
  }

  setState(index: IndexSchema, standing: IndexStanding): void {
    this.states.set(toHex(index.id), standing);
  }

  /** Runs jobs with the same name one after another. */
  async alone<T>(what: string, run: () => Promise<T>): Promise<T> {
    const before = this.last.get(what);
    const own = (async () => {
      await before?.catch(() => undefined);
      return run();
    })();
    this.last.set(what, own);
    try {
      return await own;
    } finally {
      if (this.last.get(what) === own) this.last.delete(what);
    }
  }

  stateOf(index: IndexSchema): IndexState | undefined {
    return this.standingOf(index)?.state;
  }

  /** Whether all entries of an entity are listed beside their rows. */
  private isListed({ all }: EntityIndexes): boolean {
    return all.every(
      ({ index }) => isListable(this.engine, index) && this.standingOf(index)?.listed === true,
    );
  }

  private standingOf(index: IndexSchema): ReturnType<IndexStates['get']> {
    let name = this.names.get(index);
    if (name === undefined) {
      name = toHex(index.id);
      this.names.set(index, name);
    }
    return this.states.get(name);
  }

  /** Undefined for an entity without indexes. */
  paths(schema: EntitySchema): IndexAccess | undefined {
    if (schema.indexes.length === 0) return undefined;
    let access = this.byEntity.get(schema);
    if (access === undefined) {
      const indexes: EntityIndexes = entityIndexes(schema);
      access = { indexes, stateOf: (index) => this.stateOf(index) };
      this.byEntity.set(schema, access);
      this.eventual.of(indexes);
    }
    return access;
  }

  stepMaintainers(schema: EntitySchema): readonly StepMaintainer[] {
    const access = this.paths(schema);
    return access === undefined ? [] : [new IndexMaintainer(access.indexes, this.context.now)];
  }

  entries(schema: EntitySchema, driver: IntentDriver): RemoteEntries | undefined {
    const indexes = this.paths(schema)?.indexes;
    if (indexes === undefined) return undefined;
    const table = (driver.transaction ?? this.engine).table(indexes.tableName);
    const entries = new RemoteEntries(indexes, table, driver, this.context.now, undefined, this.figures);
    if (driver.transaction === undefined) entries.ahead = this.aheadOf(schema);
    return entries;
  }

  async backlog(limit: number): Promise<readonly Metric[]> {
    const { isRemote, declared, schemaOf } = this.context;
    const hasIndexes = declared().entities.some(({ indexes }) => indexes.length > 0);
    if (!hasIndexes) return [];
    if (isRemote) return [...this.figures.metrics, ...AheadWriter.metrics(this.ahead.values(), PENDING)];
    for (const { target } of declared().entities) this.paths(schemaOf(target));
    return this.eventual.backlog(limit);
  }

  /** @throws QueryError when the entity has no such index. */
  handle(schema: EntitySchema, name: string): IndexHandle {
    const access = this.paths(schema);
    if (access !== undefined) return new IndexHandle(this.engine, this, access, name);
    throw new QueryError(
      `${schema.name} has no index ${describe(name)}. It has none: declare one, static readonly indexes = { name: index(…) }.`,
      {
        details: { entity: schema.name, index: name },
      },
    );
  }

  get schemaSteps(): FeatureSteps {
    const { stored, declared, schemaOf } = this.context;
    return {
      'build-index': async ({ table, option }) => {
        const { entities } = declared().tables.find(({ descriptor }) => descriptor.name === table)!;
        for (const entity of entities) {
          const index = entity.indexes.find(({ name }) => `${entity.name}.${name}` === option);
          if (index !== undefined) await this.handle(schemaOf(entity.target), index.name).build();
        }
      },
      'drop-index': async ({ table, option }) => {
        const { removeIndex } = await import('./jobs/index-jobs.js');
        await removeIndex(stored, indexTableName(table), option!);
      },
    };
  }

  /** @throws UnsupportedError on an entity in another table than the declared one. */
  refuseElsewhere({ name, indexes }: EntitySchema): void {
    if (indexes.length === 0) return;
    throw new UnsupportedError(
      `${name} has indexes (${indexes.map((index) => index.name).join(', ')}), which are kept for its declared table only. Declare a class without them for repositoryIn().`,
    );
  }

  /**
   * Where entries are written around the row, the row needs a marker, and a shadow cell beside it that names the last
   * change.
   */
  private shadowProblem(schema: EntitySchema): string | undefined {
    const { name, marker, columns } = schema;
    if ('atomic' in this.engine.table(schema.table.descriptor.name)) return undefined;
    if (marker === undefined)
      return `${name}: on HBase an entity with indexes, or whose rows are followed (copies, rules, summaries, changes), has a marker. Leave out marker: false.`;
    const own = schema.indexes.some(({ eventual }) => eventual)
      ? [SHADOW_QUALIFIER, LIST_QUALIFIER]
      : [SHADOW_QUALIFIER];
    const isTaken = ({ family, qualifier, kind }: ColumnSchema, by: Uint8Array): boolean =>
      family === marker.family &&
      (kind === 'columns' ? startsWithBytes(by, qualifier) : equalBytes(by, qualifier));
    for (const qualifier of own) {
      const taken = columns.find((column) => isTaken(column, qualifier));
      if (taken !== undefined)
        return (
          `${name}.${taken.property}: on HBase an entity with indexes, or whose rows are followed, has a cell ` +
          `"${marker.family}:${toLatin1(qualifier)}" of its own beside the marker. ` +
          'Give the property another qualifier or prefix, or pin the marker to another family: @Entity({ marker: "family" }).'
        );
    }
    return undefined;
  }
}

/** Whether other features keep something in step with the entity's rows. `linked`: the targets of all copies and references. */
function isFollowed(
  { copies, references, summaries, target, changesKept }: EntitySchema,
  linked: ReadonlySet<EntityClass>,
): boolean {
  if (copies.length + references.length + summaries.length > 0 || changesKept !== undefined) return true;
  return linked.has(target);
}
