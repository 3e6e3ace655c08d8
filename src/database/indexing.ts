/** The indexes of an open database: what keeps them, and which of them can be asked. */

import { toHex } from '../bytes/index.js';
import { checkIndexes, ensureIndexes, type IndexStates, type LiveTables } from '../ddl/index.js';
import { QueryError, SchemaError, UnsupportedError } from '../errors.js';
import type { EntityIndexes } from '../indexes/index.js';
import { entityIndexes, type IndexAccess, type IndexState } from '../query/index.js';
import type { EntitySchema, IndexSchema, TableSchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import type { Engine } from '../table/index.js';
import { IndexHandle } from './index-handle.js';

export class Indexing {
  private readonly byEntity = new Map<EntitySchema, IndexAccess>();
  private states: IndexStates = new Map();

  constructor(private readonly engine: Engine) {}

  /** @throws SchemaError naming every condition that is none; UnsupportedError where the engine cannot keep indexes. */
  check(entities: readonly EntitySchema[]): void {
    const problems: string[] = [];
    for (const schema of entities) {
      if (schema.indexes.length === 0) continue;
      this.requireCommits(schema);
      try {
        entityIndexes(schema);
      } catch (error) {
        if (!(error instanceof QueryError)) throw error;
        problems.push(`${schema.name}: the condition of an index is wrong. ${error.message}`);
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  /** Finds out the states of the tables' indexes; unless `readOnly` brings the metadata in line with the declarations. */
  async adopt(tables: readonly TableSchema[], live: LiveTables, readOnly: boolean): Promise<void> {
    this.states = readOnly
      ? await checkIndexes(this.engine.admin, tables)
      : await ensureIndexes(this.engine, tables, live);
    this.byEntity.clear();
  }

  setState(index: IndexSchema, state: IndexState): void {
    this.states.set(toHex(index.id), state);
  }

  stateOf(index: IndexSchema): IndexState | undefined {
    return this.states.get(toHex(index.id));
  }

  /** Undefined for an entity without indexes. */
  of(schema: EntitySchema): IndexAccess | undefined {
    if (schema.indexes.length === 0) return undefined;
    let access = this.byEntity.get(schema);
    if (access === undefined) {
      this.requireCommits(schema);
      const indexes: EntityIndexes = entityIndexes(schema);
      access = { indexes, stateOf: (index) => this.stateOf(index) };
      this.byEntity.set(schema, access);
    }
    return access;
  }

  /** @throws QueryError when the entity has no such index. */
  handle(schema: EntitySchema, name: string): IndexHandle {
    const access = this.of(schema);
    if (access !== undefined) return new IndexHandle(this.engine, this, access, name);
    throw new QueryError(
      `${schema.name} has no index ${describe(name)}. It has none: declare one with @Index.`,
      {
        details: { entity: schema.name, index: name },
      },
    );
  }

  /** @throws UnsupportedError on an entity in another table than the declared one. */
  refuseElsewhere({ name, indexes }: EntitySchema): void {
    if (indexes.length === 0) return;
    throw new UnsupportedError(
      `${name} has indexes (${indexes.map((index) => index.name).join(', ')}), which are kept for its declared table only. Declare a class without them for repositoryIn().`,
    );
  }

  private requireCommits(schema: EntitySchema): void {
    if ('commit' in this.engine.table(schema.table.descriptor.name)) return;
    throw new UnsupportedError(
      `${schema.name} has indexes (${schema.indexes.map(({ name }) => name).join(', ')}), which HBase cannot keep yet: only the embedded engine ` +
        'writes a row and its entries in one step. Leave out @Index, or keep a table of your own with batch().',
      { details: { entity: schema.name } },
    );
  }
}
