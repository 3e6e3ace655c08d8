/** The composition root: declared entities on an engine. Nothing below knows which engine it is. */

import { AvroRegistry, schemaTableDescriptor, TableSchemaStore } from './codec/index.js';
import { type DatabaseBatch, runDatabaseBatch } from './database/batch.js';
import { BoundSchemas } from './database/bound-schemas.js';
import { Contexts } from './database/contexts.js';
import type { CopyHandle } from './database/copy-handle.js';
import { type ExplainedWrite, explainWrite } from './database/explain-write.js';
import { Following } from './database/following.js';
import type { IndexHandle } from './database/index-handle.js';
import { Indexing } from './database/indexing.js';
import { Listener } from './database/listener.js';
import { LiveSchema } from './database/live-schema.js';
import {
  CONNECT_OPTIONS,
  type ConnectOptions,
  checkPath,
  OPEN_OPTIONS,
  type Opening,
  type OpenOptions,
  prepare,
  type TableHandling,
} from './database/options.js';
import type { ReferenceHandle } from './database/referencing.js';
import type { Rekey } from './database/rekey.js';
import { Rekeying } from './database/rekeying.js';
import { renamedTable } from './database/renamed-table.js';
import { TableSetup } from './database/table-setup.js';
import { runTransaction, Transaction, type TransactionSource } from './database/transaction.js';
import { type EnsuredTables, ensureTables, registerSchemas, systemTables } from './ddl/index.js';
import type { RowanError } from './errors.js';
import type { HBaseEngine } from './hbase/engine.js';
import { JobBuilder } from './job/index.js';
import { dictionaryTableDescriptor, type KeyDictionary } from './key/index.js';
import { compileSchema } from './mapper/index.js';
import { Moves } from './moves/index.js';
import type { CollectionQuery, FindOptions, Reading } from './query/index.js';
import {
  type ItemOutcome,
  Repository,
  type RepositoryBatchOptions,
  type ScatteredRepository,
  TablesReader,
} from './repository/index.js';
import type {
  CheckedPrefixes,
  IndexName,
  KeyedClass,
  KeyOf,
  KeyQuery,
  ScatteredClass,
} from './schema/entity-types.js';
import type { Schema } from './schema/index.js';
import type { EntityClass } from './schema/types.js';
import { type EmbeddedEngine, openEmbedded } from './store/engine.js';
import { checkOptions } from './table/checks.js';
import type { Admin, Engine, TransactionOptions } from './table/index.js';

export { type AdminConnection, connectAdmin, openAdmin } from './database/admin-connection.js';
export type {
  ConnectAdminOptions,
  ConnectOptions,
  LintEvent,
  OpenAdminOptions,
  OpenOptions,
  OutboxEvent,
  TableHandling,
  TablesEvent,
} from './database/options.js';
export { Transaction } from './database/transaction.js';

/**
 * Opens the embedded store in a folder: no server, one process.
 * @throws InvalidArgumentError on unknown options; SchemaError on wrong declarations, or declarations that contradict the
 * stored tables; RowanError `ERR_LOCKED` when another process has the store, `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`,
 * `ERR_CORRUPTION`, `ERR_IO`.
 */
export async function open(options: OpenOptions): Promise<Database<EmbeddedEngine>> {
  checkOptions('open', options, OPEN_OPTIONS);
  const { path, entities, tables, onQuery, cursorSecret, subscribers, ...embedded } = options;
  checkPath('open', path);
  const opening = prepare('open', options, 'create');
  return start(opening, await openEmbedded(path, embedded));
}

/**
 * Connects to an HBase cluster.
 * @throws InvalidArgumentError and SchemaError as {@link open}; RowanError `ERR_TABLE_NOT_FOUND`, `ERR_CONNECTION`,
 * `ERR_SECURITY`, `ERR_TIMEOUT`.
 */
