/** From compiled entities to what repositories and queries work on: the tables of an engine, or of a transaction. */

import type { AvroRegistry } from '../codec/index.js';
import { QueryError } from '../errors.js';
import {
  CollectionQuery,
  entityIndexes,
  type FindOptions,
  type IndexAccess,
  type Reading,
  type RelatedReaders,
  type TableAccess,
} from '../query/index.js';
import {
  type ChangeExecutor,
  ChangeFlow,
  type ChangeIntents,
  type ChangeParticipant,
  type CommittingTable,
  type Deferred,
  EmbeddedExecutor,
  EntityReader,
  IndexedExecutor,
  IndexedRows,
  IndexParticipant,
  ReadRepair,
  RemoteExecutor,
  Repository,
  type RepositoryContext,
  type RowFollowing,
  RowLock,
  SETTLED,
} from '../repository/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import { avroColumns } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { isList } from '../table/checks.js';
import type { SyncTable, Table } from '../table/index.js';

/** Where the tables come from, and what belongs to the database whoever asks. */
export interface ContextSource {
  table(name: string): Table;
  /** The table as its entities are declared, wherever their columns stand yet. */
  viewOf(table: Table, writesBack?: boolean): Table;
  /** Whether its tables answer in the same thread. */
  readonly sync: boolean;
  readonly reading: Reading;
  readonly avro: AvroRegistry;
  now(): number;
  /** Names of entities whose keys were changed to those of this one, in the same order. */
  formerNames(schema: EntitySchema): readonly string[];
  schemaOf(target: EntityClass): EntitySchema;
  indexesOf(schema: EntitySchema): IndexAccess | undefined;
  /** What takes part in the changes of an entity beside its indexes. */
  participants(schema: EntitySchema): readonly ChangeParticipant[];
  /** What follows the rows of an entity where one step is one row; undefined: nothing does. */
  following(schema: EntitySchema): RowFollowing | undefined;
  /** What tells of its rows' changes where one step is one row; undefined: nothing does. */
  telling(schema: EntitySchema): ChangeIntents | undefined;
  /** Where what follows a write waits for the end of a transaction; undefined: it does not wait. */
  readonly deferred?: Deferred;
}

export class Contexts {
  private readonly accesses = new Map<string, TableAccess>();
  private readonly executors = new Map<string, ChangeExecutor>();
  private readonly ofEntities = new Map<EntityClass, ChangeExecutor>();
  private readonly gates = new Map<string, RowLock>();
  private readonly repositories = new Map<EntityClass, unknown>();
  private readonly participants = new Map<EntityClass, readonly ChangeParticipant[]>();
  /** Applies changes of any entity's rows with what takes part in them. */
  readonly flow: ChangeFlow;

  constructor(private readonly source: ContextSource) {
    this.flow = new ChangeFlow(
      (schema) => this.participantsOf(schema),
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

  of(schema: EntitySchema): RepositoryContext {
    const { source } = this;
    const { deferred } = source;
    const access = this.access([schema]);
    const shared = { now: () => source.now(), ...(deferred !== undefined && { deferred }) };
    const participants = this.participantsOf(schema);
    const indexes = source.indexesOf(schema);
    const indexing = indexes && { access: indexes, entries: this.tableAccess(indexes.indexes.tableName) };
    const isRemote = !('atomic' in access.table);
    const following = isRemote ? source.following(schema) : undefined;
    const telling = isRemote ? source.telling(schema) : undefined;
    if (isRemote && (indexing ?? following ?? telling) !== undefined) {
      const own = indexes?.indexes ?? entityIndexes(schema);
      const entries = this.tableAccess(own.tableName).table;
      const rows = new IndexedRows(access.table, entries, own, shared.now, SETTLED, following, telling);
      const gate = this.gate(access.table.name);
      return {
        access:
          indexing === undefined
            ? access
            : { ...access, indexing: { ...indexing, repair: new ReadRepair(rows) } },
        executor: new IndexedExecutor(rows, gate, new RemoteExecutor(access.table, gate)),
        putsAlone: false,
        ...shared,
      };
    }
    return {
      access: indexing === undefined ? access : { ...access, indexing },
      executor:
        participants.length === 0
          ? this.executor(schema.table.descriptor.name)
          : new EmbeddedExecutor(access.table as CommittingTable, participants, this.flow),
      putsAlone: participants.length === 0,
      ...shared,
    };
  }

  /** What applies changes of an entity. */
  executorOf(schema: EntitySchema): ChangeExecutor {
    let executor = this.ofEntities.get(schema.target);
    if (executor === undefined) {
      executor = this.of(schema).executor;
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

  /** What takes part in the changes of an entity: what belongs into its rows first, then entries, then what follows from both. */
  private participantsOf(schema: EntitySchema): readonly ChangeParticipant[] {
    let found = this.participants.get(schema.target);
    if (found === undefined) {
      const indexes = this.source.indexesOf(schema);
      const own = indexes && new IndexParticipant(indexes.indexes, () => this.source.now());
      found = [...(own === undefined ? [] : [own]), ...this.source.participants(schema)];
      this.participants.set(schema.target, found);
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
      const { onQuery, cursorSecret } = source.reading;
      const related: RelatedReaders = (target, view) => {
        if (view === undefined) return this.repository(target as KeyedClass);
        const schema = source.schemaOf(target);
        return new EntityReader(schema, this.access([schema]), view.timeRange, view.options);
      };
      const formerNames = (schema: EntitySchema) => source.formerNames(schema);
      access = { table, sync, onQuery, cursorSecret, formerNames, related };
      this.accesses.set(name, access);
    }
    return access;
  }
}
