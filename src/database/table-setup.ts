/** Brings the tables of an engine and the declarations together, as it was said that tables be handled. */

import type { AvroRegistry } from '../codec/index.js';
import {
  adoptMarkers,
  checkTables,
  type EnsuredTables,
  ensureTables,
  type LiveTables,
  readLiveTables,
  registerSchemas,
  systemTables,
} from '../ddl/index.js';
import { lintTables, type Schema } from '../schema/index.js';
import type { TableSchema } from '../schema/types.js';
import type { Engine } from '../table/index.js';
import type { Indexing } from './indexing.js';
import type { Listener } from './listener.js';
import type { TableHandling } from './options.js';

export class TableSetup {
  /** What was found last. */
  found: EnsuredTables | undefined;
  /** What there was before. */
  before: LiveTables = new Map();
  /** Tables named at run time that have been handled. */
  private readonly named = new Set<string>();

  constructor(
    private readonly engine: Engine,
    readonly handling: TableHandling,
    private readonly listener: Listener,
    private readonly indexing: Indexing,
    private readonly avro: AvroRegistry,
  ) {}

  /** The schema as it holds for the tables: markers stay in the families that they were written to. */
  async adopt(declared: Schema): Promise<Schema> {
    const tables = [...declared.tables, ...systemTables(declared)];
    this.indexing.check(declared.entities);
    const live = await readLiveTables(this.engine.admin, tables);
    this.before = live;
    const schema = adoptMarkers(declared, live);
    this.found = await this.handle([...schema.tables, ...systemTables(schema)], live);
    this.listener.opened(this.found, lintTables(schema.tables));
    await registerSchemas(this.avro, schema);
    await this.indexing.adopt(schema.tables, live, this.handling === 'verify');
    return schema;
  }

  /** A table that was named at run time. */
  async adoptTable(table: TableSchema): Promise<void> {
    const { name } = table.descriptor;
    if (this.named.has(name)) return;
    await this.handle([table], await readLiveTables(this.engine.admin, [table]));
    this.named.add(name);
  }

  private async handle(tables: readonly TableSchema[], live: LiveTables): Promise<EnsuredTables> {
    return this.handling === 'verify'
      ? checkTables(tables, live)
      : ensureTables(this.engine.admin, tables, live);
  }
}
