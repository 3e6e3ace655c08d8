/**
 * `npm run bench:jobs:hbase [-- --rows N] [--rounds N] [--json FILE]`: the commands `rowan count`, `export` and `import` and HBase's own
 * RowCounter, Export and Import (Hadoop's local job runner) on the same table of the same server, each command a process of its own,
 * in turns. Cells a second of the whole command, starts of processes included. Needs `npm run build`.
 */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connectHBase } from '../../../src/hbase/engine.js';
import { tableDescriptor } from '../../../src/table/index.js';
import { run } from '../../hbase/server/class-path.js';
import { type HBaseServer, startHBase } from '../../hbase/server/hbase-server.js';
import { PROJECT_ROOT } from '../../hbase/server/layout.js';
import { runHBaseJob } from '../../hbase/server/tool.js';
import { type BenchRow, compare, type Measured, report, rowLine, toRow } from '../harness.js';
import { CELLS_OF_A_ROW, fill, TABLE } from './table.js';

const rows = numberOf('--rows', 300_000);
const rounds = numberOf('--rounds', 3);
const cells = rows * CELLS_OF_A_ROW;

function numberOf(option: string, otherwise: number): number {
  const at = process.argv.indexOf(option);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

async function main(): Promise<void> {
  const server = await startHBase({ jit: 'full', handlers: 30, heap: '2g' });
  const folder = join(PROJECT_ROOT, `.rowan-bench-jobs-hbase-${process.pid}`);
  await mkdir(folder);
  try {
    report(await measure(server, folder));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(server: HBaseServer, folder: string): Promise<BenchRow[]> {
  await mkdir(server.layout.tmp, { recursive: true });
  const engine = await connectHBase({ masters: server.masters });
  await fill(engine, rows);
  const targets = ['bench_rowan', 'bench_hbase'] as const;
  for (const target of targets) await engine.admin.createTable(tableDescriptor(target, { d: {} }));
  const place = `hbase:${server.masters.join(',')}`;
  const hbase = (job: string, ...args: string[]) => runHBaseJob(server.layout, job, args).then(() => cells);
  const measured: BenchRow[] = [];
  const row = async (title: string, ours: Measured, theirs: Measured): Promise<void> => {
    const figures = toRow(title, 'cells/s', await compare({ rowan: ours, HBase: theirs }, rounds));
    console.error(rowLine(figures));
    measured.push(figures);
  };
  let round = 0;
  let ours = '';
  let theirs = '';
  await row(
    'count, RowCounter',
    () => rowan('count', place, TABLE),
    () => hbase('RowCounter', TABLE),
  );
  await row(
    'export',
    () => {
      ours = join(folder, `rowan-${++round}`);
      return rowan('export', place, TABLE, ours);
    },
    () => {
      theirs = join(folder, `hbase-${++round}`);
      return hbase('Export', TABLE, theirs);
    },
  );
  await row(
    'import',
    () => rowan('import', place, ours, targets[0]),
    () => hbase('Import', targets[1], theirs),
  );
  await engine.close();
  return measured;
}

async function rowan(...args: string[]): Promise<number> {
  const main = join(PROJECT_ROOT, 'build/src/cli/main.js');
  const { code, output } = await run(process.execPath, [main, ...args, '--restart', '--no-progress']);
  if (code !== 0) throw new Error(`rowan ${args.join(' ')} ended with code ${code}:\n${output}`);
  return cells;
}

await main();
