import { ControlTable, controlTableDescriptor, type LiveTables } from '../../ddl/index.js';
import { elementsOf } from '../../ddl/introspect/source.js';
import { SchemaError, UnsupportedError } from '../../errors.js';
import type { Schema } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import type { Engine, TableDescriptor } from '../../table/index.js';
import type { Feature, FeatureContext, KeyChange, RowUpkeep } from '../feature.js';
import type { EntityIndexes } from '../indexes/entity-indexes.js';
import type { IndexesFeature } from '../indexes/handle.js';
import { RekeyByCopies } from './by-copies.js';
import { Rekey } from './handle.js';
import { type RekeyedIndex, RekeyInSteps } from './in-steps.js';
import { DualWrites } from './jobs/dual-writes.js';
import { RowEffects } from './jobs/row-effects.js';
import { mappingProblems } from './jobs/row-mapping.js';
import {
  type ExplainedKeyChange,
  hasDualWrites,
  type RekeyRecord,
  type RekeyState,
  tablesOf,
} from './strategy.js';
import { withoutKeyChange } from './tables.js';

/** The indexes of a database's entities whose entries a key change must maintain. */
interface RekeyedIndexes {
  /** Undefined for an entity without indexes. */
  of(schema: EntitySchema): EntityIndexes | undefined;
  handle(schema: EntitySchema, name: string): RekeyedIndex;
}

/** The parts of a database that key changes use. */
interface RekeyingContext
  extends Pick<FeatureContext, 'stored' | 'schemaOf' | 'upkeep' | 'feedPosition' | 'retire'> {
  declared(): Schema;
}

/** The rekey feature of an open database. Changes in progress are resumed at each opening. */
export class RekeyFeature implements Feature {
  private readonly dualWrites = new Map<string, DualWrites>();
  private readonly handles = new Map<string, Rekey>();
  /** The known changes: entities and their tables, and the signature of the old key. */
  private readonly known: Pick<RekeyRecord, 'from' | 'to' | 'tables' | 'fromKey'>[] = [];
  /** The changes whose old rows were removed when the database was opened, or were being removed. */
  private readonly over: RekeyRecord[] = [];
  /** The changes in progress of tables that no entity of this program is declared over. */
  private readonly ofOthers: RekeyRecord[] = [];
  /** Whether the table of records exists. */
  private isRecorded = false;
  /** By the name of the old entity: ends the refusal of its writes. */
  private readonly refusing = new Map<string, () => void>();
  /** By the name of the new entity: ends the refusal of writes before the cut-over. */
  private readonly guarding = new Map<string, () => void>();
  private readonly effects = new WeakMap<EntitySchema, RowEffects | 'none'>();
  private readonly upkeepOf: (schema: EntitySchema) => readonly RowUpkeep[];
  private readonly engine: Engine;
  private readonly declared: () => Schema;
  private readonly indexes: RekeyedIndexes;

  constructor(
    private readonly context: RekeyingContext,
    indexes: Pick<IndexesFeature, 'paths' | 'handle'>,
  ) {
    const { stored, declared, schemaOf, upkeep } = context;
    this.engine = stored;
    this.declared = declared;
    this.upkeepOf = ({ target }) => upkeep(schemaOf(target));
    this.indexes = {
      of: ({ target }) => indexes.paths(schemaOf(target))?.indexes,
      handle: ({ target }, name) => indexes.handle(schemaOf(target), name),
    };
  }

  /**
   * Starts the dual writes of entities whose keys are being changed, before anything is written. @throws
   * SchemaError when an entity of a change in progress is not declared, or its key differs, and this program has one
   * of the tables.
   */
  async resume(): Promise<void> {
    const { sync, readOnly } = this.engine.capabilities;
    if (!sync) return;
    const declared = this.declared().tables.map(({ descriptor }) => descriptor.name);
    for (const record of await this.records()) {
      this.known.push(record);
      if (readOnly === true) continue;
      const { from, to } = this.entitiesOf(record);
      if (hasDualWrites(record.state)) {
        if (isAbout(record, declared))
          this.follow(this.required(from, record), this.required(to, record), record);
        else this.leave(record);
      } else if (record.state === 'cleanup' || record.state === 'done') this.over.push(record);
    }
    this.adopt();
  }

