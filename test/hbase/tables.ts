import type { Engine } from '../../src/table/index.js';

let counter = 0;

/** A table name that no other suite or run uses. */
export function uniqueTable(purpose: string): string {
  counter++;
  return `${purpose}_${process.pid}_${Date.now().toString(36)}_${counter}`;
}

/** Disables and deletes a table if it is there. */
export async function dropTable(engine: Engine, name: string): Promise<void> {
  if (!(await engine.admin.tableExists(name))) return;
  if (await engine.admin.isTableEnabled(name)) await engine.admin.disableTable(name);
  await engine.admin.deleteTable(name);
}
