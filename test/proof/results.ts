/** Reads and writes the result file of the deep run, and generates docs/reliability.md from it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Counts } from './evidence.js';
import { SUITES } from './suites.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** In the repository: the counts of the newest deep run of each suite. */
export const RESULTS: string = join(ROOT, 'test/proof/results.json');
export const PAGE: string = join(ROOT, 'docs/reliability.md');

/** The result of one run of a suite. It exists only if all tests passed. */
export interface SuiteResult {
  readonly counts: Counts;
  /** `deep`, or a smaller size. */
  readonly scale: string;
  readonly commit: string;
  readonly date: string;
  readonly machine: string;
}

type Results = Readonly<Record<string, SuiteResult>>;

export function readResults(): Results {
  return JSON.parse(readFileSync(RESULTS, 'utf8')) as Results;
}

const BEGIN = '<!-- results: written by npm run test:deep -->';
const END = '<!-- end of results -->';

/** Returns the page with its table replaced by these results. */
export function pageWith(page: string, results: Results): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from) throw new Error(`docs/reliability.md has lost its "${BEGIN}" or "${END}".`);
  return `${page.slice(0, from)}${BEGIN}\n\n${tableOf(results)}\n${page.slice(to)}`;
}

function tableOf(results: Results): string {
  const machines = [...new Set(Object.values(results).map(({ machine }) => machine))].sort();
  const letterOf = (machine: string): string => String.fromCharCode(0x41 + machines.indexOf(machine));
  const lines = [
    '| promises | suite | what is done | counted, without one failure | run |',
    '|---|---|---|---|---|',
  ];
  for (const { id, promises, file, what } of SUITES) {
    const result = results[id];
    const counted = result === undefined ? 'not run in full yet' : countsText(result.counts);
    const run =
      result === undefined
        ? ''
        : `${result.scale}, ${result.date}, ${result.commit}, ${letterOf(result.machine)}`;
    lines.push(`| ${promises} | \`${file}\` | ${what} | ${counted} | ${run} |`);
  }
  const named = machines.map((machine) => `${letterOf(machine)} is ${machine}`);
  return `${lines.join('\n')}\n\nMachines: ${named.join('; ')}.\n`;
}

function countsText(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en-US')} ${name}`)
    .join(', ');
}
