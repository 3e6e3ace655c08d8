/**
 * `npm run test:benches`: runs each bench that needs no server at its smallest size, and checks that it ends well and writes rows of the
 * agreed form. Benches run seldom; this shows which of them a change has broken.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchRow } from './harness.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The options that make each bench small. */
const BENCHES: Readonly<Record<string, string>> = {
  store: '--quick --keys digits --place one --rows 2000 --rounds 1',
  cold: '--rows 20000 --cache 1 --rounds 1',
  ycsb: '--records 2000 --operations 2000',
  life: '--minutes 0.1 --interval 2 --keys 1000',
  limits: '--cells 20000',
  orm: '--rounds 1',
  files: '--rounds 1 --rows 2000',
  index: '--rounds 1 --build 2000',
  jobs: '--rounds 1 --rows 2000',
  threads: '--rounds 1 --rows 2000',
  rekey: '--rows 2000',
  relations: '--rounds 1 --rows 2000',
  start: '--rounds 1',
  types: '--rounds 1',
};

const folder = mkdtempSync(join(tmpdir(), 'rowan-benches-'));
let failures = 0;
try {
  for (const [name, options] of Object.entries(BENCHES)) {
    const problem = problemOf(name, options.split(' '));
    console.log(
      `${problem === undefined ? 'ok  ' : 'FAIL'} bench:${name}${problem === undefined ? '' : `: ${problem}`}`,
    );
    if (problem !== undefined) failures++;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

function problemOf(name: string, options: readonly string[]): string | undefined {
  const file = join(folder, `${name}.json`);
  const args = ['run', `bench:${name}`, '--', ...options, '--json', file];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) return `it ended with ${status}:\n${stdout}${stderr}`;
  const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly Partial<BenchRow>[];
  if (rows.length === 0) return 'it measured nothing';
  const wrong = rows.find((row) => !isRow(row));
  return wrong === undefined ? undefined : `a row has another form: ${JSON.stringify(wrong)}`;
}

function isRow({ row, unit, rowan, peers }: Partial<BenchRow>): boolean {
  // Null: at this size there was nothing to measure, as files of a store that flushes none.
  const isFigure = (figure: unknown): boolean => figure === null || Number.isFinite(figure);
  return (
    typeof row === 'string' &&
    typeof unit === 'string' &&
    isFigure(rowan) &&
    typeof peers === 'object' &&
    Object.values(peers).every(isFigure)
  );
}
