/** A table with every kind of column, copied from a real HBase to the emulator of Bigtable. */

import { afterAll, beforeAll, it } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import type { Engine } from '../../src/table/index.js';
import { carryOver } from '../bigtable/carried.js';
import { Emulator } from '../bigtable/emulator/emulator.js';
import { connectShared } from './connect.js';
import { dropTable } from './tables.js';

let emulator: Emulator;
let hbase: Engine;
let bigtable: Engine;
beforeAll(async () => {
  emulator = await Emulator.start();
  hbase = await connectShared();
  bigtable = await connectBigtableEngine({
    projectId: 'rowan',
    instanceId: 'from-hbase',
    emulatorHost: emulator.host,
  });
  await dropTable(hbase, 'carried');
});
afterAll(async () => {
  if (hbase !== undefined) await dropTable(hbase, 'carried');
  await bigtable?.close();
  await hbase?.close();
  await emulator?.kill();
});

it('is verified equal, reads as the same entities, and its counters count on', async () => {
  await carryOver(hbase, bigtable);
});
