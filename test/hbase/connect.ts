import { inject } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import type { Engine } from '../../src/table/index.js';

/** An engine on the server that the suites share. */
export function connectShared(options: HBaseOptions = {}): Promise<Engine> {
  return connectHBase({ masters: inject('hbase').masters, ...options });
}

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
