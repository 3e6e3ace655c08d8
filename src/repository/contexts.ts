import type { AvroRegistry } from '../codec/index.js';
import { QueryError, UnsupportedError } from '../errors.js';
import type { KeyDictionary } from '../key/index.js';
import {
  CollectionQuery,
  type FindOptions,
  type Operations,
  type PathAccess,
  type Reading,
  type RelatedReaders,
  type TableAccess,
} from '../query/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import { avroColumns } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { isList } from '../table/checks.js';
import type { StepTable, SyncTable, Table, TableTransaction } from '../table/index.js';
import { BulkChanges } from './bulk-changes.js';
import {
  type ChangeExecutor,
  type Deferred,
  EmbeddedExecutor,
  EntityReader,
  IntentDriver,
  IntentExecutor,
  ObservedExecutor,
  RemoteExecutor,
  Repository,
  type RepositoryContext,
  type RowEntries,
  type RowIntent,
  RowLock,
  type Sequences,
  StepDriver,
  type StepMaintainer,
} from './index.js';
import { RedirectingExecutor } from './remote/remote-executor.js';
import { WriteCompiler } from './write-compiler.js';

/** The tables to work on, and the parts shared by the whole database. */
interface ContextSource {
  table(name: string): Table;
  /** The table as its entities are declared, even while columns are being moved. */
  viewOf(table: Table, writesBack?: boolean): Table;
  /** Whether its tables are synchronous. */
  readonly sync: boolean;
  readonly reading: Reading;
  readonly avro: AvroRegistry;
  /** Observers of reads and writes. */
  readonly operations: Operations;
  now(): number;
  /** Former names of an entity whose keys were changed in the same order. */
  formerNames(schema: EntitySchema): readonly string[];
  schemaOf(target: EntityClass): EntitySchema;
  /** The access paths to an entity's rows beside their key. Undefined: there are none. */
  paths(schema: EntitySchema): PathAccess | undefined;
  /** The maintainers of an entity's rows, on engines whose step may write several rows. */
  maintainers(schema: EntitySchema): readonly StepMaintainer[];
  /** The intents that are written before its rows, on engines whose atomic step is one row. */
  intents(schema: EntitySchema): readonly RowIntent[];
  /** The entries that lead to its rows, on such engines. Undefined: there are none. */
  entries(schema: EntitySchema, driver: IntentDriver): RowEntries | undefined;
  /** The row that repositories write in place of a row, on such engines. Undefined: each row itself. */
  writtenRow(schema: EntitySchema): ((row: Uint8Array) => Uint8Array) | undefined;
  /** Whether raw reads show delete markers. */
  readonly showsMarkers: boolean;
  /** Receives the number of changes that start again because others changed their rows or claimed their unique values. */
  onRestart(changes: number): void;
  /** The transaction that the tables are of. */
  readonly transaction?: TableTransaction;
  /** Set in a transaction: delays hooks until its end. */
  readonly deferred?: Deferred;
}

/** The parts that the repositories of a database and those of its transactions share. */
export interface SharedSource extends Omit<ContextSource, 'table' | 'transaction' | 'deferred'> {
  /** The table of dictionaries. */
  readonly dictionaryTable: string;
  dictionary(name: string): KeyDictionary;
  readonly sequences: Sequences;
  /** The table of sequences. */
  readonly sequenceTable: string;
  /** The schema of an entity without its dictionaries bound. */
  declared(target: EntityClass): EntitySchema;
}

/**
 * The intents of a transaction's rows: none.
 * @throws UnsupportedError for an entity whose changes reach other rows by intents, which are no part of the transaction.
 */
export function intentsInTransaction(source: SharedSource): ContextSource['intents'] {
  return (schema) => {
    if (source.intents(schema).length === 0) return [];
    throw new UnsupportedError(
      `${schema.name} has copies, summaries, computed columns, relation rules or recorded changes, or its keys are being changed: over a connection these are ` +
        'updated after each write, not in a transaction. Use it outside of the transaction, or open the store in this process.',
      { details: { entity: schema.name } },
    );
  };
}

