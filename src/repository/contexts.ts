/** From compiled entities to what repositories and queries work on: the tables of an engine, or of a transaction. */

import type { AvroRegistry } from '../codec/index.js';
import { QueryError } from '../errors.js';
import { IndexMaintainer } from '../features/indexes/embedded.js';
import { entityIndexes, type IndexAccess } from '../features/indexes/query/access.js';
import { SETTLED } from '../features/indexes/remote.js';
import type { KeyDictionary } from '../key/index.js';
import {
  CollectionQuery,
  type FindOptions,
  type Operations,
  type Reading,
  type RelatedReaders,
  type TableAccess,
} from '../query/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import { avroColumns } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { isList } from '../table/checks.js';
import type { SyncTable, Table } from '../table/index.js';
import {
  type ChangeExecutor,
  type CommittingTable,
  type Deferred,
  EmbeddedExecutor,
  EntityReader,
  IntentDriver,
  IntentExecutor,
  ReadRepair,
  RemoteExecutor,
  Repository,
  type RepositoryContext,
  type RowIntent,
  RowLock,
  StepDriver,
  type StepMaintainer,
  ToldExecutor,
} from './index.js';

/** Where the tables come from, and what belongs to the database whoever asks. */
export interface ContextSource {
  table(name: string): Table;
  /** The table as its entities are declared, wherever their columns stand yet. */
  viewOf(table: Table, writesBack?: boolean): Table;
  /** Whether its tables answer in the same thread. */
  readonly sync: boolean;
  readonly reading: Reading;
  readonly avro: AvroRegistry;
  /** Who is told of what is read and written. */
  readonly operations: Operations;
  now(): number;
  /** Names of entities whose keys were changed to those of this one, in the same order. */
  formerNames(schema: EntitySchema): readonly string[];
  schemaOf(target: EntityClass): EntitySchema;
  indexesOf(schema: EntitySchema): IndexAccess | undefined;
  /** The maintainers of an entity's rows, beside that of its indexes. */
  maintainers(schema: EntitySchema): readonly StepMaintainer[];
  /** What is noted of its changes before its rows are written, where one step is one row. */
  intents(schema: EntitySchema): readonly RowIntent[];
  /** Where hooks behind a write wait for the end of a transaction; undefined: they do not wait. */
  readonly deferred?: Deferred;
}

/** What the repositories of a database and those of its transactions have in common. */
export interface SharedSource extends Omit<ContextSource, 'table' | 'deferred' | 'sync'> {
  /** The table in which dictionaries keep their texts. */
  readonly dictionaryTable: string;
  dictionary(name: string): KeyDictionary;
  /** The schema of an entity as it was declared: its key is not bound to dictionaries. */
  declared(target: EntityClass): EntitySchema;
}

export class Contexts {
  private readonly accesses = new Map<string, TableAccess>();
  private readonly executors = new Map<string, ChangeExecutor>();
  private readonly ofEntities = new Map<EntityClass, ChangeExecutor>();
  private readonly gates = new Map<string, RowLock>();
  private readonly repositories = new Map<EntityClass, unknown>();
  private readonly maintainers = new Map<EntityClass, readonly StepMaintainer[]>();
  /** Applies changes of any entity's rows, with their effects, in a step. */
  readonly driver: StepDriver;

  constructor(private readonly source: ContextSource) {
    this.driver = new StepDriver(
      (schema) => this.maintainersOf(schema),
      () => source.now(),
    );
  }

  /** The same one at each call. @throws SchemaError on a class that the database was not opened with. */
  repository<C extends KeyedClass>(target: C): Repository<C> {
    const known = this.repositories.get(target);
    if (known !== undefined) return known as Repository<C>;
    const schema = this.source.schemaOf(target);
    const repository = new Repository<C>(schema, this.of(schema));
    this.repositories.set(target, repository);
    return repository;
  }

  /** What repositories work on: their writes are told to whoever listens. */
  of(schema: EntitySchema): RepositoryContext {
    const context = this.untold(schema);
    const told = new ToldExecutor(context.executor, this.source.operations, schema);
    return { ...context, executor: told, told };
  }

