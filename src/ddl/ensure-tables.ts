/** Brings an engine's tables in line with the declarations as far as that loses nothing, and refuses the rest. */

import { RowanError, SchemaError } from '../errors.js';
import type { TableSchema } from '../schema/types.js';
import { type Admin, DEFAULT_NAMESPACE, parseTableName, type TableDescriptor } from '../table/index.js';
import { stampChanges, stampedDescriptor, stampProblems } from './table-stamp.js';

/** What `ensureTables` did. */
export interface EnsuredTables {
  /** Names of tables that were created. */
  readonly created: readonly string[];
  /** Names of tables to whose metadata entities or columns were added. */
  readonly stamped: readonly string[];
}

/**
 * Creates the tables that are missing, with their splits and namespaces, and checks those that exist.
 * @throws SchemaError when a table lacks a declared family or was written with other keys or codecs.
 */
export async function ensureTables(admin: Admin, tables: readonly TableSchema[]): Promise<EnsuredTables> {
  const created: string[] = [];
  const stamped: string[] = [];
  for (const table of tables) {
    const { name } = table.descriptor;
    if (!(await admin.tableExists(name))) {
      await createNamespace(admin, name);
      await admin.createTable(stampedDescriptor(table), table.splitKeys);
      created.push(name);
      continue;
    }
    const live = await admin.getDescriptor(name);
    checkTable(table, live);
    const changes = stampChanges(table, live);
    if (Object.keys(changes).length === 0) continue;
    await admin.modifyTable({ ...live, metadata: { ...live.metadata, ...changes } });
    stamped.push(name);
  }
  return { created, stamped };
}

/**
 * Checks that every table exists and fits, and changes nothing.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; SchemaError as {@link ensureTables}.
 */
export async function checkTables(admin: Admin, tables: readonly TableSchema[]): Promise<void> {
  for (const table of tables) {
    const { name } = table.descriptor;
    if (!(await admin.tableExists(name))) {
      throw new RowanError(
        'ERR_TABLE_NOT_FOUND',
        `There is no table "${name}". Create it with database.createTables(), or with the statements of \`rowan ddl\`.`,
        { details: { table: name } },
      );
    }
    checkTable(table, await admin.getDescriptor(name));
  }
}

async function createNamespace(admin: Admin, table: string): Promise<void> {
  const { namespace } = parseTableName(table);
  if (namespace === DEFAULT_NAMESPACE) return;
  if (!(await admin.listNamespaces()).includes(namespace)) await admin.createNamespace(namespace);
}

function checkTable(table: TableSchema, live: TableDescriptor): void {
  const { name, families } = table.descriptor;
  const stored = live.families.map((family) => family.name);
  const problems = families
    .filter((family) => !stored.includes(family.name))
    .map(
      (family) =>
        `The family "${family.name}" is declared but not there; the table has ${stored.join(', ')}. Add it with admin.modifyTable, or correct the declaration.`,
    );
  problems.push(...stampProblems(table, live));
  if (problems.length === 0) return;
  const lines = problems.map((problem) => `Table "${name}": ${problem}`);
  throw new SchemaError(lines.join('\n'), lines, { details: { table: name } });
}
