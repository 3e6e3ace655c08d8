/** Records the counts of a suite for docs/reliability.md. The deep run collects them (`deep.ts`). */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Counts by name: `{ 'crash points': 12_345 }`. */
export type Counts = Readonly<Record<string, number>>;

const FOLDER = process.env['ROWAN_EVIDENCE'];

/**
 * Adds to the counts of a suite of `suites.ts`. Call it only at the end of a test, when it has passed. Does nothing
 * outside of the deep run.
 */
export function record(suite: string, counts: Counts): void {
  if (FOLDER === undefined) return;
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${suite}.${process.pid}.json`);
  const before = readCounts(path);
  const names = new Set([...Object.keys(before), ...Object.keys(counts)]);
  const sums = Object.fromEntries(
    [...names].map((name) => [name, (before[name] ?? 0) + (counts[name] ?? 0)]),
  );
  writeFileSync(path, JSON.stringify(sums));
}

function readCounts(path: string): Counts {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Counts;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