/** By schema: each transaction asks again. */
const withAvro = new WeakMap<EntitySchema, boolean>();

function hasAvro(schema: EntitySchema): boolean {
  let has = withAvro.get(schema);
  if (has === undefined) {
    has = avroColumns(schema).length > 0;
    withAvro.set(schema, has);
  }
  return has;
}

/**
 * Creates what repositories and queries work on, from compiled entities and the tables of an engine or a transaction.
 */
export class Contexts {
  private readonly accesses = new Map<string, TableAccess>();
  private readonly executors = new Map<string, ChangeExecutor>();
  private readonly ofEntities = new Map<EntityClass, ChangeExecutor>();
  private readonly ofReaders = new Map<EntityClass, TableAccess>();
  private readonly locks = new Map<string, RowLock>();
  private readonly repositories = new Map<EntityClass, unknown>();
  private readonly maintainers = new Map<EntityClass, readonly StepMaintainer[]>();
  /** Applies changes of rows of any entity, with their effects, in one step. */
  readonly driver: StepDriver;

  constructor(private readonly source: ContextSource) {
    this.driver = new StepDriver(
      (schema) => this.maintainersOf(schema),
      () => source.now(),
    );
  }

  /**
   * The repository of a class, the same at each call. @throws SchemaError on a class that the database was not opened
   * with.
   */
  repository<C extends KeyedClass>(target: C): Repository<C> {
    const known = this.repositories.get(target);
    if (known !== undefined) return known as Repository<C>;
    const schema = this.source.schemaOf(target);
    const repository = new Repository<C>(schema, this.of(schema));
    this.repositories.set(target, repository);
    return repository;
  }

  /** The context of a repository. Its writes are reported to observers. */
  of(schema: EntitySchema): RepositoryContext {
    const { access, executor, putsAlone, now, deferred } = this.unobserved(schema);
    const writtenRow = this.source.writtenRow(schema);
    const redirected = writtenRow === undefined ? executor : new RedirectingExecutor(executor, writtenRow);
    const observed = new ObservedExecutor(redirected, this.source.operations, schema);
    return { access, executor: observed, observed, putsAlone, now, deferred };
  }

  private unobserved(schema: EntitySchema): RepositoryContext {
    const { source } = this;
    const { deferred } = source;
    const access = this.access([schema]);
    const now = (): number => source.now();
    const paths = source.paths(schema);
    const indexing = paths && { access: paths, entries: this.tableAccess(paths.indexes.tableName) };
    const isRemote = !('atomic' in access.table);
    const intents = isRemote ? source.intents(schema) : [];
    if (isRemote && (indexing !== undefined || intents.length > 0)) {
      const entriesOf = (own: IntentDriver) => source.entries(schema, own);
      const driver = new IntentDriver(
        access.table,
        schema,
        now,
        intents,
        entriesOf,
        source.transaction,
        (changes) => source.onRestart(changes),
        source.showsMarkers,
      );
      const { entries } = driver;
      const rowLock = this.lockOf(access.table.name);
      return {
        access:
          indexing === undefined || entries === undefined
            ? access
            : { ...access, indexing: { ...indexing, repair: entries.readRepair } },
        executor: new IntentExecutor(driver, rowLock, new RemoteExecutor(access.table, rowLock)),
        putsAlone: false,
        now,
        deferred,
      };
    }
    const maintainers = isRemote ? [] : this.maintainersOf(schema);
    return {
      access: indexing === undefined ? access : { ...access, indexing },
      executor:
        maintainers.length === 0
          ? this.executor(schema.table.descriptor.name)
          : new EmbeddedExecutor(access.table as StepTable, maintainers, this.driver, schema.marker?.family),
      putsAlone: maintainers.length === 0,
      now,
      deferred,
    };
  }

