/** The cookbook's programs print on a real HBase what their pages show. */

import { expect, it } from 'vitest';
import { filledPage, RECIPES, readPage, runRecipes, shownSections, writePage } from '../docs/cookbook.js';
import { sharedHBase } from './connect.js';

const ran = runRecipes({ masters: sharedHBase().masters });

it.each(RECIPES)('%s prints what its page shows', async (recipe) => {
  const output = (await ran).get(recipe)!;
  const text = readPage(recipe);
  expect([...output.keys()]).toEqual(shownSections(text).filter((name) => !name.endsWith('-embedded')));
  const filled = filledPage(recipe, text, output);
  if (process.env['ROWAN_GOLDEN'] === 'write') {
    // What is the same on both engines is written by test/docs/cookbook.test.ts.
    const own = new Map([...output].filter(([name]) => name.endsWith('-hbase')));
    writePage(recipe, filledPage(recipe, text, own));
  } else expect(text).toBe(filled);
});
