/** An open database: its methods, each of which another part implements. */

import { type EnsuredTables, ensureTables, registerSchemas } from '../ddl/index.js';
import { InvalidArgumentError, UnsupportedError } from '../errors.js';
import type { ChangeFeed, WatchOptions } from '../features/changes/change-feed.js';
import type { CopyHandle } from '../features/copies/handle.js';
import type { IndexHandle } from '../features/indexes/handle.js';
import type { MutualHandle } from '../features/mutual/handle.js';
import type { Rekey } from '../features/rekey/handle.js';
import type { ReferenceHandle } from '../features/relations/handle.js';
import type { SummaryName } from '../features/summaries/compile.js';
import type { SummaryHandle } from '../features/summaries/handle.js';
import { systemTables } from '../features/tables.js';
import { runTransaction, Transaction } from '../features/transactions/handle.js';
import { JobBuilder } from '../job/pipeline/pipeline.js';
import type { KeyDictionary } from '../key/index.js';
import type { CollectionQuery, FindOptions, OperationListener, Reading } from '../query/index.js';
import {
  type ItemOutcome,
  type Repository,
  type RepositoryBatchOptions,
  type ScatteredRepository,
  type Sequence,
  type SequenceOptions,
  TablesReader,
} from '../repository/index.js';
import type {
  CheckedPrefix,
  CheckedPrefixes,
  IndexName,
  KeyedClass,
  KeyOf,
  KeyQuery,
  ScatteredClass,
} from '../schema/entity-types.js';
import type { Schema } from '../schema/index.js';
import type { EntityClass } from '../schema/types.js';
import type { StoreBackup, StoreBackupOptions } from '../store/backup.js';
import type { EmbeddedEngine } from '../store/engine.js';
import type { Studio, StudioOptions } from '../studio/server/server.js';
import { checkOptions, describe, isCallable } from '../table/checks.js';
import type { Admin, Engine, TransactionOptions } from '../table/index.js';
import type { Metric } from '../table/telemetry.js';
import {
  type BatchSource,
  type DatabaseBatch,
  type ExplainedWrite,
  explainWrite,
  runDatabaseBatch,
} from './batch.js';
import { type BacklogOptions, backlogOf, type Health, type HealthOptions, healthOf } from './health.js';
import type { Opening, TableHandling } from './options.js';
import { LiveSchema } from './schema-tools.js';
import { Wiring } from './wiring.js';
import { previewWrite, type WriteOf, type WritePreview } from './write-preview.js';

/** The parts of an open database, for what reports of them. Set by {@link Database}, which keeps them private. */
export let wiringOf: (database: Database) => Wiring;

/** An open database: entities on an engine. */
export class Database<E extends Engine = Engine> implements AsyncDisposable {
  static {
    wiringOf = (database) => database.wiring;
  }

  private readonly wiring: Wiring;

  /** The schema: `plan`, `apply`, `history` (docs/schema.md). */
  readonly schema: LiveSchema;

  constructor(
    declared: Schema,
    readonly engine: E,
    handling: TableHandling = 'ignore',
    onEvent?: Opening['onEvent'],
    reading: Reading = {},
  ) {
    this.wiring = new Wiring(declared, engine, handling, onEvent, reading);
    this.schema = new LiveSchema(engine, () => this.wiring.declared, this.wiring.features);
  }

  /** Opens the tables of the schema, with the chosen handling. */
  ready(): Promise<void> {
    return this.wiring.ready();
  }

  /**
   * Adds entities to the open database. Their tables are handled like those of the others. Each call looks at all tables: give it
   * the entities that you know. Calls at once are worked one after the other. @throws as {@link open}: then nothing is changed.
   */
  add(...entities: readonly EntityClass[]): Promise<void> {
    return this.wiring.add(entities);
  }

  /** The result of checking the tables at opening. Undefined with `tables: 'ignore'`. */
  get tables(): EnsuredTables | undefined {
    return this.wiring.setup.found;
  }