  /** The executor of an entity's changes, without reports to observers. */
  executorOf(schema: EntitySchema): ChangeExecutor {
    let executor = this.ofEntities.get(schema.target);
    if (executor === undefined) {
      executor = this.unobserved(schema).executor;
      this.ofEntities.set(schema.target, executor);
    }
    return executor;
  }

  /** Access to the rows of an entity and to its indexes. */
  private indexedAccess(schema: EntitySchema): TableAccess {
    let access = this.ofReaders.get(schema.target);
    if (access === undefined) {
      access = this.unobserved(schema).access;
      this.ofReaders.set(schema.target, access);
    }
    return access;
  }

  /** Resolves when the background work of answered writes has ended. */
  async rest(): Promise<void> {
    await Promise.all([...this.locks.values()].map((lock) => lock.rest()));
  }

  /** The row lock of a table. */
  private lockOf(name: string): RowLock {
    const lock = this.locks.get(name) ?? new RowLock();
    this.locks.set(name, lock);
    return lock;
  }

  /** The maintainers of an entity's rows, the same at each call. */
  private maintainersOf(schema: EntitySchema): readonly StepMaintainer[] {
    let found = this.maintainers.get(schema.target);
    if (found === undefined) {
      found = this.source.maintainers(schema);
      this.maintainers.set(schema.target, found);
    }
    return found;
  }

  /** Access to the table of these entities, with a loader for Avro schemas that their rows may need. */
  access(schemas: readonly EntitySchema[]): TableAccess {
    const { avro } = this.source;
    const access = this.tableAccess(schemas[0]!.table.descriptor.name);
    return schemas.some(hasAvro) ? { ...access, recover: (error) => avro.recover(error) } : access;
  }

  /** @throws QueryError when no class is given; KeyError when the prefix does not fit every entity's key. */
  collection<Classes extends readonly KeyedClass[]>(
    classes: Classes,
    prefix: object,
    options: FindOptions,
  ): CollectionQuery<Classes[number]> {
    if (!isList(classes) || classes.length === 0) {
      throw new QueryError('collection() names no entity. Give two or more classes of one table.');
    }
    const schemas = classes.map((target: KeyedClass) => this.source.schemaOf(target));
    return CollectionQuery.of<Classes[number]>(
      this.access(schemas),
      schemas,
      prefix as Readonly<Record<string, unknown>>,
      options,
      (schema) => {
        const context = this.of(schema);
        const compiler = new WriteCompiler(schema, context.now, context.deferred);
        return { access: context.access, changer: new BulkChanges(context, compiler) };
      },
    );
  }

  /** Drops everything made from these tables: columns of theirs have moved. */
  forget(tables: readonly string[]): void {
    for (const name of tables) {
      this.accesses.delete(name);
      this.executors.delete(name);
    }
    this.ofEntities.clear();
    this.ofReaders.clear();
  }

  /** The executor of a table. One for each table, since all writes of a row must go through the same row lock. */
  private executor(name: string): ChangeExecutor {
    let executor = this.executors.get(name);
    if (executor === undefined) {
      const { table } = this.tableAccess(name);
      executor =
        'atomic' in table
          ? new EmbeddedExecutor(table as StepTable, [])
          : new RemoteExecutor(table, this.lockOf(name));
      this.executors.set(name, executor);
    }
    return executor;
  }

  private tableAccess(name: string): TableAccess {
    let access = this.accesses.get(name);
    if (access === undefined) {
      const { source } = this;
      const table = source.viewOf(source.table(name));
      const sync = source.sync ? (table as SyncTable) : undefined;
      const { operations } = source;
      const { cursorSecret } = source.reading;
      const related: RelatedReaders = (target, view) => {
        if (view === undefined) return this.repository(target as KeyedClass);
        const schema = source.schemaOf(target);
        return new EntityReader(schema, this.indexedAccess(schema), view.timeRange, view.options);
      };
      const formerNames = (schema: EntitySchema) => source.formerNames(schema);
      access = { table, sync, operations, cursorSecret, formerNames, related };
      this.accesses.set(name, access);
    }
    return access;
  }
}
