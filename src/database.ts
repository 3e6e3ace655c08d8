/** The composition root: declared entities on an engine. Nothing below knows which engine it is. */

import { AvroRegistry, schemaTableDescriptor, TableSchemaStore } from './codec/index.js';
import { checkTables, type EnsuredTables, ensureTables, registerSchemas, systemTables } from './ddl/index.js';
import { InvalidArgumentError, QueryError } from './errors.js';
import type { HBaseEngine } from './hbase/engine.js';
import type { HBaseOptions } from './hbase/options.js';
import {
  DictionaryLayout,
  DictionaryTable,
  dictionaryTableDescriptor,
  type KeyDictionary,
  TableDictionary,
} from './key/index.js';
import { bindDictionaries, compileSchema } from './mapper/index.js';
import { CollectionQuery, checkFindOptions, type FindOptions, type TableAccess } from './query/index.js';
import { parseKeyConditions } from './query/key-conditions.js';
import {
  type ChangeExecutor,
  type CommittingTable,
  EmbeddedExecutor,
  RemoteExecutor,
  Repository,
} from './repository/index.js';
import type { CheckedPrefixes, KeyedClass, KeyQuery } from './schema/entity-types.js';
import { avroColumns, type Schema } from './schema/index.js';
import type { EntityClass, EntitySchema } from './schema/types.js';
import { type EmbeddedEngine, openEmbedded } from './store/engine.js';
import type { EmbeddedOptions } from './store/options.js';
import type { Admin, Engine, SyncTable } from './table/index.js';

/** The options, errors and authenticators of {@link connect}. The engine itself is loaded when it is called. */
export * from './hbase/index.js';

/**
 * What happens to the declared tables when a database is opened. `create`: missing ones are created, others checked
 * against the declarations; `verify`: a missing or contradicting one is an error; `ignore`: nothing.
 */
export type TableHandling = 'create' | 'verify' | 'ignore';

interface DatabaseOptions {
  /** The entity classes, each with `@Entity`. */
  readonly entities: readonly EntityClass[];
  readonly tables?: TableHandling;
}

/** Options of {@link open}. Tables are created by default. */
export interface OpenOptions extends DatabaseOptions, EmbeddedOptions {
  /** The folder of the store; it is made when it is not there. */
  readonly path: string;
}

/** Options of {@link connect}. Tables are checked by default, and created only when asked for. */
export interface ConnectOptions extends DatabaseOptions, HBaseOptions {}

/**
 * Opens the embedded store in a folder: no server, one process.
 * @throws SchemaError on wrong declarations, or declarations that contradict the stored tables; RowanError `ERR_LOCKED`
 * when another process has the store, `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_CORRUPTION`, `ERR_IO`.
 */
export async function open(options: OpenOptions): Promise<Database<EmbeddedEngine>> {
  const { path, entities, tables, ...embedded } = options;
  if (typeof path !== 'string' || path === '') {
    throw new InvalidArgumentError(
      'open needs a path: the folder that the store is in, or is to be made in.',
    );
  }
  const schema = compileSchema(checkEntities('open', entities));
  return start(schema, await openEmbedded(path, embedded), tables ?? 'create');
}

/**
 * Connects to an HBase cluster.
 * @throws SchemaError as {@link open}; RowanError `ERR_TABLE_NOT_FOUND`, `ERR_CONNECTION`, `ERR_SECURITY`, `ERR_TIMEOUT`.
 */
export async function connect(options: ConnectOptions): Promise<Database<HBaseEngine>> {
  const { entities, tables, ...hbase } = options;
  const schema = compileSchema(checkEntities('connect', entities));
  const { connectHBase } = await import('./hbase/engine.js');
  return start(schema, await connectHBase(hbase), tables ?? 'verify');
}

function checkEntities(doing: string, entities: readonly EntityClass[]): readonly EntityClass[] {
  if (Array.isArray(entities) && entities.length > 0) return entities;
  throw new InvalidArgumentError(`${doing} needs entities: the classes that are stored, [Customer, Order].`);
}