  /**
   * Returns the repository of an entity in a table other than the declared one, named at run time (one table per day,
   * for example). The table has the declared families and splits. The option `tables` of `open` decides whether a
   * missing table is created or is an error.
   */
  repositoryIn<C extends ScatteredClass>(target: C, name: string): Promise<ScatteredRepository<C>>;
  repositoryIn<C extends KeyedClass>(target: C, name: string): Promise<Repository<C>>;
  repositoryIn<C extends KeyedClass>(target: C, name: string): Promise<Repository<C>> {
    return this.wiring.repositoryIn<C>(target, name);
  }

  /**
   * Reads the entities of one class in several tables, in this order. @throws QueryError when none is given; as
   * `repositoryIn`.
   */
  async readerIn<C extends KeyedClass>(target: C, names: readonly string[]): Promise<TablesReader<C>> {
    return TablesReader.over(names, (name) => this.repositoryIn<C>(target, name));
  }

  /** Namespaces, tables and regions. */
  get admin(): Admin {
    return this.engine.admin;
  }

  /**
   * The repository of an entity class, the same at each call. @throws SchemaError on a class that the database was
   * not opened with.
   */
  repository<C extends ScatteredClass>(target: C): ScatteredRepository<C>;
  repository<C extends KeyedClass>(target: C): Repository<C>;
  repository<C extends KeyedClass>(target: C): Repository<C> {
    return this.wiring.contexts.repository(target);
  }

  /**
   * Reads several record types of one table whose keys begin with the same parts, in one scan if their rows are
   * adjacent.
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
    return this.wiring.contexts.collection(classes, prefix, options);
  }

  /**
   * Runs writes and reads of several entities in one call, and returns an outcome for each item. The items of one
   * entity run in the order in which they were added. With `atomic`, either all checks hold and everything is
   * written, or nothing is written and the error of the first failing item is thrown.
   *
   * @example
   * ```ts
   * await db.batch((batch) => {
   *   batch.of(Order).insert(order);
   *   batch.of(Stock).check({ id: 'pen' }, { left: { gte: 2 } }).update({ left: 8 });
   * }, { atomic: true });
   * ```
   * @throws UnsupportedError at once for `atomic` on HBase; errors of invalid items, before anything is sent.
   */
  batch(
    fill: (batch: DatabaseBatch) => unknown,
    options: RepositoryBatchOptions = {},
  ): Promise<ItemOutcome[]> {
    const written = runDatabaseBatch(this.batchSource(), fill, options);
    return this.wiring.features.outbox.kickAfter(written);
  }

  /**
   * Runs a transaction over entities of any tables. It reads a snapshot of the database and its own writes. Its
   * writes take effect as one step after the function has returned, or not at all. Transactions are strictly
   * serializable: a transaction that conflicts with another is run again, function included (docs/transactions.md).
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
   * @throws what the function throws; SerializationError when every attempt had a conflict; UnsupportedError on
   *   HBase and Bigtable (a connection to `rowan serve` has transactions); RowanError `ERR_TIMEOUT` (default 60 s for the whole call), `ERR_ABORTED`, `ERR_TOO_LARGE`, `ERR_HOOK`
   *   when everything has taken effect and a hook after the write threw.
   */
  transaction<T>(run: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    const { features, source } = this.wiring;
    return features.outbox.kickAfter(
      runTransaction(
        this.engine,
        (tables, deferred) => new Transaction(source, tables, deferred),
        run,
        options,
      ),
    );
  }

  /**
   * A sequence: rising whole numbers from 1 on, each given once, whatever processes ask for them and whenever they are
   * killed (docs/sequences.md). The same object at each call. A process takes blocks of numbers, so there are gaps; in a
   * transaction (`tx.sequence`) there are none.
   *
   * @example
   * ```ts
   * const ticketNo = await db.sequence('tickets', { per: 'tenantId' }).next({ tenantId: 't1' });
   * ```
   * @throws InvalidArgumentError on a wrong name or option.
   */
  sequence<const Per extends string = never>(
    name: string,
    options: SequenceOptions<Per> = {},
  ): Sequence<Per> {
    return this.wiring.source.sequences.of(name, options);
  }

