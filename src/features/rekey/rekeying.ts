import { ControlTable, controlTableDescriptor } from '../../ddl/index.js';
import { elementsOf } from '../../ddl/introspect/source.js';
import { SchemaError, UnsupportedError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import type { Schema } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import type { Engine } from '../../table/index.js';
import type { Feature, FeatureContext } from '../feature.js';
import type { EntityIndexes } from '../indexes/entity-indexes.js';
import type { Indexing } from '../indexes/indexing.js';
import type { IndexReport } from '../indexes/jobs/target.js';
import { Rekey } from './handle.js';
import type { RekeyDifferences } from './jobs/compare.js';
import { Mirror } from './jobs/mirror.js';
import { mappingProblems, RowEntries } from './jobs/row-mapping.js';
import { RekeyByCopies } from './remote.js';
import {
  type CutOverOptions,
  isMirrored,
  type NoteCut,
  type RekeyRecord,
  type RekeyRun,
  type RekeyStrategy,
} from './strategy.js';

/** Changes of keys where a write and its copy are one step: both layouts are right at any moment from the verification on. */

/** What a change of keys asks of an index of one of its entities. */
export interface RekeyedIndex {
  readonly state: string | undefined;
  build(run?: JobRunOptions): Promise<unknown>;
  verify(options: { readonly run: JobRunOptions }): Promise<IndexReport>;
}

export class RekeyInSteps implements RekeyStrategy {
  readonly first = 'dual-write';
  readonly leadsBack = true;
  readonly runsAgain = false;

  constructor(
    private readonly engine: Engine,
    private readonly to: EntitySchema,
    private readonly mirror: Mirror,
    private readonly refuseWrites: () => void,
    /** Those of the new layout. */
    private readonly indexes: () => readonly RekeyedIndex[],
  ) {}

  problems(): string[] {
    return [];
  }

  /** Deletes that nobody needs would hide what is copied. */
  async prepare(): Promise<void> {
    const { dropDeletes } = await import('./jobs/remote-copy.js');
    await dropDeletes(this.engine, this.to);
  }

  async begin(): Promise<void> {
    this.mirror.begin();
  }

  async copy({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    // Entries of copies are written with them; an index that lacks those of rows before could not be asked.
    for (const index of this.indexes())
      if (index.state !== undefined && index.state !== 'active')
        await index.build(options.signal && { signal: options.signal });
    const { backfill } = await import('./jobs/backfill.js');
    await backfill(target, options);
  }

  async verify({ target }: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences> {
    const { compareLayouts } = await import('./jobs/compare.js');
    return { ...(await compareLayouts(target, options)), entries: await this.wrongEntries(options) };
  }

  /** Entries of the new layout's indexes that its rows do not say, and those that it lacks. */
  private async wrongEntries(options: JobRunOptions): Promise<number> {
    const { inShortSteps } = await import('./jobs/passes.js');
    let wrong = 0;
    for (const index of this.indexes()) {
      if (index.state === undefined) continue;
      const { missing, extra, stale, unverified } = await index.verify({ run: inShortSteps(options) });
      wrong += missing + extra + stale + unverified;
    }
    return wrong;
  }

  cutOver(_run: RekeyRun, _options: CutOverOptions, note: NoteCut): Promise<RekeyRecord> {
    return note(undefined);
  }

  /** Bulk loads and tools write past the mirror. */
  async lost({ target }: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences> {
    const { lostRows } = await import('./jobs/compare.js');
    return { ...(await lostRows(target, options)), entries: 0 };
  }

  counts(): void {}

  async removeOld({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.mirror.end();
    this.refuseWrites();
    const { removeLayout } = await import('./jobs/remote-copy.js');
    await removeLayout(target, target.from, options);
  }

  async removeNew({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.mirror.end();
    const { removeLayout } = await import('./jobs/remote-copy.js');
    await removeLayout(target, target.to, options);
  }
}

/** The changes of keys of an open database: what is under way is gone on with at each opening. */

/** The indexes of a database's entities, as far as they are kept with rows in another layout. */
export interface RekeyedIndexes {
  /** Undefined for an entity without indexes. */
  of(schema: EntitySchema): EntityIndexes | undefined;
  handle(schema: EntitySchema, name: string): RekeyedIndex;
}

/** What changes of keys take from their database. */
export interface RekeyingContext extends Pick<FeatureContext, 'stored' | 'schemaOf'> {
  declared(): Schema;
  readonly indexing: Pick<Indexing, 'of' | 'handle'>;
}

export class Rekeying implements Feature {
  private readonly mirrors = new Map<string, Mirror>();
  private readonly handles = new Map<string, Rekey>();
  /** The changes that are known of: names, and the signature of the key before. */
  private readonly known: Pick<RekeyRecord, 'from' | 'to' | 'fromKey'>[] = [];
  private readonly refusing = new Map<string, () => void>();
  private readonly guarding = new Map<string, () => void>();
  private readonly entries = new WeakMap<EntityIndexes, RowEntries>();

  private readonly engine: Engine;
  private readonly declared: () => Schema;
  private readonly indexes: RekeyedIndexes;

  constructor({ stored, declared, indexing, schemaOf }: RekeyingContext) {
    this.engine = stored;
    this.declared = declared;
    this.indexes = {
      of: ({ target }) => indexing.of(schemaOf(target))?.indexes,
      handle: ({ target }, name) => indexing.handle(schemaOf(target), name),
    };
  }

  /**
   * Follows the writes of entities whose keys are being changed; nothing may be written before.
   * @throws SchemaError when an entity of a change under way is not declared, or has another key than it had.
   */
  async resume(): Promise<void> {
    const { engine } = this;
    const { name } = controlTableDescriptor();
    if (!engine.capabilities.sync || !(await engine.admin.tableExists(name))) return;
    for (const { value: record } of await new ControlTable(engine.table(name)).rekeys<RekeyRecord>()) {
      this.known.push(record);
      const from = this.named(record.from);
      const to = this.named(record.to);
      if (isMirrored(record.state))
        this.follow(this.required(from, record), this.required(to, record), record);
      else if (
        (record.state === 'cleanup' || record.state === 'done') &&
        from?.key.signature === record.fromKey
      )
        this.refuseWrites(from, record.to);
    }
  }

  /** @throws SchemaError when a declaration has come to what would have been refused: no writes below repositories would keep it. */
  private follow(from: EntitySchema, to: EntitySchema, { state }: RekeyRecord): void {
    const problems = mappingProblems(from, to, this.declared().entities);
    if (problems.length > 0)
      throw new SchemaError(
        `The keys of ${from.name} are being changed to those of ${to.name} (${state}), which does not go with what is declared now:\n${problems.join('\n')}\n` +
          'Open the database with the declarations of before until the change is cleaned up or aborted.',
        problems,
      );
    this.mirror(from, to).begin();
  }

  /**
   * The entities whose keys are or were changed to those of this one, as far as rows stand in the same order under both: their
   * cursors hold the same values of the key.
   */
  formerNames({ name, key }: EntitySchema): readonly string[] {
    if (this.known.length === 0) return [];
    const own = unsalted(key.signature);
    return this.known
      .filter(({ to, fromKey }) => to === name && unsalted(fromKey) === own)
      .map(({ from }) => from);
  }

  /** The change from one declared entity to another; the same one at each call. */
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
    const mirror = this.mirror(source, target);
    const way = engine.capabilities.sync
      ? new RekeyInSteps(
          engine,
          target,
          mirror,
          () => this.refuseWrites(source, target.name),
          () => target.indexes.map(({ name: index }) => this.indexes.handle(target, index)),
        )
      : new RekeyByCopies(
          engine,
          source,
          target,
          () => this.guard(target, source.name, mirror),
          () => this.unguard(target),
        );
    return new Rekey(engine, source, target, mirror, way, () => this.declared().entities);
  }

  /** What is written to the new layout by copies of the old one, and too early: the servers would take it. */
  private guard({ name, table }: EntitySchema, from: string, { own }: Mirror): void {
    if (this.guarding.has(name)) return;
    const end = this.engine.observe(table.descriptor.name, {
      before: ({ change }) => {
        if (own.has(change)) return undefined;
        throw new UnsupportedError(
          `The rows of ${from} are being copied to ${name}, which does not count yet: what is written now would be taken for a copy. Write ${from} until cutOver().`,
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

  private mirror(from: EntitySchema, to: EntitySchema): Mirror {
    const name = nameOf(from, to);
    let mirror = this.mirrors.get(name);
    if (mirror === undefined) {
      mirror = new Mirror(this.engine, from, to, (schema) => this.entriesOf(schema));
      this.mirrors.set(name, mirror);
    }
    return mirror;
  }

  private entriesOf(schema: EntitySchema): RowEntries | undefined {
    const indexes = schema.indexes.length === 0 ? undefined : this.indexes.of(schema);
    if (indexes === undefined) return undefined;
    let entries = this.entries.get(indexes);
    if (entries === undefined) {
      entries = new RowEntries(indexes, () => this.engine.now());
      this.entries.set(indexes, entries);
    }
    return entries;
  }

  /** Once another layout has taken its place, what is written to the old one would be lost. */
  private refuseWrites({ name, key, table }: EntitySchema, to: string): void {
    if (this.refusing.has(name)) return;
    const refuse = this.engine.observe(table.descriptor.name, {
      before: ({ change }) => {
        if (!key.matches(change.row) || ('cells' in change && change.kind === 'delete')) return undefined;
        throw new UnsupportedError(
          `The keys of ${name} were changed to those of ${to}, and its rows are gone. Write ${to}, and leave ${name} out of the declarations.`,
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
      'what is written now would be missing there. Open the database with both as they were until the change is cleaned up or aborted.';
    throw new SchemaError(problem, [problem]);
  }
}

/** The signature of a key without its salts, which order nothing. */
function unsalted(signature: string): string {
  return elementsOf(signature)
    .filter((element) => !element.startsWith('salt('))
    .join(' ');
}

function nameOf(from: EntitySchema, to: EntitySchema): string {
  return `${from.name}\0${to.name}`;
}
