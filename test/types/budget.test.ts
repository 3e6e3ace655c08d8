import { beforeAll, describe, expect, it } from 'vitest';
import { budgetProject } from './budget-project.js';
import { consumerFolder, MODES, STRICT, tsc, write } from './compiler.js';

/** Type instantiations of 100 entities of 6 key parts and 20 columns, with a get, a find and a put of each. */
const BUDGET = 30_000;
/** The same when no two entities share the name of a part or column, so that the compiler can reuse nothing. */
const BUDGET_OF_DISTINCT_NAMES = 60_000;

beforeAll(() => consumerFolder('budget'));

describe.each(MODES)('with %s', (mode, options) => {
  it.each([
    ['shared', true, BUDGET],
    ['distinct', false, BUDGET_OF_DISTINCT_NAMES],
  ] as const)('100 entities with %s names stay within the budget', async (names, sharedNames, budget) => {
    const inferCodecs = mode === 'experimentalDecorators';
    const file = write(
      `budget/${names}-${inferCodecs}.ts`,
      budgetProject({ entities: 100, columns: 20, inferCodecs, sharedNames }),
    );
    const { output } = await tsc(...STRICT, ...options, '--extendedDiagnostics', file);
    expect(output).not.toContain('error');
    const instantiations = Number(/Instantiations:\s+(\d+)/.exec(output)![1]);
    expect(instantiations).toBeGreaterThan(100);
    expect(instantiations).toBeLessThan(budget);
  });
});