  /**
   * Creates the declared tables that are missing, with their splits, and checks the others.
   * @throws SchemaError when a table lacks a declared family, or was written with other keys or codecs.
   */
  createTables(): Promise<EnsuredTables> {
    return ensureTables(this.engine.admin, [
      ...this.wiring.declared.tables,
      ...systemTables(this.wiring.declared),
    ]);
  }

  /**
   * Registers the schemas of Avro columns in the table `rowan_schemas`, and loads the schemas of earlier writes.
   * Opening does this unless `tables` is `'ignore'`.
   * @throws SchemaError with every incompatibility that the columns' `compatibility` does not allow.
   */
  registerSchemas(): Promise<void> {
    return registerSchemas(this.wiring.source.avro, this.wiring.declared);
  }

  /**
   * Defines a job: work over a whole table, from a query or a table through map, combine and reduce to a sink
   * (docs/jobs.md).
   * @throws InvalidArgumentError on an invalid name.
   */
  job(name: string): JobBuilder {
    return new JobBuilder(this.wiring.viewed, name);
  }

  /**
   * Returns the handle of an index: its state, and the jobs that build, check, repair and empty it (docs/indexes.md).
   * @throws QueryError when the entity has no such index.
   */
  index<C extends KeyedClass>(target: C, name: IndexName<C>): IndexHandle {
    return this.wiring.features.named.indexes.handle(this.wiring.bound.of(target), name);
  }

  /**
   * Returns the handle of a key change: `run`, `cutOver` and `cleanup` move an entity to another key layout, declared
   * as an entity with the same properties, while both are read and written (docs/rekey.md). `pause` and `abort`
   * interrupt it.
   */
  rekey(from: KeyedClass, to: KeyedClass): Rekey {
    return this.wiring.features.named.rekey.of(from, to);
  }

  /**
   * Returns the dictionary with this name, which assigns ids to the texts of `substitute` parts; the same object at
   * each call.
   */
  dictionary(name: string): KeyDictionary {
    return this.wiring.bound.dictionary(name);
  }

  /**
   * Returns the handle of the copies in an entity's rows: the outbox, checks and repairs (docs/denormalization.md).
   * @throws QueryError when the entity declares none.
   */
  denormalized<C extends KeyedClass>(target: C): CopyHandle {
    return this.wiring.features.named.copies.handle(this.wiring.bound.of(target));
  }

  /**
   * Returns the handle of an entity's referential rules, which finds references to missing rows (docs/relations.md).
   * @throws QueryError when the entity declares none.
   */
  references<C extends KeyedClass>(target: C): ReferenceHandle {
    return this.wiring.features.named.references.handle(this.wiring.bound.of(target));
  }

  /**
   * Returns the handle of an entity's mutual links, which compares both rows of each (docs/relations.md).
   * @throws QueryError when the entity is not mutual.
   */
  mutual<C extends KeyedClass>(target: C): MutualHandle {
    return this.wiring.features.named.mutual.handle(this.wiring.bound.of(target));
  }

  /** Returns the handle of a summary (docs/summaries.md). @throws QueryError when it has none of this name. */
  summary<C extends KeyedClass, const Name extends SummaryName<C> & string>(
    target: C,
    name: Name,
  ): SummaryHandle<C, Name> {
    return this.wiring.features.named.summaries.handle(this.wiring.bound.of(target), name);
  }