  /** Refuses writes of old entities, also of those that are added. */
  adopt(): void {
    for (const record of this.over) {
      const { from } = this.entitiesOf(record);
      if (from?.key.signature === record.fromKey) this.refuseWrites(from, record.to);
    }
  }

  /** Refuses added entities over the tables of another program's change in progress. */
  check(entities: readonly EntitySchema[]): void {
    const added = entities.map(({ table }) => table.descriptor.name);
    const record = this.ofOthers.find((each) => isAbout(each, added));
    if (record === undefined) return;
    const problem = notFollowed(record);
    throw new SchemaError(problem, [problem]);
  }

  /** Refuses writes of tables of which this program declares none, and whose writes need a second row. */
  private leave(record: RekeyRecord): void {
    this.ofOthers.push(record);
    for (const table of new Set(record.tables))
      this.engine.observe(table, {
        before: () => {
          throw new UnsupportedError(notFollowed(record), { details: { table } });
        },
      });
  }

  private async records(): Promise<readonly RekeyRecord[]> {
    const { engine } = this;
    const { name } = controlTableDescriptor();
    // Feeds ask with each page.
    this.isRecorded ||= await engine.admin.tableExists(name);
    if (!this.isRecorded) return [];
    const found = await new ControlTable(engine.table(name)).rekeys<RekeyRecord>();
    return found.map(({ value }) => value);
  }

  /** On engines whose atomic step is one row the tables of a change keep deletes, or have a fence, and the old one refuses writes. */
  async plannedTables(tables: LiveTables): Promise<LiveTables> {
    if (this.engine.capabilities.sync) return tables;
    const planned = new Map(tables);
    const set = (
      schema: EntitySchema | undefined,
      keyAs: string,
      change: (live: TableDescriptor) => TableDescriptor,
    ): void => {
      const live = schema && planned.get(schema.table.descriptor.name);
      if (live !== undefined && schema?.key.signature === keyAs) planned.set(live.name, change(live));
    };
    for (const record of await this.records()) {
      const { fromKey, toKey, state, kept, keptNew } = record;
      if (state === 'aborted') continue;
      const { from, to } = this.entitiesOf(record);
      const isDone = state === 'done';
      set(from, fromKey, (live) => withoutKeyChange(live, isDone ? undefined : kept, false));
      if (!isDone) set(to, toKey, (live) => withoutKeyChange(live, keptNew));
    }
    return planned;
  }

  /** The table that a change, or its abort, empties. */
  async offlineTables(): Promise<readonly string[]> {
    const records = await this.records();
    return records.flatMap(({ state, tables }) =>
      state === 'done' || state === 'aborted' ? [] : (tables ?? []),
    );
  }

  async keyChanges(entity: EntitySchema): Promise<readonly KeyChange[]> {
    const { sync } = this.engine.capabilities;
    return (await this.records()).flatMap((record): KeyChange[] => {
      const { from, to, state, feedsFrom, feedsUntil } = record;
      const change = { stage: stageOf(state, sync), feedsFrom, feedsUntil };
      if (isSide(record, 'from', entity)) return [{ side: 'old', other: to, ...change }];
      return isSide(record, 'to', entity) ? [{ side: 'new', other: from, ...change }] : [];
    });
  }

  async explain(schema: EntitySchema): Promise<ExplainedKeyChange> {
    const changes = await this.keyChanges(schema);
    for (const { other, stage } of changes)
      if (stage === 'filling' || stage === 'complete') return { keyChange: { other, stage } };
    return { keyChange: null };
  }

