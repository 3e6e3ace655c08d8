/** Sequences on HBase: two clients take numbers at once. */

import { afterAll, beforeAll, describe } from 'vitest';
import type { Engine } from '../../src/table/index.js';
import { sequenceSuite } from '../repository/sequences/suite.js';
import { connectShared } from './connect.js';
import { uniqueTable } from './tables.js';

describe('on HBase', () => {
  let engines: readonly [Engine, Engine];
  beforeAll(async () => {
    engines = [await connectShared(), await connectShared()];
  });
  afterAll(async () => {
    for (const engine of engines) await engine.close();
  });
  sequenceSuite(
    () => engines,
    () => uniqueTable('numbers'),
  );
});
