import type { Result } from '../table/index.js';
import type { ReadPlan } from './read-plan.js';

/** Loads the texts of ids that stand in the keys of rows, in one request to each dictionary. */
export async function loadTexts(layouts: ReadPlan['layouts'], rows: readonly Result[]): Promise<void> {
  for (const layout of layouts) {
    if (layout.dictionaries === undefined) continue;
    const own = rows.filter((result) => !result.isEmpty && layout.matches(result.row));
    if (own.length > 0) await layout.dictionaries.loadTexts(own.map((result) => result.row));
  }
}
