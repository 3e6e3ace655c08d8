import { equalBytes, startsWithBytes, toHex, toLatin1 } from '../../bytes/index.js';
import type { FeatureSteps, LiveTables } from '../../ddl/index.js';
import { QueryError, RowanError, SchemaError, UnsupportedError } from '../../errors.js';
import type { IndexState } from '../../query/access.js';
import type { CommittingTable } from '../../repository/index.js';
import type { AdoptedSchema } from '../../schema/index.js';
import {
  type EntitySchema,
  type IndexSchema,
  SHADOW_QUALIFIER,
  type TableSchema,
} from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import type { EntityIndexes } from './entity-indexes.js';
import { indexTableName } from './entry.js';
import { EventualIndexQueue } from './eventual.js';
import { IndexHandle, type IndexKeeper, type WaitingNotes } from './handle.js';
import { entityIndexes, type IndexAccess } from './query/access.js';
import { checkIndexes, ensureIndexes, type IndexStates } from './states.js';

/**
 * The notes of eventual indexes of an open embedded database: processed in the background after each write, or on
 * demand by `drain`.
 */

/** Notes processed in one step. */
const STEP = 256;
/** Notes held in memory. Those beyond are found by a scan. */
const MOST = 65_536;

export class EventualEntries {
  private readonly byEntity = new Map<string, EntityNotes>();
  private ended = false;

  constructor(
    private readonly engine: Engine,
    private readonly onFailure: (error: RowanError) => void,
  ) {}

  /** Starts processing the notes of an entity. Undefined where it has no eventual index. */
  of(indexes: EntityIndexes): EntityNotes | undefined {
    const { schema } = indexes;
    if (!indexes.all.some(({ index }) => index.eventual)) return undefined;
    const table = this.engine.table(schema.table.descriptor.name);
    if (!('atomic' in table)) return undefined;
    const known = this.byEntity.get(schema.name);
    if (known?.notes.indexes === indexes) return known;
    known?.end();
    const notes = new EventualIndexQueue(indexes, () => this.engine.now());
    const own = new EntityNotes(notes, table as CommittingTable, this.onFailure);
    if (!this.ended) own.listen(this.engine);
    this.byEntity.set(schema.name, own);
    return own;
  }

  /** Stops after the current step. The rest is resumed when the database is opened next. */
  async end(): Promise<void> {
    this.ended = true;
    await Promise.all([...this.byEntity.values()].map((notes) => notes.end()));
  }
}

/** The notes of one entity. */
export class EntityNotes implements WaitingNotes {
  /** Rows of notes that were written and are pending, some perhaps by writes that failed. */
  private readonly noted = new Map<string, Uint8Array>();
  /** Whether there may be notes that are not in `noted`. */
  private unknown = false;
  private running: Promise<void> | undefined;
  private stopListening: (() => void) | undefined;
  private ended = false;

  constructor(
    readonly notes: EventualIndexQueue,
    private readonly table: CommittingTable,
    private readonly onFailure: (error: RowanError) => void,
  ) {}

  /** Remembers the notes of every write from now on; those of transactions once they are committed. */
  listen(engine: Engine): void {
    this.stopListening = engine.observe(this.notes.indexes.tableName, {
      after: ({ change }) => {
        if (change.kind === 'put' && this.notes.has(change.row)) this.note(change.row);
        return undefined;
      },
    });
  }

  private note(row: Uint8Array): void {
    if (this.noted.size < MOST) this.noted.set(toLatin1(row), row);
    else this.unknown = true;
    this.kick();
  }

  /** Starts processing all pending notes in the background, including those of earlier programs. */
  kickAll(): void {
    this.unknown = true;
    this.kick();
  }

