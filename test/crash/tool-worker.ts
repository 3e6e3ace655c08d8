/**
 * Exports the table "t" of a store into a folder, or imports that folder into a store, and kills itself (SIGKILL: no handler runs, nothing
 * is flushed) at a turn of its event loop, if it gets there.
 * Usage: tool-worker.ts <export | import> <store> <folder> <turn, 0: never>
 */

import type { JobRunOptions } from '../../src/job/types.js';
import { openEmbedded } from '../../src/store/engine.js';
import { exportTable } from '../../src/tools/export.js';
import { importTable } from '../../src/tools/import.js';

const [tool, store, folder, turn] = process.argv.slice(2) as [string, string, string, string];

let turns = 0;
function count(): void {
  if (++turns === Number(turn)) process.kill(process.pid, 'SIGKILL');
  setImmediate(count).unref();
}

const run: JobRunOptions = {
  batchRows: 7,
  checkpointRows: 20,
  checkpointMs: 60_000,
  splitBytes: 4000,
  parallel: 3,
};
const engine = await openEmbedded(store, { background: 'inline', memstoreFlushSize: 20_000 });
count();
if (tool === 'export') await exportTable(engine, 't', folder, { run });
else await importTable(engine, folder, { create: true, run });
await engine.close();