  /**
   * @throws SchemaError when an entity has gained a declaration that a key change does not support, since dual
   * writes would not maintain it.
   */
  private follow(from: EntitySchema, to: EntitySchema, { state }: RekeyRecord): void {
    const problems = mappingProblems(from, to, this.declared().entities);
    if (problems.length > 0)
      throw new SchemaError(
        `The keys of ${from.name} are being changed to those of ${to.name} (${state}), which contradicts the present declarations:\n${problems.join('\n')}\n` +
          'Open the database with the earlier declarations until the change is cleaned up or aborted.',
        problems,
      );
    this.dualWritesOf(from, to).begin();
  }

  /**
   * Entities whose keys are or were changed to those of this one, where both keys order rows alike: their cursors
   * hold the same key values.
   */
  formerNames(entity: EntitySchema): readonly string[] {
    if (this.known.length === 0) return [];
    const own = unsalted(entity.key.signature);
    return this.known
      .filter((change) => isSide(change, 'to', entity) && unsalted(change.fromKey) === own)
      .map(({ from }) => from);
  }

  /** The change from one declared entity to another. The same object at each call. */
  of(from: EntityClass, to: EntityClass): Rekey {
    const source = this.declared().entity(from);
    const target = this.declared().entity(to);
    const name = nameOf(source, target);
    let handle = this.handles.get(name);
    if (handle === undefined) {
      handle = this.make(source, target);
      this.handles.set(name, handle);
      this.known.push({
        from: source.name,
        to: target.name,
        tables: tablesOf(source, target),
        fromKey: source.key.signature,
      });
    }
    return handle;
  }

  private make(source: EntitySchema, target: EntitySchema): Rekey {
    const { engine } = this;
    const dualWrites = this.dualWritesOf(source, target);
    const strategy = engine.capabilities.sync
      ? new RekeyInSteps(
          engine,
          target,
          dualWrites,
          () => this.refuseWrites(source, target.name),
          () => target.indexes.map(({ name: index }) => this.indexes.handle(target, index)),
          () => this.upkeepOf(target),
        )
      : new RekeyByCopies(
          engine,
          source,
          target,
          (schema) => this.upkeepOf(schema),
          () => this.context.retire(this.context.schemaOf(source.target)),
          () => this.guard(target, source.name, dualWrites),
          () => this.unguard(target),
        );
    return new Rekey(
      engine,
      source,
      target,
      dualWrites,
      strategy,
      () => this.declared().entities,
      () => this.context.feedPosition(this.context.schemaOf(source.target)),
    );
  }

  /**
   * Refuses early writes to the new layout, which copies of the old one would overwrite: the servers would accept
   * them.
   */
  private guard({ name, table }: EntitySchema, from: string, { ownChanges }: DualWrites): void {
    if (this.guarding.has(name)) return;
    const end = this.engine.observe(table.descriptor.name, {
      before: ({ change }) => {
        if (ownChanges.has(change)) return undefined;
        throw new UnsupportedError(
          `The rows of ${from} are being copied to ${name}, which is not in use yet: a write now could not be told from a copy. Write ${from} until cutOver().`,
          { details: { entity: name } },
        );
      },
    });
    this.guarding.set(name, end);
  }

  private unguard({ name }: EntitySchema): void {
    this.guarding.get(name)?.();
    this.guarding.delete(name);
  }

  private dualWritesOf(from: EntitySchema, to: EntitySchema): DualWrites {
    const name = nameOf(from, to);
    let dualWrites = this.dualWrites.get(name);
    if (dualWrites === undefined) {
      dualWrites = new DualWrites(this.engine, from, to, (schema) => this.effectsOf(schema), this.upkeepOf);
      this.dualWrites.set(name, dualWrites);
    }
    return dualWrites;
  }