  private untold(schema: EntitySchema): RepositoryContext {
    const { source } = this;
    const { deferred } = source;
    const access = this.access([schema]);
    const shared = { now: () => source.now(), ...(deferred !== undefined && { deferred }) };
    const indexes = source.indexesOf(schema);
    const indexing = indexes && { access: indexes, entries: this.tableAccess(indexes.indexes.tableName) };
    const isRemote = !('atomic' in access.table);
    const intents = isRemote ? source.intents(schema) : [];
    if (isRemote && (indexing !== undefined || intents.length > 0)) {
      const own = indexes?.indexes ?? entityIndexes(schema);
      const entries = this.tableAccess(own.tableName).table;
      const rows = new IntentDriver(access.table, entries, own, shared.now, SETTLED, intents);
      const gate = this.gate(access.table.name);
      return {
        access:
          indexing === undefined
            ? access
            : { ...access, indexing: { ...indexing, repair: new ReadRepair(rows) } },
        executor: new IntentExecutor(rows, gate, new RemoteExecutor(access.table, gate)),
        putsAlone: false,
        ...shared,
      };
    }
    const maintainers = isRemote ? [] : this.maintainersOf(schema);
    return {
      access: indexing === undefined ? access : { ...access, indexing },
      executor:
        maintainers.length === 0
          ? this.executor(schema.table.descriptor.name)
          : new EmbeddedExecutor(access.table as CommittingTable, maintainers, this.driver),
      putsAlone: maintainers.length === 0,
      ...shared,
    };
  }

  /** What applies changes of an entity. */
  executorOf(schema: EntitySchema): ChangeExecutor {
    let executor = this.ofEntities.get(schema.target);
    if (executor === undefined) {
      executor = this.untold(schema).executor;
      this.ofEntities.set(schema.target, executor);
    }
    return executor;
  }

  /** One for each table. */
  private gate(name: string): RowLock {
    const gate = this.gates.get(name) ?? new RowLock();
    this.gates.set(name, gate);
    return gate;
  }

  /** The maintainers of an entity's rows; that of its indexes is the first. */
  private maintainersOf(schema: EntitySchema): readonly StepMaintainer[] {
    let found = this.maintainers.get(schema.target);
    if (found === undefined) {
      const indexes = this.source.indexesOf(schema);
      const own = indexes && new IndexMaintainer(indexes.indexes, () => this.source.now());
      found = [...(own === undefined ? [] : [own]), ...this.source.maintainers(schema)];
      this.maintainers.set(schema.target, found);
    }
    return found;
  }

  /** The table of these entities, with what reading them may have to load. */
  access(schemas: readonly EntitySchema[]): TableAccess {
    const { avro } = this.source;
    const access = this.tableAccess(schemas[0]!.table.descriptor.name);
    const hasAvro = schemas.some((schema) => avroColumns(schema).length > 0);
    return hasAvro ? { ...access, recover: (error) => avro.recover(error) } : access;
  }

  /** @throws QueryError when no class is named; KeyError when the prefix is not one of every entity's key. */
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
    );
  }

  /** Makes anew what is made of these tables: columns of theirs have moved. */
  forget(tables: readonly string[]): void {
    for (const name of tables) {
      this.accesses.delete(name);
      this.executors.delete(name);
    }
    this.ofEntities.clear();
  }

  /** One for each table: what writes one row must know of each other. */
  private executor(name: string): ChangeExecutor {
    let executor = this.executors.get(name);
    if (executor === undefined) {
      const { table } = this.tableAccess(name);
      executor =
        'atomic' in table
          ? new EmbeddedExecutor(table as CommittingTable, [])
          : new RemoteExecutor(table, this.gate(name));
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
        return new EntityReader(schema, this.access([schema]), view.timeRange, view.options);
      };
      const formerNames = (schema: EntitySchema) => source.formerNames(schema);
      access = { table, sync, operations, cursorSecret, formerNames, related };
      this.accesses.set(name, access);
    }
    return access;
  }
}
