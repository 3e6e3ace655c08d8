/** The studio's page over HBase, in a real Chromium (test/browser/install-chromium.sh). */

import { afterAll } from 'vitest';
import { connect, type Database } from '../../src/database.js';
import { describePoints, POINT_ENTITIES } from '../studio/points.js';
import { sharedHBase } from './connect.js';

let db: Database | undefined;

describePoints(async () => {
  const { masters } = sharedHBase();
  db = await connect({ masters, entities: POINT_ENTITIES, tables: 'create' });
  return db;
}, false);

afterAll(async () => {
  for (const { name } of (await db?.admin.listTables()) ?? []) {
    if (!name.startsWith('shop:')) continue;
    await db!.admin.disableTable(name);
    await db!.admin.deleteTable(name);
  }
  await db?.close();
});
