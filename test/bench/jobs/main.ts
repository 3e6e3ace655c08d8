/**
 * `npm run bench:jobs`: cells a second of the tools over whole tables on the embedded engine: count, cells, export,
 * import, verify. Stores on disk, durability as by default; the figure is the median of the rounds.
 *
 * `--rounds N` (default 3), `--rows N` (of 5 cells, default 200,000), `--json FILE`.
 * `--memory ROWS` measures something else instead: the most memory that a process had which ran a job with map, combine and
 * reduce over so many rows. `--threads` measures two jobs with map, combine and reduce, one whose map adds and one whose map
 * computes, in this thread, with one thread of mappers and with two.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInWorkers } from '../../../src/cli/job-workers.js';
import { importModule } from '../../../src/cli/load-entities.js';
import { open } from '../../../src/database.js';
import { countCells, countRows, exportTable, importTable, verifyTables } from '../../../src/public/jobs.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/public/table.js';
import { type BenchRow, compare, type Measured, report, rowLine, toRow } from '../harness.js';
import { projectRoot } from '../orm/contestant.js';
import { peakMemory } from '../peak-memory.js';
import { job as fingerprints } from './fingerprints-job.js';
import { CELLS_OF_A_ROW, fill, reduceAll, TABLE } from './table.js';
import { Item, Sum, job as sums } from './threads-job.js';

const rounds = numberOf('--rounds', 3);
const rows = numberOf('--rows', 200_000);
const folder = mkdtempSync(join(projectRoot, '.rowan-bench-jobs-'));
try {
  const memory = numberOf('--memory', 0);
  const work = process.argv.indexOf('--work');
  if (work >= 0) await workOn(process.argv[work + 1]!);
  else if (memory > 0) await measureMemory(memory);
  else if (process.argv.includes('--threads')) report(await measureThreads());
  else report(await measure());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function numberOf(option: string, otherwise: number): number {
  const at = process.argv.indexOf(option);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

async function measure(): Promise<BenchRow[]> {
  const engine = await openEmbedded(join(folder, 'store'));
  await fill(engine, rows);
  const cells = rows * CELLS_OF_A_ROW;
  const measured: BenchRow[] = [];
  const row = async (title: string, run: Measured): Promise<void> => {
    const figures = toRow(title, 'cells/s', await compare({ rowan: run }, rounds));
    console.log(rowLine(figures));
    measured.push(figures);
  };
  let round = 0;
  let exported = '';
  await row('count', async () => (await countRows(engine, TABLE)).rows * CELLS_OF_A_ROW);
  await row('cells', async () => (await countCells(engine, TABLE)).rows * CELLS_OF_A_ROW);
  await row('export', async () => {
    exported = join(folder, `files-${++round}`);
    return (await exportTable(engine, TABLE, exported)).rows * CELLS_OF_A_ROW;
  });
  let copy: EmbeddedEngine | undefined;
  await row('import', async () => {
    await copy?.close();
    copy = await openEmbedded(join(folder, `copy-${++round}`));
    await importTable(copy, exported, { create: true });
    return cells;
  });
  const other = { engine: copy!, table: TABLE };
  await row('verify', async () => {
    const { rows: read, counters } = await verifyTables({ engine, table: TABLE }, other);
    if (counters['equal'] !== rows) throw new Error(`Only ${counters['equal']} of ${rows} rows are equal.`);
    return read * CELLS_OF_A_ROW;
  });
  await copy?.close();
  await engine.close();
  return measured;
}

/** Rows a second of each job in this thread, and with threads of mappers. */
async function measureThreads(): Promise<BenchRow[]> {
  const place = join(folder, 'store');
  const filling = await open({ path: place, entities: [Item, Sum] });
  await fill(filling.engine, rows, false);
  await filling.close();
  // As the command finds it: nothing that was just written is in a log that each thread would read.
  const db = await open({ path: place, entities: [Item, Sum] });
  const measured: BenchRow[] = [];
  for (const [title, file, job] of [
    ['two threads, map adds', './threads-job.js', sums],
    ['two threads, map computes', './fingerprints-job.js', fingerprints],
  ] as const) {
    const module = fileURLToPath(new URL(file, import.meta.url));
    const exports = await importModule(module);
    const run = async (workers: number): Promise<number> => {
      const options = { restart: true } as const;
      const { rows: read } =
        workers === 0
          ? await job(db).run(options)
          : await runInWorkers(db, { place, module, exports, workers, run: options });
      if (read !== rows) throw new Error(`${read} of ${rows} rows were read.`);
      return read;
    };
    const compared = await compare(
      { rowan: () => run(2), 'one thread': () => run(1), 'this thread': () => run(0) },
      rounds,
    );
    measured.push(toRow(title, 'rows/s', compared));
    console.log(rowLine(measured.at(-1)!));
  }
  await db.close();
  return measured;
}

/** Fills a store, and lets another process work on it. */
async function measureMemory(count: number): Promise<void> {
  const store = join(folder, 'store');
  const engine = await openEmbedded(store, { durability: 'ASYNC_WAL' });
  await fill(engine, count);
  await engine.close();
  const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), '--work', store], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`The process that ran the job ended with code ${status}.`);
}

async function workOn(store: string): Promise<void> {
  const engine = await openEmbedded(store);
  const start = performance.now();
  const read = await reduceAll(engine, 'memory');
  const seconds = (performance.now() - start) / 1000;
  await engine.close();
  console.log(
    `${read} rows in ${seconds.toFixed(1)} s (${Math.round(read / seconds)}/s), at most ${Math.round(peakMemory() / 1e6)} MB resident`,
  );
}
