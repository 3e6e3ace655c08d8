/** The cookbook's programs print on Bigtable what their pages show, but for those that need what Bigtable lacks. */

import { describe, expect, inject, it } from 'vitest';
import { filledPage, RECIPES, readPage, runRecipes, shownSections } from '../docs/cookbook.js';

/** Recipes that Bigtable refuses, with the reason in the error. */
const REFUSED: Readonly<Record<string, string>> = {
  '04-time-to-live': 'Bigtable has no time to live of single cells',
  '28-job-outputs': 'The engine "bigtable" has no bulk load',
  '36-quotas': 'Bigtable has no time to live of single cells',
};

/** Sections that Bigtable prints otherwise. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  // Reads of the past show deleted versions only where a family keeps them: Bigtable has no KEEP_DELETED_CELLS.
  '03-versions': ['queries', 'cost'],
  // A scan shows no single moment: at its end, rows of entries that were written lately are read again.
  '33-tags': ['queries'],
};

const bigtable = { host: inject('bigtable'), place: 'rowan/cookbook' };

describe('recipes', () => {
  const asked = RECIPES.filter((recipe) => REFUSED[recipe] === undefined);
  const ran = runRecipes({ bigtable }, asked);

  it.each(asked)('%s prints what its page shows', async (recipe) => {
    const output = new Map((await ran).get(recipe)!);
    const text = readPage(recipe);
    expect([...output.keys()]).toEqual(shownSections(text).filter((name) => !name.endsWith('-embedded')));
    for (const section of OTHERWISE[recipe] ?? []) {
      expect(filledPage(recipe, text, new Map([[section, output.get(section)!]]))).not.toBe(text);
      output.delete(section);
    }
    expect(filledPage(recipe, text, output)).toBe(text);
  });
});

it.each(Object.entries(REFUSED))('%s is refused: %s', async (recipe, reason) => {
  await expect(runRecipes({ bigtable }, [recipe])).rejects.toThrow(reason);
});
