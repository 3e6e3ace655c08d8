import type { FeatureSteps, LiveTables } from '../ddl/index.js';
import { SchemaError, UnsupportedError } from '../errors.js';
import type { Feature, FeatureContext, KeyChange } from '../features/feature.js';
import { JoinedOutbox, type Outbox, RemoteOutbox } from '../features/outbox.js';
import { type Features, openFeatures } from '../features/registry.js';
import { systemTables } from '../features/tables.js';
import type { PathAccess } from '../query/index.js';
import {
  applyingWith,
  type ChangeExecutor,
  FollowUps,
  fenceRows,
  type IntentDriver,
  OUTBOX_TABLE,
  type RowEntries,
  type RowIntent,
  type RowMaintainer,
  readingFrom,
  readingInSteps,
  type StepMaintainer,
  waitingIn,
} from '../repository/index.js';
import type { AdoptedSchema, Schema } from '../schema/index.js';
import type { EntitySchema } from '../schema/types.js';
import { Scan } from '../table/index.js';
import type { Metric } from '../table/telemetry.js';

/** The parts of a database from which its features are created. */
interface FeaturesSource
  extends Omit<
    FeatureContext,
    | 'reading'
    | 'applyChanges'
    | 'fence'
    | 'now'
    | 'isRemote'
    | 'outbox'
    | 'driver'
    | 'upkeep'
    | 'keyChanges'
    | 'feedPosition'
    | 'retire'
    | 'followed'
  > {
  driver(): FeatureContext['driver'];
  /** The executor of an entity's changes. */
  executorOf(entity: EntitySchema): ChangeExecutor;
}

/** The features of an open database. Passes calls to each of them. */
export class OpenFeatures {
  /** The features by name, for the handles of the database. */
  readonly named: Features;
  /** The pending effects of every feature. */
  readonly outbox: Outbox;
  /** HBase: how many changes of rows have started again. */
  restarts = 0;
  private readonly all: readonly Feature[];
  private readonly outboxes: readonly Outbox[];
  private readonly remote: RemoteOutbox | undefined;
  private readonly context: FeatureContext;
  /** HBase: runs the maintainers of each entity, by entity name. */
  private readonly followUps = new Map<string, FollowUps>();
  /** The maintainers that the step driver runs. */
  private readonly ofSteps = new Map<EntitySchema, readonly StepMaintainer[]>();
  /** Those that repositories write with, by entity name: repositories made before {@link adopt} keep theirs. */
  private readonly inUse = new Map<string, Set<FollowUps>>();

  constructor(source: FeaturesSource) {
    const { engine, executorOf, onFailure } = source;
    const isRemote = !('atomic' in engine.table(OUTBOX_TABLE));
    this.remote = isRemote
      ? new RemoteOutbox({
          engine,
          followUpsOf: (entity) => this.followUps.get(entity),
          rest: () => Promise.all([...this.inUse.keys()].map((name) => this.rest(name))),
          recover: (settledAfter) =>
            Promise.all([...this.followUps.values()].map((followUps) => followUps.recover(settledAfter))),
          onFailure,
        })
      : undefined;
    this.outbox = this.remote ?? new JoinedOutbox(() => this.outboxes);
    const now = (): number => engine.now();
    this.context = {
      ...source,
      isRemote,
      outbox: this.outbox,
      get driver() {
        return source.driver();
      },
      reading: isRemote ? readingFrom((name) => engine.table(name)) : readingInSteps(engine, OUTBOX_TABLE),
      applyChanges: applyingWith(executorOf),
      upkeep: (entity) => this.all.flatMap((feature) => feature.upkeep?.(entity) ?? []),
      keyChanges: (entity) => this.keyChanges(entity),
      feedPosition: async (entity) => {
        for (const feature of this.all) {
          const position = await feature.feedPosition?.(entity);
          if (position !== undefined) return position;
        }
        return undefined;
      },
      followed: ({ name }) => this.rest(name),
      retire: async (entity) => {
        for (const feature of this.all) await feature.retire?.(entity);
      },
      fence: (entity, rows) => fenceRows(engine.table(entity.table.descriptor.name), entity, rows, now),
      now,
    };
    this.named = openFeatures(this.context);
    this.all = Object.values(this.named);
    this.outboxes = this.all.flatMap(({ outbox }) => outbox ?? []);
  }

