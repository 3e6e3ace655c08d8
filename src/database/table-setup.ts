import type { AvroRegistry } from '../codec/index.js';
import {
  adoptMarkers,
  checkSchemas,
  checkTables,
  createTableStatement,
  type EnsuredTables,
  ensureTable,
  ensureTables,
  type LiveTables,
  readLiveTables,
  refuseDisabled,
  registerSchemas,
} from '../ddl/index.js';
import { RowanError } from '../errors.js';
import { systemTables } from '../features/tables.js';
import { sequenceTableDescriptor } from '../repository/index.js';
import { type AdoptedSchema, lintTables, type Schema } from '../schema/index.js';
import type { EntityClass, TableSchema } from '../schema/types.js';
import { checkOptions } from '../table/checks.js';
import { type Admin, type Engine, tableDescriptor } from '../table/index.js';
import type { OpenFeatures } from './open-features.js';
import {
  CONNECT_ADMIN_OPTIONS,
  type ConnectAdminOptions,
  checkPath,
  isReadOnly,
  type Listener,
  OPEN_ADMIN_OPTIONS,
  type OpenAdminOptions,
  type TableHandling,
} from './options.js';

/** The same table with another name. @throws SchemaError when the name is invalid. */
export function renamedTable(table: TableSchema, name: string): TableSchema {
  const { families } = table.descriptor;
  const { name: checked } = tableDescriptor(name, Object.fromEntries(families.map((f) => [f.name, {}])));
  const descriptor = Object.freeze({ ...table.descriptor, name: checked });
  return Object.freeze({ ...table, descriptor });
}

/** Creates or checks the tables of an engine at opening, and adapts the schema to them. */
export class TableSetup {
  /** The result of the last check. */
  found: EnsuredTables | undefined;
  /** The tables as they were before this program. */
  before: LiveTables = new Map();
  /** Tables named at run time that have been handled, with the schema they were handled for. */
  private readonly named = new Map<string, { readonly declared: Schema; readonly schema: AdoptedSchema }>();

  constructor(
    private readonly engine: Engine,
    readonly handling: TableHandling,
    private readonly listener: Listener,
    private readonly features: OpenFeatures,
    private readonly avro: AvroRegistry,
  ) {}

  /** The schema adapted to the tables: markers stay in the families in which rows have them. */
  async adopt(declared: Schema): Promise<AdoptedSchema> {
    if (this.handling === 'ignore') return this.adoptUnseen(declared);
    const tables = [...declared.tables, ...systemTables(declared)];
    this.features.check(declared.entities);
    const [live] = await Promise.all([
      readLiveTables(this.engine.admin, tables),
      this.refuseDisabled(tables),
    ]);
    this.before = live;
    const schema = adoptMarkers(declared, live);
    this.found = await this.handle([...schema.tables, ...systemTables(schema)], live);
    this.listener.opened(this.found, () => lintTables(schema.tables));
    if (this.engine.capabilities.readOnly === true) await checkSchemas(this.avro, schema);
    else await registerSchemas(this.avro, schema);
    await this.features.tablesReady(schema.tables, live, this.handling === 'verify');
    return schema;
  }

  /**
   * With `tables: 'ignore'`: reads only the tables of entities whose marker may be in another family than declared.
   * Rows read by a wrong marker would count as missing, and their upgrades as done.
   */
  private async adoptUnseen(declared: Schema): Promise<AdoptedSchema> {
    const open = declared.tables.filter(
      ({ descriptor, entities }) =>
        descriptor.families.length > 1 && entities.some(({ marker }) => marker !== undefined),
    );
    return adoptMarkers(declared, await readLiveTables(this.engine.admin, open));
  }

  /** The schema adapted to a table that is named at run time. */
  async adoptNamed(declared: Schema, target: EntityClass, name: string): Promise<AdoptedSchema> {
    const known = this.named.get(name);
    if (known?.declared === declared) return known.schema;
    const { table } = declared.entity(target);
    const live = await readLiveTables(this.engine.admin, [renamedTable(table, name)]);
    const stored = [...live.values()].map((found) => [table.descriptor.name, found] as const);
    const schema = adoptMarkers(declared, new Map(stored));
    if (this.handling !== 'ignore') {
      await this.refuseDisabled([renamedTable(table, name)]);
      await this.handle([renamedTable(schema.entity(target).table, name)], live);
    }
    this.named.set(name, { declared, schema });
    return schema;
  }

  /**
   * Makes the table of sequences, when one is first used: no entity declares them.
   * @throws RowanError `ERR_TABLE_NOT_FOUND` where it is missing and tables are not created.
   */
  async ensureSequences(): Promise<void> {
    const descriptor = sequenceTableDescriptor();
    if (await this.engine.admin.tableExists(descriptor.name)) return;
    if (this.handling !== 'create') {
      throw new RowanError(
        'ERR_TABLE_NOT_FOUND',
        `The table "${descriptor.name}", which db.sequence() needs, does not exist. Create it: ${createTableStatement({ descriptor, splitKeys: [] })}. Or open the database with tables: 'create'.`,
        { details: { table: descriptor.name } },
      );
    }
    await ensureTable(this.engine.admin, descriptor);
  }

  private refuseDisabled(tables: readonly TableSchema[]): Promise<void> {
    return refuseDisabled(this.engine.admin, tables, () => this.features.offlineTables());
  }

  private async handle(tables: readonly TableSchema[], live: LiveTables): Promise<EnsuredTables> {
    return this.handling === 'verify'
      ? checkTables(tables, live)
      : ensureTables(this.engine.admin, tables, live);
  }
}

// — Admin access without entities, for changes that must precede opening a database.

/** Namespaces, tables and regions, without entities. */
export interface AdminConnection extends AsyncDisposable {
  readonly admin: Admin;
  close(): Promise<void>;
}

/**
 * The tables of an embedded store, without entities: to add a family that was declared, to look, to drop.
 *
 * @example
 * ```ts
 * await using store = await openAdmin({ path });
 * const live = await store.admin.getDescriptor('shop:crm');
 * const { families } = tableDescriptor('shop:crm', { e: { versions: 3 } });
 * await store.admin.modifyTable({ ...live, families: [...live.families, ...families] });
 * ```
 * @throws as `open`.
 */
export async function openAdmin(options: OpenAdminOptions): Promise<AdminConnection> {
  checkOptions('openAdmin', options, OPEN_ADMIN_OPTIONS);
  const { path, readOnly, refreshEvery, ...embedded } = options;
  checkPath('openAdmin', path);
  if (isReadOnly('openAdmin', options)) {
    const { openReadOnly } = await import('../store/read-only/read-only-store.js');
    return adminOf(
      await openReadOnly(path, refreshEvery === undefined ? embedded : { ...embedded, refreshEvery }),
    );
  }
  const { openEmbedded } = await import('../store/engine.js');
  return adminOf(await openEmbedded(path, embedded));
}

/** The tables of an HBase cluster, without entities. @throws as `connect`. */
export async function connectAdmin(options: ConnectAdminOptions): Promise<AdminConnection> {
  checkOptions('connectAdmin', options, CONNECT_ADMIN_OPTIONS);
  const { connectHBase } = await import('../hbase/engine.js');
  return adminOf(await connectHBase(options));
}

function adminOf(engine: Engine): AdminConnection {
  const close = (): Promise<void> => engine.close();
  return { admin: engine.admin, close, [Symbol.asyncDispose]: close };
}