  private effectsOf(schema: EntitySchema): RowEffects | undefined {
    // Bound again when entities are added.
    const bound = this.context.schemaOf(schema.target);
    let effects = this.effects.get(bound);
    if (effects === undefined) {
      const indexes = schema.indexes.length === 0 ? undefined : this.indexes.of(schema);
      const upkeep = this.upkeepOf(schema);
      effects =
        indexes === undefined && upkeep.length === 0
          ? 'none'
          : new RowEffects(schema, indexes, upkeep, () => this.engine.now());
      this.effects.set(bound, effects);
    }
    return effects === 'none' ? undefined : effects;
  }

  /** Refuses writes to the old layout after the cut-over, since they would be lost. */
  private refuseWrites({ name, key, table }: EntitySchema, to: string): void {
    if (this.refusing.has(name)) return;
    const refuse = this.engine.observe(table.descriptor.name, {
      before: ({ change }) => {
        if (!key.matches(change.row) || ('cells' in change && change.kind === 'delete')) return undefined;
        throw new UnsupportedError(
          `The keys of ${name} were changed to those of ${to}, and its rows were removed. Write ${to}, and remove ${name} from the declarations.`,
          { details: { entity: name } },
        );
      },
    });
    this.refusing.set(name, refuse);
  }

  /** The declared entities of a change. */
  private entitiesOf(record: RekeyRecord): { from: EntitySchema | undefined; to: EntitySchema | undefined } {
    const { entities } = this.declared();
    return {
      from: entities.find((entity) => isSide(record, 'from', entity)),
      to: entities.find((entity) => isSide(record, 'to', entity)),
    };
  }

  private required(entity: EntitySchema | undefined, record: RekeyRecord): EntitySchema {
    const key = entity?.name === record.from ? record.fromKey : record.toKey;
    if (entity !== undefined && entity.key.signature === key) return entity;
    const problem =
      `The keys of ${record.from} are being changed to those of ${record.to} (${record.state}), and ` +
      `${entity === undefined ? 'one of them is not declared' : `${entity.name} is declared with the key [${entity.key.signature}] in place of [${key}]`}: ` +
      'writes now would be missing in the new layout. Open the database with the earlier declarations of both until the change is cleaned up or aborted.';
    throw new SchemaError(problem, [problem]);
  }
}

/** Whether a change is about one of the tables. Records of earlier releases do not name theirs: it may be. */
function isAbout({ tables }: RekeyRecord, names: readonly string[]): boolean {
  return tables === undefined || tables.some((table) => names.includes(table));
}

function notFollowed({ from, to, state, tables }: RekeyRecord): string {
  return (
    `The keys of ${from} are being changed to those of ${to} (${state}), in ${[...new Set(tables)].map((name) => `table "${name}"`).join(' and ')}: ` +
    'a write of this program, which was opened without both, would be missing in the new layout. Open the database with both until the change is cleaned up or aborted.'
  );
}

/** Whether an entity is the old or the new one of a change. */
function isSide(
  record: Pick<RekeyRecord, 'from' | 'to' | 'tables'>,
  side: 'from' | 'to',
  { name, table }: EntitySchema,
): boolean {
  const own = record.tables?.[side === 'from' ? 0 : 1] ?? table.descriptor.name;
  return record[side] === name && own === table.descriptor.name;
}

/** @param sync whether a write and its copy are one step. */
function stageOf(state: RekeyState, sync: boolean): KeyChange['stage'] {
  if (state === 'aborting' || state === 'aborted') return 'undone';
  if (state === 'cleanup' || state === 'done') return 'over';
  if (state === 'cut-over') return sync ? 'complete' : 'over';
  return state === 'ready' && sync ? 'complete' : 'filling';
}

/** The signature of a key without its salts, which do not affect the order. */
function unsalted(signature: string): string {
  return elementsOf(signature)
    .filter((element) => !element.startsWith('salt('))
    .join(' ');
}

function nameOf(from: EntitySchema, to: EntitySchema): string {
  return `${from.name}\0${to.name}`;
}
