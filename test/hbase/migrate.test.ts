/** Migrations deployed on a real HBase, by two clients. */

import { afterAll, beforeAll, describe } from 'vitest';
import type { Engine } from '../../src/table/index.js';
import { deploySuite } from '../ddl/migrate/deploy-suite.js';
import { connectShared } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

describe('deploying on HBase', () => {
  let engine: Engine;
  let other: Engine;
  let table: string;
  beforeAll(async () => {
    [engine, other] = [await connectShared(), await connectShared()];
  });
  afterAll(async () => {
    await engine.close();
    await other.close();
  });
  deploySuite({
    engine: async () => engine,
    other: async () => other,
    table: () => {
      table = uniqueTable('migrate');
      return table;
    },
    end: async () => {
      await dropTable(engine, table);
      await dropTable(engine, `${table}_idx`);
    },
  });
});