export async function connect(options: ConnectOptions): Promise<Database<HBaseEngine>> {
  checkOptions('connect', options, CONNECT_OPTIONS);
  const { entities, tables, onEvent, onQuery, cursorSecret, subscribers, ...hbase } = options;
  const opening = prepare('connect', options, 'verify');
  const { connectHBase } = await import('./hbase/engine.js');
  return start(opening, await connectHBase(onEvent === undefined ? hbase : { ...hbase, onEvent }));
}

async function start<E extends Engine>(opening: Opening, engine: E): Promise<Database<E>> {
  try {
    const database = new Database(opening.schema, engine, opening.tables, opening.onEvent, opening.reading);
    await database.ready();
    return database;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Entities on an engine. */
export class Database<E extends Engine = Engine> implements AsyncDisposable {
  private readonly bound: BoundSchemas;
  private readonly setup: TableSetup;
  private readonly source: TransactionSource;
  private readonly contexts: Contexts;
  private readonly indexing: Indexing;
  private readonly following: Following;
  private readonly moves = new Moves();
  private readonly rekeying: Rekeying;
  /** The engine with its tables as they are declared, for the jobs. */
  private readonly viewed: Engine;

  /** What is declared, and how it is brought to the tables: `plan`, `apply`, `history` (docs/schema.md). */
  readonly schema: LiveSchema;

  constructor(
    private declared: Schema,
    readonly engine: E,
    private readonly handling: TableHandling = 'ignore',
    onEvent?: Opening['onEvent'],
    reading: Reading = {},
  ) {
    this.rekeying = new Rekeying(engine, () => this.declared);
    this.schema = new LiveSchema(engine, () => this.declared);
    this.moves.declare(declared.tables);
    this.viewed = this.moves.viewOf(engine);
    const listener = new Listener(onEvent);
    this.bound = new BoundSchemas(engine, () => this.declared);
    this.indexing = new Indexing(this.viewed);
    const engines = {
      engine: this.viewed,
      schemaOf: (target: EntityClass) => this.bound.of(target),
      flow: () => this.contexts.flow,
      onFailure: (error: RowanError) => listener.tell({ kind: 'outbox', error }),
    };
    this.following = new Following(engines, this.indexing);
    this.source = {
      viewOf: (table) => this.moves.view(table),
      reading,
      now: () => this.engine.now(),
      schemaOf: (target) => this.bound.of(target),
      declared: (target) => this.declared.entity(target),
      indexesOf: (schema) => this.indexing.of(schema),
      participants: (schema) => this.following.participants(schema),
      dictionary: (name) => this.dictionary(name),
      dictionaryTable: dictionaryTableDescriptor().name,
      avro: new AvroRegistry(new TableSchemaStore(engine.table(schemaTableDescriptor().name))),
    };
    this.contexts = new Contexts({
      ...this.source,
      sync: engine.capabilities.sync,
      table: (name) => engine.table(name),
    });
    this.setup = new TableSetup(engine, this.handling, listener, this.indexing, this.source.avro);
    this.take(declared);
  }

  /** Opens the tables of the schema, as it was said they be handled. */
  async ready(): Promise<void> {
    if (this.handling !== 'ignore') await this.adopt(this.declared);
    await this.rekeying.resume();
  }

  /**
   * Adds entities to the open database; their tables are handled as those of the others were.
   * @throws as {@link open}: then the database is as before.
   */
  async add(...entities: readonly EntityClass[]): Promise<void> {
    const known = this.declared.entities.map(({ target }) => target);
    const schema = compileSchema([...known, ...entities], undefined, this.declared.subscribers);
    this.following.checkAdded(this.declared, schema);
    if (this.handling === 'ignore') this.take(schema);
    else await this.adopt(schema);
    this.moves.declare(this.declared.tables);
    const added = new Set(entities);
    const tables = this.declared.entities.filter(
      ({ target, columns }) => added.has(target) && columns.some(({ was }) => was.length > 0),
    );
    this.contexts.forget(tables.map(({ table }) => table.descriptor.name));
  }

  private take(schema: Schema): void {
    this.declared = schema;
    this.bound.clear();
    this.following.adopt(schema);
  }

  private async adopt(declared: Schema): Promise<void> {
    this.take(await this.setup.adopt(declared));
    this.following.copying.kick();
  }

  /** What was found when the tables were opened; undefined with `tables: 'ignore'`. */
  get tables(): EnsuredTables | undefined {
    return this.setup.found;
  }

  /**
   * The repository of an entity in another table than the declared one: a table a day, named at run time. The table has
   * the declared families and splits; a missing one is created, or is an error, as it was said of the declared ones.
   */
  repositoryIn<C extends ScatteredClass>(target: C, name: string): Promise<ScatteredRepository<C>>;
  repositoryIn<C extends KeyedClass>(target: C, name: string): Promise<Repository<C>>;
  async repositoryIn<C extends KeyedClass>(target: C, name: string): Promise<Repository<C>> {
    const declared = this.declared.entity(target);
    this.following.refuseElsewhere(declared);
    this.indexing.refuseElsewhere(declared);
    const table = renamedTable(declared.table, name);
    if (this.handling !== 'ignore') await this.setup.adoptTable(table);
    this.moves.declareTable(table.descriptor.name, table.entities);
    const schema = Object.freeze({ ...this.bound.of(target), table });
    return new Repository<C>(schema, this.contexts.of(schema));
  }

  /** Reads the entities of one class in several tables, in this order. @throws QueryError on none; as `repositoryIn`. */
  async readerIn<C extends KeyedClass>(target: C, names: readonly string[]): Promise<TablesReader<C>> {
    return TablesReader.over(names, (name) => this.repositoryIn<C>(target, name));
  }

  /** Namespaces, tables and regions. */
  get admin(): Admin {
    return this.engine.admin;
  }

  /** The repository of an entity class; the same one at each call. @throws SchemaError on a class not opened with. */
  repository<C extends ScatteredClass>(target: C): ScatteredRepository<C>;
  repository<C extends KeyedClass>(target: C): Repository<C>;
  repository<C extends KeyedClass>(target: C): Repository<C> {
    return this.contexts.repository(target);
  }

  /**
   * Reads several record types of one table whose keys begin with the same parts, in one scan where they stand side by
   * side.
   *
   * @example
   * ```ts
   * const rows = await db.collection([Customer, Order], { customerId: 'c1' }).groups();
   * rows.of(Order);
   * ```
   * @throws KeyError when the prefix is not one of every entity's key.
   */
  collection<
    const Classes extends readonly [KeyedClass, ...KeyedClass[]],
    const Q extends KeyQuery<Classes[0]>,
  >(
    classes: Classes,
    prefix: Q & CheckedPrefixes<Classes, Q>,
    options: FindOptions = {},
  ): CollectionQuery<Classes[number]> {
    return this.contexts.collection(classes, prefix, options);
  }

  /**
   * Writes, and reads, of several entities in one call, in the order in which they are said for each entity; an outcome for
   * each. With `atomic` all checks hold and all is written, or nothing is and the first item that cannot be is thrown.
   *
   * @example
   * ```ts
   * await db.batch((batch) => {
   *   batch.of(Order).insert(order);
   *   batch.of(Stock).check({ id: 'pen' }, { left: { gte: 2 } }).update({ left: 8 });
   * }, { atomic: true });
   * ```
   * @throws UnsupportedError at once for `atomic` on HBase; what is wrong with an item, and nothing was sent then.
   */
  batch(
    fill: (batch: DatabaseBatch) => unknown,
    options: RepositoryBatchOptions = {},
  ): Promise<ItemOutcome[]> {
    const written = runDatabaseBatch(
      {
        engine: this.engine,
        contexts: this.contexts,
        schemaOf: (target) => this.bound.of(target),
        within: (tables) => new Contexts({ ...this.source, sync: true, table: (name) => tables.table(name) }),
      },
      fill,
      options,
    );
    return this.following.copying.behind(written);
  }

  /**
   * Runs a transaction over entities of any tables: it reads one moment of the database and its own writes, and what it
   * writes takes effect as one step when the function has ended, or not at all. Transactions are strictly serializable;
   * one that others have overtaken is run again, its function included (docs/transactions.md).
   *
   * @example
   * ```ts
   * await db.transaction(async (tx) => {
   *   const accounts = tx.repository(Account);
   *   const from = await accounts.get({ id: 'a' });
   *   if (from === null || from.balance < 10) throw new Error('too little');
   *   await accounts.update({ id: 'a' }, { balance: from.balance - 10 });
   *   await accounts.increment({ id: 'b' }, { balance: 10 });
   * });
   * ```
   * @throws what the function throws; SerializationError when each attempt was overtaken; UnsupportedError on HBase;
   * RowanError `ERR_TIMEOUT` (default 60 s for the whole call), `ERR_ABORTED`, `ERR_TOO_LARGE`, `ERR_HOOK` when all of it has
   * taken effect and a hook behind it threw.
   */
  transaction<T>(run: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return this.following.copying.behind(
      runTransaction(this.engine, (tables) => new Transaction(this.source, tables), run, options),
    );
  }

  /**
   * Creates the declared tables that are missing, with their splits, and checks the others.
   * @throws SchemaError when a table lacks a declared family, or was written with other keys or codecs.
   */
  createTables(): Promise<EnsuredTables> {
    return ensureTables(this.engine.admin, [...this.declared.tables, ...systemTables(this.declared)]);
  }

  /**
   * Registers the schemas of Avro columns in the table `rowan_schemas`, and loads those that the columns were written
   * with before. Opening does it, but with `tables: 'ignore'`.
   * @throws SchemaError with every incompatibility that the columns' `compatibility` does not allow.
   */
  registerSchemas(): Promise<void> {
    return registerSchemas(this.source.avro, this.declared);
  }

  /**
   * Work over a whole table, from a query or a table through map, combine and reduce to a sink (docs/jobs.md).
   * @throws InvalidArgumentError when the name is none.
   */
  job(name: string): JobBuilder {
    return new JobBuilder(this.viewed, name);
  }

  /**
   * One index of an entity: its state, and the jobs that build, check, mend and empty it (docs/indexes.md).
   * @throws QueryError when the entity has no such index.
   */
  index<C extends KeyedClass>(target: C, name: IndexName<C>): IndexHandle {
    return this.indexing.handle(this.bound.of(target), name);
  }

  /**
   * The change of an entity's keys to another layout, declared as an entity with the same properties, while both are read
   * and written (docs/rekey.md): `run`, `cutOver`, `cleanup`, and `pause` and `abort` on the way.
   */
  rekey(from: KeyedClass, to: KeyedClass): Rekey {
    return this.rekeying.of(from, to);
  }

  /** The dictionary of this name, which gives ids to the texts of `substitute` parts; the same one at each call. */
  dictionary(name: string): KeyDictionary {
    return this.bound.dictionary(name);
  }

  /**
   * The copies in an entity's rows: the outbox, checks and repairs (docs/denormalization.md).
   * @throws QueryError when the entity declares none.
   */
  denormalized<C extends KeyedClass>(target: C): CopyHandle {
    return this.following.copying.handle(this.bound.of(target), this.indexing);
  }

  /**
   * The referential rules of an entity's relations: what names nothing that is there (docs/relations.md).
   * @throws QueryError when the entity declares none.
   */
  references<C extends KeyedClass>(target: C): ReferenceHandle {
    return this.following.referencing.handle(this.bound.of(target));
  }

  /**
   * What a write of this row takes along: indexes, copies in it and of it (docs/denormalization.md). Nothing is written.
   * @throws KeyError when the key is none.
   */
  explainWrite<C extends KeyedClass>(target: C, key: KeyOf<C>): Promise<ExplainedWrite> {
    return explainWrite(this.following, this.bound.of(target), key);
  }

  /** Closes the engine. Calls under way end with `ERR_CLOSED`. */
  async close(): Promise<void> {
    await this.following.copying.end();
    await this.engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
