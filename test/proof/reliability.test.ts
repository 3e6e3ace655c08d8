import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAGE, pageWith, readResults } from './results.js';
import { SUITES } from './suites.js';

it('docs/reliability.md has the figures of the newest deep runs', () => {
  const page = readFileSync(PAGE, 'utf8');
  expect(page).toBe(pageWith(page, readResults()));
});

it('names suites that are there', () => {
  for (const { file } of SUITES) expect(existsSync(file), file).toBe(true);
});