  private kick(): void {
    if (this.running !== undefined || this.ended) return;
    // After the step that writes the note.
    this.running = new Promise((resolve) => setImmediate(resolve))
      .then(() => this.work())
      .catch((error: unknown) => {
        this.unknown = true;
        if (!(error instanceof RowanError)) throw error;
        if (!this.ended) this.onFailure(error);
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  private async work(): Promise<void> {
    while (!this.ended && (this.unknown || this.noted.size > 0)) {
      if (this.unknown) {
        this.unknown = false;
        for (const place of this.notes.places) await this.drain(place);
      } else {
        await this.step(this.take());
      }
    }
  }

  private take(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    for (const [name, row] of this.noted) {
      if (taken.length === STEP) break;
      this.noted.delete(name);
      taken.push(row);
    }
    return taken;
  }

  private step(notes: readonly Uint8Array[]): Promise<number> {
    return this.table.atomic((step) => this.notes.process(step, notes));
  }

  /**
   * Processes every note of an index that is pending at the call. @returns the number of notes. @throws RowanError of
   * the engine.
   */
  async drain(place: number): Promise<number> {
    let settled = 0;
    let last: Uint8Array | undefined;
    do {
      const from = last;
      [settled, last] = await this.table.atomic((step): [number, Uint8Array | undefined] => {
        const found = this.notes.waiting(step, place, from, STEP);
        return [settled + this.notes.process(step, found), found.length < STEP ? undefined : found.at(-1)];
      });
    } while (last !== undefined && !this.ended);
    return settled;
  }

  async end(): Promise<void> {
    this.ended = true;
    this.stopListening?.();
    await this.running;
  }
}

/** Returns the entity with its key bound to the dictionaries of the database. */
type Bound = (entity: EntitySchema) => EntitySchema;

/** The indexes of an open database: their states, and which of them queries may use. */

export class IndexRegistry implements IndexKeeper {
  private readonly byEntity = new Map<EntitySchema, IndexAccess>();
  private states: IndexStates = new Map();
  /** The keys of `states`, cached because each query looks them up. */
  private readonly names = new WeakMap<IndexSchema, string>();
  /** The last job that runs alone, by the name of what it changes. */
  private readonly last = new Map<string, Promise<unknown>>();

  private readonly eventual: EventualEntries;

  constructor(
    private readonly engine: Engine,
    /** Receives errors of background writes to eventual indexes. */
    onFailure: (error: RowanError) => void = () => undefined,
    readonly rest: () => Promise<void> = async () => undefined,
  ) {
    this.eventual = new EventualEntries(engine, onFailure);
  }

  /** @throws SchemaError naming every invalid condition, and indexes that the engine cannot support. */
  check(entities: readonly EntitySchema[]): void {
    const problems: string[] = [];
    for (const schema of entities) {
      if (schema.indexes.length === 0 && !isFollowed(schema, entities)) continue;
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
  async adopt({ tables }: AdoptedSchema, live: LiveTables, readOnly: boolean): Promise<void> {
    this.states = readOnly
      ? await checkIndexes(this.engine, tables, live)
      : await ensureIndexes(this.engine, tables, live);
    this.byEntity.clear();
    for (const schema of tables.flatMap(({ entities }) => entities)) {
      const access = this.of(schema);
      if (access !== undefined) this.eventual.of(access.indexes)?.kickAll();
    }
  }

  /** The pending notes of an eventual index. Undefined where entries are written with the rows. */
  notesOf({ indexes }: IndexAccess): EntityNotes | undefined {
    return this.eventual.of(indexes);
  }

  /** Ends background work. */
  end(): Promise<void> {
    return this.eventual.end();
  }

  setState(index: IndexSchema, state: IndexState): void {
    this.states.set(toHex(index.id), state);
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
    let name = this.names.get(index);
    if (name === undefined) {
      name = toHex(index.id);
      this.names.set(index, name);
    }
    return this.states.get(name);
  }

  /** Undefined for an entity without indexes. */
  of(schema: EntitySchema): IndexAccess | undefined {
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

  /** @throws QueryError when the entity has no such index. */
  handle(schema: EntitySchema, name: string): IndexHandle {
    const access = this.of(schema);
    if (access !== undefined) return new IndexHandle(this.engine, this, access, name);
    throw new QueryError(
      `${schema.name} has no index ${describe(name)}. It has none: declare one with @Index.`,
      {
        details: { entity: schema.name, index: name },
      },
    );
  }

  /** The steps of schema plans that build and drop indexes. @param stored the engine, which shows tables as they are stored. */
  schemaSteps(stored: Engine, tables: () => readonly TableSchema[], bound: Bound): FeatureSteps {
    return {
      'build-index': async ({ table, option }) => {
        const { entities } = tables().find(({ descriptor }) => descriptor.name === table)!;
        for (const entity of entities) {
          const index = entity.indexes.find(({ name }) => `${entity.name}.${name}` === option);
          if (index !== undefined) await this.handle(bound(entity), index.name).build();
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
    const taken = columns.find(
      ({ family, qualifier, kind }) =>
        family === marker.family &&
        (kind === 'columns'
          ? startsWithBytes(SHADOW_QUALIFIER, qualifier)
          : equalBytes(qualifier, SHADOW_QUALIFIER)),
    );
    if (taken === undefined) return undefined;
    return (
      `${name}.${taken.property}: on HBase an entity with indexes, or whose rows are followed, has a cell "${marker.family}:_x" of its own beside the marker. ` +
      'Give the property another qualifier or prefix, or pin the marker to another family: @Entity({ marker: "family" }).'
    );
  }
}

/** Whether other features keep something in step with the entity's rows. */
function isFollowed(
  { copies, references, summaries, target, changesKept }: EntitySchema,
  entities: readonly EntitySchema[],
): boolean {
  if (copies.length + references.length + summaries.length > 0 || changesKept !== undefined) return true;
  return entities.some((other) =>
    [...other.copies, ...other.references].some((link) => link.target() === target),
  );
}
