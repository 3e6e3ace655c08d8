import { ControlTable, controlTableDescriptor, type LiveTables } from '../../ddl/index.js';
import { elementsOf } from '../../ddl/introspect/source.js';
import { SchemaError, UnsupportedError } from '../../errors.js';
import type { Schema } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import type { Engine, TableDescriptor } from '../../table/index.js';
import type { Feature, FeatureContext, KeyChange, RowUpkeep } from '../feature.js';
import type { EntityIndexes } from '../indexes/entity-indexes.js';
import type { IndexesFeature } from '../indexes/handle.js';
import { type RekeyedIndex, RekeyInSteps } from './embedded.js';
import { Rekey } from './handle.js';
import { DualWrites } from './jobs/dual-writes.js';
import { RowEffects } from './jobs/row-effects.js';
import { mappingProblems } from './jobs/row-mapping.js';
import { RekeyByCopies } from './remote.js';
import { type ExplainedKeyChange, hasDualWrites, type RekeyRecord, type RekeyState } from './strategy.js';
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
  /** The known changes: entity names, and the signature of the old key. */
  private readonly known: Pick<RekeyRecord, 'from' | 'to' | 'fromKey'>[] = [];
  /** The changes whose old rows were removed when the database was opened, or were being removed. */
  private readonly over: RekeyRecord[] = [];
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
   * SchemaError when an entity of a change in progress is not declared, or its key differs.
   */
  async resume(): Promise<void> {
    const { sync, readOnly } = this.engine.capabilities;
    if (!sync) return;
    for (const record of await this.records()) {
      this.known.push(record);
      if (readOnly === true) continue;
      const from = this.named(record.from);
      const to = this.named(record.to);
      if (hasDualWrites(record.state))
        this.follow(this.required(from, record), this.required(to, record), record);
      else if (record.state === 'cleanup' || record.state === 'done') this.over.push(record);
    }
    this.adopt();
  }

  /** Refuses writes of old entities, also of those that are added. */
  adopt(): void {
    for (const record of this.over) {
      const from = this.named(record.from);
      if (from?.key.signature === record.fromKey) this.refuseWrites(from, record.to);
    }
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
    const set = (entity: string, keyAs: string, change: (live: TableDescriptor) => TableDescriptor): void => {
      const schema = this.named(entity);
      const live = schema && planned.get(schema.table.descriptor.name);
      if (live !== undefined && schema?.key.signature === keyAs) planned.set(live.name, change(live));
    };
    for (const { from, to, fromKey, toKey, state, kept, keptNew } of await this.records()) {
      if (state === 'aborted') continue;
      const isDone = state === 'done';
      set(from, fromKey, (live) => withoutKeyChange(live, isDone ? undefined : kept, false));
      if (!isDone) set(to, toKey, (live) => withoutKeyChange(live, keptNew));
    }
    return planned;
  }

  async keyChanges({ name }: EntitySchema): Promise<readonly KeyChange[]> {
    const { sync } = this.engine.capabilities;
    return (await this.records()).flatMap(({ from, to, state, feedsFrom, feedsUntil }): KeyChange[] => {
      if (from !== name && to !== name) return [];
      const change = { stage: stageOf(state, sync), feedsFrom, feedsUntil };
      return [
        from === name ? { side: 'old', other: to, ...change } : { side: 'new', other: from, ...change },
      ];
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
  formerNames({ name, key }: EntitySchema): readonly string[] {
    if (this.known.length === 0) return [];
    const own = unsalted(key.signature);
    return this.known
      .filter(({ to, fromKey }) => to === name && unsalted(fromKey) === own)
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
      this.known.push({ from: source.name, to: target.name, fromKey: source.key.signature });
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

  private named(name: string): EntitySchema | undefined {
    return this.declared().entities.find((entity) => entity.name === name);
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
