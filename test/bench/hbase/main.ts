/**
 * `npm run bench:hbase [-- --quick] [--rounds N] [--only TEXT] [--json FILE]`: Rowan's HBase engine and HBase's Java PerformanceEvaluation against
 * the same standalone server, on the same table, in the same run, with the same number of clients; each measurement in
 * a fresh process. `followers` are entities with indexes, summaries, copies or recorded changes, against plain ones. Higher is better.
 */

import { join } from 'node:path';
import { run } from '../../hbase/server/class-path.js';
import { type HBaseServer, startHBase } from '../../hbase/server/hbase-server.js';
import { PROJECT_ROOT } from '../../hbase/server/layout.js';
import { type BenchRow, median, report, toRow } from '../harness.js';
import type { FollowerFigure, FollowerFigures } from './followers.js';
import { PerformanceEvaluation } from './performance-evaluation.js';
import { WORKLOADS, type Workload } from './workload.js';

const quick = process.argv.includes('--quick');
/** Of a few hundred milliseconds each, to see that it works; figures of it mean little. */
const scale = quick ? 0.05 : 1;
const rounds = Number(optionOf('--rounds') ?? (quick ? 1 : 3));
const TABLE_ROWS = 1_600_000;
/** Rows of one client; the others write more. */
const FOLLOWER_ROWS = 1600;

async function main(): Promise<void> {
  const server = await startHBase({ jit: 'full', handlers: 30, heap: '2g' });
  try {
    const rows: BenchRow[] = [];
    const workloads = chosen();
    if (workloads.length > 0) {
      const peer = await PerformanceEvaluation.prepare(server.layout);
      await peer.load(TABLE_ROWS * scale);
      for (const workload of workloads) {
        for (const clients of [1, 16] as const) rows.push(await measure(server, peer, workload, clients));
      }
    }
    if ('followers'.includes(optionOf('--only') ?? '')) rows.push(...(await measureFollowers(server)));
    report(rows);
  } finally {
    await server.stop();
  }
}

/** All workloads, or those whose names contain the text after `--only`. */
function chosen(): readonly Workload[] {
  const text = optionOf('--only') ?? '';
  return WORKLOADS.filter((workload) => workload.operation.includes(text));
}

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

async function measure(
  server: HBaseServer,
  peer: PerformanceEvaluation,
  workload: Workload,
  clients: 1 | 16,
): Promise<BenchRow> {
  const rows = Math.max(100, Math.round(workload.rows[clients] * scale));
  const ours: number[] = [];
  const theirs: number[] = [];
  const contestants = [
    async () => ours.push(await measureRowan(server, workload, rows, clients)),
    async () => theirs.push(await peer.measure(workload.command, workload.arguments, rows, clients)),
  ];
  for (let round = 0; round < rounds; round++) {
    // In turns and in changing order: what one leaves in the server is met by the other as often.
    for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) await contestant();
  }
  const name = `${workload.operation}, ${clients} client${clients === 1 ? '' : 's'}`;
  const figures = { rowan: median(ours), PerformanceEvaluation: median(theirs) };
  const goal = workload.goals[clients];
  const ratio = figures.rowan / figures.PerformanceEvaluation;
  console.error(
    `${name}: ${Math.round(figures.rowan)} and ${Math.round(figures.PerformanceEvaluation)} rows/s, ` +
      `${ratio.toFixed(2)}x (goal ${goal}x${ratio < goal ? ', missed' : ''})`,
  );
  return toRow(name, 'rows/s', figures);
}

/** Each kind of entity with followers against the plain one. */
async function measureFollowers(server: HBaseServer): Promise<BenchRow[]> {
  const runs: FollowerFigures[][] = [];
  for (let round = 0; round < rounds; round++) {
    const { code, output } = await run(process.execPath, [
      '--import',
      'tsx',
      join(PROJECT_ROOT, 'test', 'bench', 'hbase', 'followers.ts'),
      server.masters.join(','),
      String(quick ? 64 : FOLLOWER_ROWS),
    ]);
    if (code !== 0) throw new Error(`The bench of followers failed:\n${output}`);
    const lines = output.split('\n').filter((line) => line.startsWith('{"kind"'));
    runs.push(lines.map((line) => JSON.parse(line) as FollowerFigures));
  }
  const modes = { one: '1 client', sixteen: '16 clients', batches: 'putMany of 100' } as const;
  const rows: BenchRow[] = [];
  for (const mode of ['one', 'sixteen', 'batches'] as const) {
    const medianOf = (place: number, figure: keyof FollowerFigure): number =>
      median(runs.map((figures) => figures[place]![mode][figure]));
    for (const [place, figures] of runs[0]!.entries()) {
      if (figures.kind === 'plain') continue;
      const { requestsARow } = figures[mode];
      // Of one round each, because the machine's load differs from round to round.
      const ratioOf = (figure: 'rate' | 'settledRate'): string =>
        median(runs.map((figures) => figures[place]![mode][figure] / figures[0]![mode].rate)).toFixed(2);
      const name = `followers: ${figures.kind}, ${modes[mode]}`;
      const plain = medianOf(0, 'rate');
      console.error(
        `${name}: ${medianOf(place, 'rate')} rows/s, ${ratioOf('rate')}x of plain; with the work after the answers ` +
          `${medianOf(place, 'settledRate')} rows/s, ${ratioOf('settledRate')}x; CPU time a row ${medianOf(place, 'cpu')} and ` +
          `${medianOf(place, 'cpuBehind')} us, plain ${medianOf(0, 'cpu')}; ${requestsARow} requests a row`,
      );
      rows.push(toRow(name, 'rows/s', { rowan: medianOf(place, 'rate'), plain }));
      rows.push(toRow(`${name}, settled`, 'rows/s', { rowan: medianOf(place, 'settledRate'), plain }));
    }
  }
  return rows;
}

async function measureRowan(
  server: HBaseServer,
  workload: Workload,
  rows: number,
  clients: number,
): Promise<number> {
  const { code, output } = await run(process.execPath, [
    '--import',
    'tsx',
    join(PROJECT_ROOT, 'test', 'bench', 'hbase', 'rowan-client.ts'),
    server.masters.join(','),
    workload.operation,
    String(clients),
    String(rows),
  ]);
  const rate = /"rate":([\d.e+]+)/.exec(output)?.[1];
  if (code !== 0 || rate === undefined) throw new Error(`${workload.operation} of Rowan failed:\n${output}`);
  return Number(rate);
}

await main();