async function start<E extends Engine>(
  schema: Schema,
  engine: E,
  tables: TableHandling,
): Promise<Database<E>> {
  const database = new Database(schema, engine);
  try {
    if (tables === 'create') await database.createTables();
    else if (tables === 'verify') {
      await checkTables(engine.admin, [...schema.tables, ...systemTables(schema)]);
    }
    if (tables !== 'ignore') await database.registerSchemas();
    return database;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Entities on an engine. */
export class Database<E extends Engine = Engine> implements AsyncDisposable {
  private readonly repositories = new Map<EntityClass, unknown>();
  private readonly accesses = new Map<string, TableAccess>();
  private readonly executors = new Map<string, ChangeExecutor>();
  private readonly bound = new Map<EntityClass, EntitySchema>();
  private readonly dictionaries = new Map<string, KeyDictionary>();
  private readonly avro: AvroRegistry;

  constructor(
    readonly schema: Schema,
    readonly engine: E,
  ) {
    this.avro = new AvroRegistry(new TableSchemaStore(engine.table(schemaTableDescriptor().name)));
  }

  /** Namespaces, tables and regions. */
  get admin(): Admin {
    return this.engine.admin;
  }

  /** The repository of an entity class; the same one at each call. @throws SchemaError on a class not opened with. */
  repository<C extends KeyedClass>(target: C): Repository<C> {
    const known = this.repositories.get(target);
    if (known !== undefined) return known as Repository<C>;
    const schema = this.boundSchema(target);
    const repository = new Repository<C>(schema, {
      access: this.accessOf([schema]),
      executor: this.executorOf(schema.table.descriptor.name),
      putsAlone: true,
    });
    this.repositories.set(target, repository);
    return repository;
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
    const schemas = classes.map((target) => this.boundSchema(target));
    const first = schemas[0];
    if (first === undefined)
      throw new QueryError('collection() names no entity. Give two or more classes of one table.');
    const conditions = schemas.map((schema) =>
      parseKeyConditions(schema.name, schema.key, prefix as Readonly<Record<string, unknown>>),
    );
    return new CollectionQuery<Classes[number]>(
      this.accessOf(schemas),
      { schemas, key: conditions[0]!, reversed: false, limit: undefined, at: undefined },
      checkFindOptions(options),
    );
  }

  /**
   * Creates the declared tables that are missing, with their splits, and checks the others.
   * @throws SchemaError when a table lacks a declared family, or was written with other keys or codecs.
   */
  createTables(): Promise<EnsuredTables> {
    return ensureTables(this.engine.admin, [...this.schema.tables, ...systemTables(this.schema)]);
  }

  /**
   * Registers the schemas of Avro columns in the table `rowan_schemas`, and loads those that the columns were written
   * with before. Opening does it, but with `tables: 'ignore'`.
   * @throws SchemaError with every incompatibility that the columns' `compatibility` does not allow.
   */
  registerSchemas(): Promise<void> {
    return registerSchemas(this.avro, this.schema);
  }

  /** The dictionary of this name, which gives ids to the texts of `substitute` parts; the same one at each call. */
  dictionary(name: string): KeyDictionary {
    let dictionary = this.dictionaries.get(name);
    if (dictionary === undefined) {
      dictionary = new TableDictionary(name, this.engine.table(dictionaryTableDescriptor().name));
      this.dictionaries.set(name, dictionary);
    }
    return dictionary;
  }

  /** The schema of an entity; its key takes and gives texts where it keeps ids of them. */
  private boundSchema(target: EntityClass): EntitySchema {
    let bound = this.bound.get(target);
    if (bound === undefined) {
      bound = bindDictionaries(this.schema.entity(target), (name) => this.dictionary(name));
      this.bound.set(target, bound);
    }
    return bound;
  }

  /** The table of these entities, with what reading them may have to load. */
  private accessOf(schemas: readonly EntitySchema[]): TableAccess {
    const access = this.tableAccess(schemas[0]!.table.descriptor.name);
    const layouts = schemas.map(({ key }) => key).filter((key) => key instanceof DictionaryLayout);
    const avro = schemas.some((schema) => avroColumns(schema).length > 0);
    if (layouts.length === 0 && !avro) return access;
    return {
      table: layouts.length === 0 ? access.table : new DictionaryTable(access.table, layouts),
      sync: layouts.length === 0 ? access.sync : undefined,
      recover: avro ? (error) => this.avro.recover(error) : undefined,
    };
  }

  /** One for each table: what writes one row must know of each other. */
  private executorOf(name: string): ChangeExecutor {
    let executor = this.executors.get(name);
    if (executor === undefined) {
      const table = this.engine.table(name);
      executor =
        'commit' in table ? new EmbeddedExecutor(table as CommittingTable, []) : new RemoteExecutor(table);
      this.executors.set(name, executor);
    }
    return executor;
  }

  private tableAccess(name: string): TableAccess {
    let access = this.accesses.get(name);
    if (access === undefined) {
      const table = this.engine.table(name);
      const sync = this.engine.capabilities.sync ? (table as SyncTable) : undefined;
      access = { table, sync, recover: undefined };
      this.accesses.set(name, access);
    }
    return access;
  }

  /** Closes the engine. Calls under way end with `ERR_CLOSED`. */
  async close(): Promise<void> {
    await this.engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
