/** The points of the studio that every engine has, on the embedded engine; test/hbase/studio-page.spec.ts has them on HBase. */

import { afterAll } from 'vitest';
import type { Database } from '../../src/database.js';
import { openMemory } from '../../src/testing/index.js';
import { describePoints, POINT_ENTITIES } from './points.js';

let db: Database | undefined;

describePoints(async () => {
  db = await openMemory({ entities: POINT_ENTITIES });
  return db;
}, true);

afterAll(() => db?.close());
