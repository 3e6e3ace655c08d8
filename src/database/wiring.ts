import { AvroRegistry, schemaTableDescriptor, TableSchemaStore } from '../codec/index.js';
import type { RowanError } from '../errors.js';
import { openViews } from '../features/registry.js';
import { dictionaryTableDescriptor, type KeyDictionary, TableDictionary } from '../key/index.js';
import { bindDictionaries, extendedSchema } from '../mapper/index.js';
import { Operations, type Reading } from '../query/index.js';
import { Contexts, intentsInTransaction, type SharedSource } from '../repository/contexts.js';
import { Repository, Sequences, sequenceTableDescriptor } from '../repository/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import { AdoptedSchema, type Schema } from '../schema/index.js';
import { prepareTransformer } from '../schema/transformer.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import type { Engine, Table, TableTransaction } from '../table/index.js';
import { OpenFeatures } from './open-features.js';
import { Listener, type Opening, type TableHandling } from './options.js';
import { renamedTable, TableSetup } from './table-setup.js';

/** Schemas with their keys bound to the dictionaries of a database. */
class BoundSchemas {
  private readonly bound = new Map<EntityClass, EntitySchema>();
  private readonly dictionaries = new Map<string, KeyDictionary>();

  constructor(
    private readonly engine: Engine,
    private readonly declared: () => Schema,
  ) {}

  /** @throws SchemaError on a class that is not declared. */
  of(target: EntityClass): EntitySchema {
    let bound = this.bound.get(target);
    if (bound === undefined) {
      bound = bindDictionaries(this.declared().entity(target), (name) => this.dictionary(name));
      this.bound.set(target, bound);
    }
    return bound;
  }

  dictionary(name: string): KeyDictionary {
    let dictionary = this.dictionaries.get(name);
    if (dictionary === undefined) {
      dictionary = new TableDictionary(name, this.engine.table(dictionaryTableDescriptor().name));
      this.dictionaries.set(name, dictionary);
    }
    return dictionary;
  }

  /** Called when entities are declared again. */
  clear(): void {
    this.bound.clear();
  }
}

/** The engine with its tables replaced by views of them. */
function viewedBy(engine: Engine, view: (table: Table) => Table): Engine {
  const { transaction, checkWritable } = engine;
  return {
    name: engine.name,
    capabilities: engine.capabilities,
    admin: engine.admin,
    table: (name) => view(engine.table(name)),
    now: () => engine.now(),
    observe: (table, observer) => engine.observe(table, observer),
    ...(transaction && { transaction: transaction.bind(engine) }),
    ...(checkWritable && { checkWritable: checkWritable.bind(engine) }),
    close: () => engine.close(),
  };
}

/** The time, ms, for which a closing database waits for the background work of acknowledged writes. */
const CLOSING_WAIT = 1000;
/** The time, ms, for which it then waits for the end of features, whose calls a server may leave without an answer. */
const ENDING_WAIT = 5000;

