/** The tables of docs/operations.md name the options that there are, and no others. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CONNECT_OPTIONS, OPEN_OPTIONS } from '../../src/database/options.js';
import { DEFAULT_COMPACTION } from '../../src/store/background/compaction-policy.js';

const PAGE = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/** The names in the first column of the table under a heading. */
function namedUnder(heading: string): string[] {
  const section = PAGE.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
  const cells = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell]) => cell!);
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!)).sort();
}

it('names every option of open', () => {
  expect(namedUnder('Options of `open`')).toEqual(Object.keys(OPEN_OPTIONS).sort());
});

it('names every option of connect', () => {
  expect(namedUnder('Options of `connect`')).toEqual(Object.keys(CONNECT_OPTIONS).sort());
});

it('names every option of compaction', () => {
  const row = PAGE.split('\n').find((line) => line.startsWith('| `compaction` |'))!;
  const named = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name!).slice(1);
  expect(named.sort()).toEqual(Object.keys(DEFAULT_COMPACTION).sort());
});
