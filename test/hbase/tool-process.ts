/**
 * Exports a table into a folder, or imports that folder into a table, and kills itself (SIGKILL: no handler runs, nothing is flushed) at a
 * turn of its event loop, if it gets there.
 * Usage: tool-process.ts <export | import> <place> <table> <folder> <turn, 0: never>
 */
import { openEngine } from '../../src/cli/databases.js';
import type { JobRunOptions } from '../../src/job/types.js';
import { exportTable } from '../../src/tools/export.js';
import { importTable } from '../../src/tools/import.js';

const [tool, place, table, folder, turn] = process.argv.slice(2) as [string, string, string, string, string];

let turns = 0;
function count(): void {
  if (++turns === Number(turn)) process.kill(process.pid, 'SIGKILL');
  setImmediate(count).unref();
}

// Nobody else works the job: what a dead process had is free soon.
const run: JobRunOptions = { leaseMs: 1000, splitBytes: 16 << 20 };
const engine = await openEngine(place, { mayMake: true });
count();
if (tool === 'export') await exportTable(engine, table, folder, { run });
else await importTable(engine, folder, { table, create: true, run });
await engine.close();