  /**
   * Explains what follows a write of this row: index entries, copies, its mirror, summaries, and others (docs/denormalization.md). With a `write` it
   * also lists the mutations that this write would make now (`preview`). Nothing is written. Hooks before the write
   * run, hooks after it do not.
   *
   * @example
   * ```ts
   * const { preview } = await db.explainWrite(Order, key, (orders) => orders.update(key, { status: 'paid' }));
   * ```
   * @throws KeyError on an invalid key; what the write throws; UnsupportedError with a `write` of an entity whose
   *   key has ids of a dictionary.
   */
  explainWrite<C extends KeyedClass>(target: C, key: KeyOf<C>): Promise<ExplainedWrite>;
  explainWrite<C extends KeyedClass>(
    target: C,
    key: KeyOf<C>,
    write: WriteOf<C>,
  ): Promise<ExplainedWrite & { readonly preview: WritePreview }>;
  async explainWrite<C extends KeyedClass>(
    target: C,
    key: KeyOf<C>,
    write?: WriteOf<C>,
  ): Promise<ExplainedWrite> {
    const explained = await explainWrite(this.wiring.features.named, this.wiring.bound.of(target), key);
    if (write === undefined) return explained;
    const preview = await previewWrite(this.batchSource(), target, write);
    return Object.assign(explained, { preview });
  }

  private batchSource(): BatchSource {
    const { wiring, engine } = this;
    return {
      engine,
      contexts: wiring.contexts,
      schemaOf: (target) => wiring.bound.of(target),
      within: (tables) => wiring.within(tables),
    };
  }

  /**
   * Opens a feed of the committed changes of one or several entities, with the rows before and after
   * (docs/changes.md). The order is that of commits; on HBase, that of the changes of each row. The feed begins now
   * (on HBase: when its `ready` has resolved), or after the position `from`.
   *
   * @example
   * ```ts
   * for await (const { changes, position } of db.watch(Order, { customerId: 'c1' }, { from })) {
   *   for (const { operation, before, after } of changes) console.log(operation, before, after);
   * }
   * ```
   * @throws QueryError when an entity keeps no changes; KeyError on a wrong prefix; InvalidArgumentError on a wrong
   *   position. The iteration throws RowanError `ERR_POSITION_GONE` when changes after the position have expired,
   *   `ERR_ABORTED`, `ERR_CLOSED`.
   */
  watch<
    const Classes extends readonly [KeyedClass, ...KeyedClass[]],
    const Q extends KeyQuery<Classes[0]> = Record<never, never>,
  >(
    classes: Classes,
    prefix?: Q & CheckedPrefixes<Classes, Q>,
    options?: WatchOptions,
  ): ChangeFeed<Classes[number]>;
  watch<C extends KeyedClass, const Q extends KeyQuery<C> = Record<never, never>>(
    target: C,
    prefix?: Q & CheckedPrefix<C, Q>,
    options?: WatchOptions,
  ): ChangeFeed<C>;
  watch(
    targets: KeyedClass | readonly KeyedClass[],
    prefix: object = {},
    options: WatchOptions = {},
  ): ChangeFeed<KeyedClass> {
    const classes = Array.isArray(targets) ? (targets as readonly KeyedClass[]) : [targets as KeyedClass];
    return this.wiring.features.named.changes.watch(classes, prefix, options);
  }

  /**
   * Calls the listener after every operation of repositories and queries, including those of transactions, with its
   * plan, rows, bytes and time (docs/observing.md). Returns a function that removes the listener. Errors that the
   * listener throws are ignored.
   *
   * @example
   * ```ts
   * const off = db.on('query', ({ operation, entities, milliseconds }) => console.log(operation, entities, milliseconds));
   * ```
   * @throws InvalidArgumentError on another event, or when the listener is no function.
   */
  on(event: 'query', listener: OperationListener): () => void {
    if (event !== 'query')
      throw new InvalidArgumentError(`on takes the event 'query', not ${describe(event)}.`);
    if (!isCallable(listener)) {
      throw new InvalidArgumentError(`on: the listener is a function, not ${describe(listener)}.`);
    }
    return this.wiring.operations.watch({ ended: listener });
  }

  /**
   * Checks whether the database can be used, for health and readiness checks: reads one row of each table of the
   * entities concurrently, and asks an embedded store whether it accepts writes. Failures are part of the result and
   * are not thrown (docs/operations.md).
   *
   * @example
   * ```ts
   * const health = await db.health({ timeout: 500 });
   * response.writeHead(health.status === 'up' ? 200 : 503).end(JSON.stringify(health));
   * ```
   * @throws InvalidArgumentError on unknown options.
   */
  health(options: HealthOptions = {}): Promise<Health> {
    return healthOf(this.engine, this.wiring.declared, options);
  }