/** Resolves with the work, or after so many milliseconds. */
async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  try {
    await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Connects the declared entities with the tables of an engine, and with the features. */
export class Wiring {
  readonly bound: BoundSchemas;
  readonly setup: TableSetup;
  /** The parts that its repositories share with those of transactions. */
  readonly source: SharedSource;
  readonly contexts: Contexts;
  readonly features: OpenFeatures;
  /** The engine, which shows tables as their entities are declared. For jobs. */
  readonly viewed: Engine;
  readonly operations: Operations;
  /** Functions to call when the database closes. */
  readonly endings: (() => void)[] = [];
  private readonly views = openViews();
  private schema: AdoptedSchema;
  /** The end of the last call of `add`. */
  private adding: Promise<unknown> = Promise.resolve();

  constructor(
    declared: Schema,
    private readonly engine: Engine,
    private readonly handling: TableHandling,
    onEvent: Opening['onEvent'],
    reading: Reading,
  ) {
    this.viewed = viewedBy(engine, (table) => this.view(table, false));
    this.operations = new Operations(engine.name, reading.onQuery);
    const listener = new Listener(onEvent);
    this.bound = new BoundSchemas(engine, () => this.declared);
    const onFailure = (error: RowanError): void => listener.emit({ kind: 'outbox', error });
    this.features = new OpenFeatures({
      engine: this.viewed,
      stored: engine,
      rest: () => this.contexts.rest(),
      declared: () => this.declared,
      schemaOf: (target) => this.bound.of(target),
      access: (schemas) => this.contexts.access(schemas),
      declaredRow: (table, row) => this.views.reduce((shown, view) => view.declaredRow(table, shown), row),
      driver: () => this.contexts.driver,
      executorOf: (entity) => this.contexts.executorOf(entity),
      onFailure,
    });
    this.source = {
      sync: engine.capabilities.sync,
      viewOf: (table, writesBack = true) => this.view(table, writesBack),
      reading,
      operations: this.operations,
      now: () => this.engine.now(),
      formerNames: (schema) => this.features.formerNames(schema),
      schemaOf: (target) => this.bound.of(target),
      declared: (target) => this.declared.entity(target),
      paths: (schema) => this.features.paths(schema),
      maintainers: (schema) => this.features.stepMaintainers(schema),
      intents: (schema) => this.features.intents(schema),
      entries: (schema, driver) => this.features.entries(schema, driver),
      writtenRow: (schema) => this.features.writtenRow(schema),
      showsMarkers: engine.capabilities.deleteMarkers,
      onRestart: (changes) => {
        this.features.restarts += changes;
      },
      dictionary: (name) => this.bound.dictionary(name),
      dictionaryTable: dictionaryTableDescriptor().name,
      sequences: new Sequences(
        () => engine.table(sequenceTableDescriptor().name),
        () => this.setup.ensureSequences(),
      ),
      sequenceTable: sequenceTableDescriptor().name,
      avro: new AvroRegistry(new TableSchemaStore(engine.table(schemaTableDescriptor().name))),
    };
    this.contexts = new Contexts({
      ...this.source,
      table: (name) => engine.table(name),
    });
    this.setup = new TableSetup(engine, this.handling, listener, this.features, this.source.avro);
    // Until `ready` the tables are unknown. It adapts the schema before anything is read.
    this.schema = AdoptedSchema.of(declared);
    this.use(this.schema);
  }

  /** A table as its entities are declared. `writesBack`: rows that are read by key may be rewritten in that form. */
  private view(table: Table, writesBack: boolean): Table {
    let shown = table;
    for (const view of this.views) shown = view.view(shown, writesBack);
    return shown;
  }

  private declareTable(name: string, entities: readonly EntitySchema[]): void {
    for (const view of this.views) view.declareTable(name, entities);
  }

  get declared(): AdoptedSchema {
    return this.schema;
  }

  /** Opens the tables of the schema, with the chosen handling. */
  async ready(): Promise<void> {
    await prepareTransformer();
    await this.adopt(this.declared);
    await this.features.resume();
  }

  /** Adds entities, after those of earlier calls. If their tables do not match, nothing is changed. */
  add(entities: readonly EntityClass[]): Promise<void> {
    const added = this.adding.then(() => this.addTo(entities));
    this.adding = added.catch(() => {});
    return added;
  }

  /** Compiles the entities with the known ones, so two calls at once would each lose those of the other. */
  private async addTo(entities: readonly EntityClass[]): Promise<void> {
    const schema = extendedSchema(this.declared, entities);
    this.features.checkAdded(this.declared, schema);
    await this.adopt(schema);
    const added = entities.map((target) => this.declared.entity(target));
    // Their columns may have moved, in tables that were read without these entities until now.
    this.contexts.forget(added.map(({ table }) => table.descriptor.name));
  }

  /** Reads and writes with this schema from now on. */
  private use(schema: AdoptedSchema): void {
    this.schema = schema;
    this.bound.clear();
    for (const { descriptor, entities } of schema.tables) this.declareTable(descriptor.name, entities);
    this.features.adopt(schema);
  }

  private async adopt(declared: Schema): Promise<void> {
    this.use(await this.setup.adopt(declared));
    if (this.handling === 'ignore') return;
    const { before, handling } = this.setup;
    await this.features.tablesOpened(this.declared.tables, before, handling === 'verify');
  }

  /** Ends all work on the engine, before it is closed. */
  async end(): Promise<void> {
    for (const end of this.endings.splice(0)) end();
    // Background work of acknowledged writes may be cut off here; readers then finish it. A short wait saves them
    // that.
    await atMost(CLOSING_WAIT, this.contexts.rest());
    await atMost(ENDING_WAIT, this.features.end());
  }

  /** The repository of an entity in another table than the declared one. */
  async repositoryIn<C extends KeyedClass>(target: C, name: string): Promise<Repository<C>> {
    const declared = this.declared.entity(target);
    this.features.refuseElsewhere(declared);
    const adopted = (await this.setup.adoptNamed(this.declared, target, name)).entity(target);
    const table = renamedTable(adopted.table, name);
    this.declareTable(table.descriptor.name, table.entities);
    const bound = bindDictionaries(adopted, (dictionary) => this.bound.dictionary(dictionary));
    const schema = Object.freeze({ ...bound, table });
    return new Repository<C>(schema, this.contexts.of(schema));
  }

  /** Contexts on the tables of a transaction. */
  within(tables: TableTransaction): Contexts {
    return new Contexts({
      ...this.source,
      viewOf: (table) => this.view(table, false),
      intents: intentsInTransaction(this.source),
      transaction: tables,
      table: (name) => tables.table(name),
    });
  }
}
