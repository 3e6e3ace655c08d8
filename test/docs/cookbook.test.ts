/** The cookbook's pages show what its programs say and print; on HBase test/hbase/cookbook.test.ts holds the same. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  COOKBOOK,
  filledPage,
  type Output,
  RECIPES,
  readPage,
  runRecipes,
  shownSections,
  writePage,
} from './cookbook.js';

let outputs: ReadonlyMap<string, Output>;

beforeAll(async () => {
  outputs = await runRecipes();
});

describe.each(RECIPES)('the recipe %s', (recipe) => {
  it('has a page with its code and its output', () => {
    const text = readPage(recipe);
    const filled = filledPage(recipe, text, outputs.get(recipe)!);
    if (process.env['ROWAN_GOLDEN'] === 'write') writePage(recipe, filled);
    else expect(text).toBe(filled);
  });

  it('has every section on the page, which has at most 150 lines', () => {
    const text = readPage(recipe);
    const shown = shownSections(text).filter((name) => !name.endsWith('-hbase'));
    expect(shown).toEqual([...outputs.get(recipe)!.keys()]);
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(150);
  });

  it.each(['## The entit', "## The key's bytes", '## Queries', '## When not to', '## What it costs'])(
    'says: %s',
    (heading) => {
      expect(readPage(recipe)).toContain(`\n${heading}`);
    },
  );

  it('is in the table of the first page', () => {
    expect(readFileSync(join(COOKBOOK, 'README.md'), 'utf8')).toContain(`(${recipe}.md)`);
  });
});

it('every page has a program', () => {
  const pages = readdirSync(COOKBOOK).filter((name) => name !== 'README.md');
  expect(pages.sort()).toEqual(RECIPES.map((recipe) => `${recipe}.md`));
});
