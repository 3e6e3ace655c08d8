/** Reads what a plan is made against: from an engine, or from the descriptors that were read of it already. */

import type { TableSchema } from '../../schema/types.js';
import type { Admin } from '../../table/index.js';
import { readIndexes } from '../index-states.js';
import type { SchemaState, TableState } from './types.js';

/** The declared tables as they are in an engine; those that are not there are left out. */
export async function readSchemaState(admin: Admin, declared: readonly TableSchema[]): Promise<SchemaState> {
  const tables = new Map<string, TableState>();
  for (const { descriptor } of declared) {
    const { name } = descriptor;
    if (!(await admin.tableExists(name))) continue;
    tables.set(name, {
      descriptor: await admin.getDescriptor(name),
      splitKeys: (await admin.getRegions(name)).slice(1).map(({ startKey }) => startKey),
      enabled: await admin.isTableEnabled(name),
    });
  }
  return {
    namespaces: new Set(await admin.listNamespaces()),
    tables,
    indexes: await readIndexes(
      admin,
      declared.filter(({ entities }) => entities.length > 0),
    ),
  };
}
