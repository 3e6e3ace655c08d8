/** The tables of the pages of performance are those of the recorded results. ROWAN_GOLDEN=write makes them anew, as a bench with `--merge` does. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { filesWithoutTable, pagesWithTables, writeTables } from '../bench/tables.js';

it('tables have the figures of the results', () => {
  if (process.env['ROWAN_GOLDEN'] === 'write') writeTables();
  for (const [page, text] of pagesWithTables()) expect(readFileSync(page, 'utf8'), page).toBe(text);
});

it('each file of results has a table', () => {
  expect(filesWithoutTable()).toEqual([]);
});