  /** Registers the declarations. @throws SchemaError, UnsupportedError as the features do. */
  adopt(schema: AdoptedSchema): void {
    for (const feature of this.all) feature.adopt?.(schema);
    this.ofSteps.clear();
    this.followUps.clear();
    if (this.remote === undefined) return;
    for (const { target, name } of schema.entities) {
      const entity = this.context.schemaOf(target);
      const maintainers = this.maintainers(entity);
      if (maintainers.length > 0) this.followUps.set(name, this.followUpsWith(entity, maintainers));
    }
  }

  /** Resolves when the effects of this program's answered writes of an entity are settled. */
  private async rest(entity: string): Promise<void> {
    await Promise.all([...(this.inUse.get(entity) ?? [])].map((followUps) => followUps.rest()));
  }

  private followUpsWith(schema: EntitySchema, maintainers: readonly RowMaintainer[]): FollowUps {
    const { engine, reading, now, onFailure } = this.context;
    return new FollowUps({
      schema,
      maintainers,
      table: engine.table(schema.table.descriptor.name),
      outbox: engine.table(OUTBOX_TABLE),
      now,
      reading,
      isRetired: async () =>
        (await this.keyChanges(schema)).some(({ side, stage }) => side === 'old' && stage === 'over'),
      onUnsettled: (token) => this.remote!.enqueue(token),
      onFailure,
    });
  }

  /** The pending work of the outbox and of the features. `limit`: rows to read of a queue. */
  async backlog(limit: number): Promise<readonly Metric[]> {
    const features = await Promise.all(this.all.map((feature) => feature.backlog?.(limit) ?? []));
    const outbox = await this.outboxBacklog(limit);
    if (this.remote === undefined) return [...outbox, ...features.flat()];
    const restarts: Metric = {
      name: 'rowan.change.restarts',
      kind: 'counter',
      unit: '{change}',
      description: 'Changes started again because others changed their rows or claimed their unique values',
      value: this.restarts,
    };
    return [restarts, ...outbox, ...features.flat()];
  }

  private async outboxBacklog(limit: number): Promise<Metric[]> {
    const { engine, declared } = this.context;
    if (!systemTables(declared()).some(({ descriptor }) => descriptor.name === OUTBOX_TABLE)) return [];
    const { count, age } = await waitingIn(engine, OUTBOX_TABLE, new Scan(), limit);
    const metrics: Metric[] = [
      {
        name: 'rowan.outbox.pending',
        kind: 'gauge',
        unit: '{change}',
        description: 'Changes in rowan_outbox whose effects are not applied yet',
        value: count,
      },
      {
        name: 'rowan.outbox.age',
        kind: 'gauge',
        unit: 'ms',
        description: 'Age of the oldest change in rowan_outbox',
        value: age,
      },
    ];
    if (this.remote !== undefined)
      metrics.push({
        name: 'rowan.outbox.takeovers',
        kind: 'counter',
        unit: '{change}',
        description: 'Changes of abandoned writers whose effects this program applied',
        value: this.remote.takenOver,
      });
    return metrics;
  }

  /** The maintainers that the step driver runs, the same at each call. */
  stepMaintainers(entity: EntitySchema): readonly StepMaintainer[] {
    let found = this.ofSteps.get(entity);
    if (found === undefined) {
      found = [
        ...this.all.flatMap((feature) => feature.stepMaintainers?.(entity) ?? []),
        ...this.maintainers(entity),
      ];
      this.ofSteps.set(entity, found);
    }
    return found;
  }

  /** The access paths to rows of an entity. */
  paths(entity: EntitySchema): PathAccess | undefined {
    return first(this.all, (feature) => feature.paths?.(entity));
  }

  /** HBase: the entries that lead to rows of an entity. */
  entries(entity: EntitySchema, driver: IntentDriver): RowEntries | undefined {
    return first(this.all, (feature) => feature.entries?.(entity, driver));
  }

  /** As {@link Feature.writtenRow}. */
  writtenRow(entity: EntitySchema): ((row: Uint8Array) => Uint8Array) | undefined {
    return this.context.isRemote ? first(this.all, (feature) => feature.writtenRow?.(entity)) : undefined;
  }