  /**
   * Returns what waits in the background, in the form of a store's metrics (docs/observing.md): changes in the outbox, entries of
   * indexes, the age of the oldest in ms; on HBase also how often changes started again, unique values were taken over and
   * entries were repaired. Counters are of this program since it opened the database. It reads queues up to `limit` rows each,
   * and no other table.
   *
   * @example
   * ```ts
   * const waiting = (await db.backlog()).find(({ name }) => name === 'rowan.outbox.age');
   * ```
   * @throws InvalidArgumentError on wrong options; RowanError of the engine.
   */
  backlog(options: BacklogOptions = {}): Promise<readonly Metric[]> {
    return backlogOf(this.wiring.features, options);
  }

  /**
   * Adds a backup of the embedded store to a folder while reads and writes continue. It copies only files that no
   * earlier backup in the folder has. `restoreStore` of `rowan-orm/jobs` restores it (docs/operations.md).
   *
   * @example
   * ```ts
   * const { name, added } = await db.backup('/backups/orders');
   * ```
   * @throws UnsupportedError on another engine; InvalidArgumentError when the folder holds something else; RowanError `ERR_BUSY` when a
   *   backup is being made, `ERR_LOCKED` when another process works in the folder, `ERR_ABORTED`, `ERR_IO`.
   */
  backup(folder: string, options: StoreBackupOptions = {}): Promise<StoreBackup> {
    const instead = ' Use `rowan backup`, which exports tables.';
    return this.embedded('backup', 'the files', instead).backup(folder, options);
  }

  /**
   * Copies the log of the embedded store to its archive now (option `logArchive`): when it resolves, every write that was acknowledged
   * before the call can be restored from it. Otherwise the log is copied once a second (docs/backup.md).
   * @throws UnsupportedError on an engine or store without an archive; RowanError `ERR_IO`, `ERR_BUSY`.
   */
  archiveLog(): Promise<void> {
    return this.embedded('archiveLog', 'the log').archiveLog();
  }

  /**
   * Serves the studio, which shows this database in a browser, at 127.0.0.1 until the database closes
   * (docs/studio.md). It is read-only unless `write` is set. Print the returned `url`: it contains the token that
   * admits a browser.
   *
   * @example
   * ```ts
   * const studio = await db.studio({ port: 4800 });
   * console.log(studio.url);
   * ```
   * @throws RowanError `ERR_IO` when the port is taken; InvalidArgumentError on unknown or invalid options.
   */
  async studio(options: StudioOptions = {}): Promise<Studio> {
    checkOptions('studio', options, { port: true, place: true, limits: true, write: true, queries: true });
    const { startStudio } = await import('../studio/server/server.js');
    const place = options.place ?? this.engine.place ?? this.engine.name;
    const studio = await startStudio(this, { ...options, place });
    this.wiring.endings.push(() => void studio.close());
    return studio;
  }

  /** The embedded engine, for a method that copies something of its store. @throws UnsupportedError on another engine. */
  private embedded<Name extends 'backup' | 'archiveLog'>(
    method: Name,
    copied: string,
    instead = '',
  ): Pick<EmbeddedEngine, Name> {
    if (method in this.engine) return this.engine as unknown as Pick<EmbeddedEngine, Name>;
    const name = this.engine.capabilities.readOnly === true ? 'a store opened to read' : this.engine.name;
    throw new UnsupportedError(
      `${method} copies ${copied} of an embedded store, which ${name} does not have.${instead}`,
    );
  }

  /**
   * Closes the database and its engine. Calls in progress fail with `ERR_CLOSED`. Waits up to 6 seconds for what follows acknowledged
   * writes; another program, or the next opening, does the rest.
   */
  async close(): Promise<void> {
    try {
      await this.wiring.end();
    } finally {
      await this.engine.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
