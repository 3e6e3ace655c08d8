/** The repositories and queries of a transaction (`db.transaction`). */

import { InvalidArgumentError, RowanError, UnsupportedError } from '../../errors.js';
import { type KeyDictionary, TableDictionary } from '../../key/index.js';
import { bindDictionaries } from '../../mapper/index.js';
import type { CollectionQuery, FindOptions } from '../../query/index.js';
import { Contexts, intentsInTransaction, type SharedSource } from '../../repository/contexts.js';
import {
  type Deferred,
  type Ending,
  type Repository,
  runEnding,
  type ScatteredRepository,
  type Sequence,
  type SequenceOptions,
} from '../../repository/index.js';
import type { CheckedPrefixes, KeyedClass, KeyQuery, ScatteredClass } from '../../schema/entity-types.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { Engine, Table, TableTransaction, TransactionOptions } from '../../table/index.js';

/**
 * The argument of the function given to `db.transaction`: repositories and queries that see one snapshot of the
 * database and the transaction's own writes. Unusable once the function has ended (`ERR_TRANSACTION_ENDED`).
 */
export class Transaction {
  private readonly schemas = new Map<EntityClass, EntitySchema>();
  private readonly contexts: Contexts;

  /** Made by `Database.transaction`. */
  constructor(
    private readonly source: SharedSource,
    private readonly tables: TableTransaction,
    deferred: Deferred,
  ) {
    this.contexts = new Contexts({
      table: (name) => tables.table(name),
      viewOf: (table) => source.viewOf(table, false),
      sync: source.sync,
      reading: source.reading,
      operations: source.operations,
      avro: source.avro,
      now: () => source.now(),
      formerNames: (schema) => source.formerNames(schema),
      schemaOf: (target) => this.schemaOf(target),
      paths: (schema) => source.paths(source.schemaOf(schema.target)),
      maintainers: (schema) => source.maintainers(source.schemaOf(schema.target)),
      intents: intentsInTransaction(source),
      entries: (schema, driver) => source.entries(source.schemaOf(schema.target), driver),
      writtenRow: (schema) => source.writtenRow(source.schemaOf(schema.target)),
      showsMarkers: source.showsMarkers,
      onRestart: (changes) => source.onRestart(changes),
      transaction: tables,
      deferred,
    });
  }

  /**
   * The repository of an entity class in this transaction. @throws SchemaError on a class that the database was not
   * opened with.
   */
  repository<C extends ScatteredClass>(target: C): ScatteredRepository<C>;
  repository<C extends KeyedClass>(target: C): Repository<C>;
  repository<C extends KeyedClass>(target: C): Repository<C> {
    return this.contexts.repository(target);
  }

  /** As `Database.collection`, in this transaction. */
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
   * As `Database.sequence`, without blocks: a number counts as taken when the transaction commits, so that the numbers
   * of a sequence that is only used in transactions have no gaps. Transactions that take numbers of one scope follow
   * each other.
   */
  sequence<const Per extends string = never>(
    name: string,
    options: SequenceOptions<Per> = {},
  ): Sequence<Per> {
    return this.source.sequences.within(this.tables.table(this.source.sequenceTable), name, options);
  }

  /** A table below the entities, in this transaction. */
  table(name: string): Table {
    return this.tables.table(name);
  }

  /** Transactions cannot be nested. @throws RowanError `ERR_TRANSACTION_ENDED`, always. */
  transaction(): never {
    throw new RowanError(
      'ERR_TRANSACTION_ENDED',
      'A transaction cannot begin inside another. Pass tx to the function that should take part in this one.',
    );
  }

  private schemaOf(target: EntityClass): EntitySchema {
    let schema = this.schemas.get(target);
    if (schema === undefined) {
      schema = this.source.schemaOf(target);
      if (schema.key.dictionaries !== undefined) {
        schema = bindDictionaries(this.source.declared(target), (name) => this.dictionary(name));
      }
      this.schemas.set(target, schema);
    }
    return schema;
  }

  private dictionary(name: string): KeyDictionary {
    const own = (): KeyDictionary =>
      new TableDictionary(name, this.tables.table(this.source.dictionaryTable));
    return new LookedUpDictionary(this.source.dictionary(name), own);
  }
}

/**
 * Dictionary ids are assigned outside of transactions, for good. A missing id counts as read by the transaction: its
 * row must not change before the commit.
 */
class LookedUpDictionary implements KeyDictionary {
  constructor(
    private readonly shared: KeyDictionary,
    private readonly own: () => KeyDictionary,
  ) {}

  get name(): string {
    return this.shared.name;
  }

  async ids(values: readonly string[], create: boolean): Promise<(number | undefined)[]> {
    const ids = await this.shared.ids(values, create);
    const missing = values.filter((_, index) => ids[index] === undefined);
    if (missing.length > 0) await this.own().ids(missing, false);
    return ids;
  }

  values(ids: readonly number[]): Promise<string[]> {
    return this.shared.values(ids);
  }

  knownId(value: string): number | undefined {
    return this.shared.knownId(value);
  }

  knownText(id: number): string | undefined {
    return this.shared.knownText(id);
  }
}

/** The work of a transaction's writes that waits for its end. */
class Endings implements Deferred {
  private readonly all: Ending[] = [];

  add(ending: Ending): void {
    this.all.push(ending);
  }

  /** After a failure: restores the caller's objects, the last write first. */
  undo(): void {
    for (const { undo } of this.all.reverse()) undo?.();
    this.all.length = 0;
  }

  /**
   * After the commit: runs the hooks of its writes, in order. @throws RowanError `ERR_HOOK` for the first that
   * throws.
   */
  async run(): Promise<void> {
    let failure: unknown;
    for (const ending of this.all) {
      try {
        await runEnding(ending);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }
}

/**
 * Runs `run` in engine transactions until one is committed. Restores the caller's objects after each failed attempt.
 */
export async function runTransaction<T>(
  engine: Engine,
  begin: (tables: TableTransaction, deferred: Deferred) => Transaction,
  run: (tx: Transaction) => Promise<T>,
  options: TransactionOptions | undefined,
): Promise<T> {
  if (engine.transaction === undefined) {
    throw new UnsupportedError(
      `The engine "${engine.name}" has no transactions: it changes one row at a time. Use check(), @Version or batch.`,
    );
  }
  if (typeof run !== 'function') {
    throw new InvalidArgumentError(`transaction takes a function, async (tx) => …, not ${describe(run)}.`);
  }
  let endings: Endings | undefined;
  let answer: T;
  try {
    answer = await engine.transaction(async (tables) => {
      endings?.undo();
      endings = new Endings();
      const tx = begin(tables, endings);
      const answer = await run(tx);
      // The work that follows completed writes is part of the transaction.
      await tx['contexts'].rest();
      return answer;
    }, options);
  } catch (error) {
    endings?.undo();
    throw error;
  }
  await endings?.run();
  return answer;
}