  maintainers(entity: EntitySchema): readonly RowMaintainer[] {
    return this.all.flatMap((feature) => feature.maintainers?.(entity) ?? []);
  }

  /** HBase: the intents to write before rows of an entity. */
  intents(entity: EntitySchema): readonly RowIntent[] {
    const followUps = this.followUps.get(entity.name);
    const others = this.all.flatMap((feature) => feature.intent?.(entity) ?? []);
    if (followUps === undefined) return others;
    const { name } = entity;
    this.inUse.set(name, (this.inUse.get(name) ?? new Set()).add(followUps));
    return [followUps, ...others];
  }

  private async keyChanges(entity: EntitySchema): Promise<readonly KeyChange[]> {
    const found = await Promise.all(this.all.map((feature) => feature.keyChanges?.(entity) ?? []));
    return found.flat();
  }

  formerNames(entity: EntitySchema): readonly string[] {
    return this.all.flatMap((feature) => feature.formerNames?.(entity) ?? []);
  }

  /**
   * @throws SchemaError when an added entity depends on changes of one that is open already and may have been written
   * to.
   */
  checkAdded(before: Schema, { entities }: Schema): void {
    const problems: string[] = [];
    for (const entity of entities) {
      if (before.has(entity.target)) continue;
      for (const feature of this.all) {
        const { what, entities: sources } = feature.sources?.(entity) ?? NO_SOURCES;
        for (const source of sources) {
          if (!before.has(source)) continue;
          problems.push(
            `${entity.name} has ${what} about ${source.name}, which is open already and would not be followed: pass both to open().`,
          );
        }
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  /** @throws UnsupportedError on an entity with maintainers in another table than the declared one. */
  refuseElsewhere(entity: EntitySchema): void {
    for (const feature of this.all) feature.refuseElsewhere?.(entity);
    if (this.maintainers(entity).length === 0) return;
    throw new UnsupportedError(
      `${entity.name} has copies, computed columns, referential rules, summaries or mutual links, or others have them about it, which are followed in its declared table only. Declare a class without them for repositoryIn().`,
      { details: { entity: entity.name } },
    );
  }

  /** Tables as schema plans are to see them. */
  async plannedTables(tables: LiveTables): Promise<LiveTables> {
    let planned = tables;
    for (const feature of this.all) planned = (await feature.plannedTables?.(planned)) ?? planned;
    return planned;
  }

  /** Tables that work of features may have disabled. */
  async offlineTables(): Promise<string[]> {
    const found = await Promise.all(this.all.map((feature) => feature.offlineTables?.() ?? []));
    return found.flat();
  }

  /** The steps of schema plans that features carry out. */
  get schemaSteps(): FeatureSteps {
    return Object.assign({}, ...this.all.map(({ schemaSteps }) => schemaSteps));
  }

  /** What no schema step builds, each a sentence. */
  async unbuilt(): Promise<string[]> {
    const found = await Promise.all(this.all.map((feature) => feature.unbuilt?.() ?? []));
    return found.flat();
  }

  /** @throws SchemaError on entities that the engine cannot support. */
  check(entities: readonly EntitySchema[]): void {
    for (const feature of this.all) feature.check?.(entities);
  }

  async tablesReady(...ready: Parameters<NonNullable<Feature['tablesReady']>>): Promise<void> {
    for (const feature of this.all) await feature.tablesReady?.(...ready);
  }

  async tablesOpened(...opened: Parameters<NonNullable<Feature['tablesOpened']>>): Promise<void> {
    for (const feature of this.all) await feature.tablesOpened?.(...opened);
    if (this.context.engine.capabilities.readOnly !== true) this.outbox.kick();
  }

  async resume(): Promise<void> {
    for (const feature of this.all) await feature.resume?.();
  }

  async end(): Promise<void> {
    await this.outbox.end();
    // Those that are built on others first.
    for (const feature of [...this.all].reverse()) await feature.end?.();
  }
}

const NO_SOURCES = { what: '', entities: [] };

/** The value of the first feature that has one. */
function first<T>(features: readonly Feature[], of: (feature: Feature) => T | undefined): T | undefined {
  for (const feature of features) {
    const found = of(feature);
    if (found !== undefined) return found;
  }
  return undefined;
}
