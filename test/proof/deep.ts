/**
 * `npm run test:deep [-- FILTER...]`: runs every suite in full, or those whose path contains a filter; with
 * `ROWAN_SCALE=middle` at the middle size; with `--hbase FILTER...` those on a real HBase, with `--serve FILTER...`
 * those of HBase's programs on `rowan serve`. It writes the counts of each suite that passed to results.json and
 * docs/reliability.md.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PAGE, pageWith, RESULTS, readResults, type SuiteResult } from './results.js';
import { MINUTES } from './scale.js';
import { SUITES } from './suites.js';

interface Report {
  readonly testResults: readonly { readonly name: string; readonly status: string }[];
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rowan-deep-'));
const scale = process.env['ROWAN_SCALE'] ?? 'deep';
const extent = Number.isFinite(MINUTES) ? `${scale}, at most ${MINUTES} minutes` : scale;
const evidence = join(folder, 'evidence');
const other = ['hbase', 'serve'].find((each) => process.argv.includes(`--${each}`));
const filters = process.argv.slice(2).filter((each) => each !== `--${other}`);
const config = other === undefined ? [] : ['--config', `vitest.${other}.config.ts`];
const report = join(folder, `${other ?? 'unit'}.json`);
mkdirSync(evidence);
try {
  const { status } = spawnSync('npx', ['vitest', 'run', ...config, ...filters], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ROWAN_SCALE: scale, ROWAN_EVIDENCE: evidence, ROWAN_REPORTS: folder },
  });
  publish(passedFiles());
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The test files whose tests all passed. */
function passedFiles(): Set<string> {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const passed = testResults.filter((each) => each.status === 'passed');
  return new Set(passed.map(({ name }) => name.slice(ROOT.length)));
}

/** Sums the counts of a suite over all processes that took part. */
function countsOf(id: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const name of readdirSync(evidence).filter((each) => each.startsWith(`${id}.`))) {
    const counts = JSON.parse(readFileSync(join(evidence, name), 'utf8')) as Record<string, number>;
    for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
  }
  return sums;
}

function publish(passed: Set<string>): void {
  const results: Record<string, SuiteResult> = { ...readResults() };
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim();
  const processors = cpus();
  const machine = `Node ${process.versions.node}, ${processors.length} x ${processors[0]!.model.trim()}`;
  const date = new Date().toISOString().slice(0, 10);
  for (const { id, file } of SUITES) {
    if (passed.has(file)) results[id] = { counts: countsOf(id), scale: extent, commit, date, machine };
  }
  writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), results));
}
