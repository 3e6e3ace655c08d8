import { describe, expect, it } from 'vitest';
import { scaled } from '../proof/scale.js';
import { type BudgetProject, budgetProject, USES } from './budget-project.js';
import { consumerFolder, MODES, STRICT, tsc, write } from './compiler.js';

consumerFolder('budget');

/** What 100 entities of 6 key parts and 20 columns may cost the compiler, in type instantiations. */
const BUDGET = 30_000;

type Uses = Readonly<Record<(typeof USES)[number], number>>;

/**
 * Where less than {@link BUDGET} cannot be had, what is had: a change that makes entities dearer fails here. The columns
 * are the entities declared; then a repository with a get and a put of each; then a find; then a projection. (All four of
 * classes cost 23,200 when nothing is held against the key; see docs/entity-types.md.)
 */
const CEILINGS: readonly (readonly [
  form: BudgetProject['form'],
  names: 'shared' | 'distinct',
  mode: string,
  Uses,
])[] = [
  ['classes', 'shared', 'experimentalDecorators', uses(BUDGET, BUDGET, BUDGET, 32_300)],
  ['classes', 'shared', 'standard decorators', uses(BUDGET, BUDGET, BUDGET, 32_450)],
  ['classes', 'distinct', 'experimentalDecorators', uses(26_000, 32_150, 42_250, 51_900)],
  ['classes', 'distinct', 'standard decorators', uses(19_750, 25_950, 36_050, 45_700)],
  ['defineEntity', 'shared', 'standard decorators', uses(BUDGET, 32_000, 44_300, 58_000)],
  ['defineEntity', 'distinct', 'standard decorators', uses(48_100, 58_750, 71_600, 85_600)],
];

function uses(declared: number, getAndPut: number, find: number, select: number): Uses {
  return { declared, getAndPut, find, select };
}

const counted = new Map<string, Promise<number>>();

/** What a project costs. Tests that ask for the same one compile it once. */
function instantiationsOf(project: BudgetProject, options: readonly string[]): Promise<number> {
  const id = JSON.stringify([project, options]);
  const known = counted.get(id) ?? count(project, options);
  counted.set(id, known);
  return known;
}

async function count(project: BudgetProject, options: readonly string[]): Promise<number> {
  const { form, use, inferCodecs, sharedNames, keys = 'key' } = project;
  const name = `${form}-${use}-${inferCodecs}-${sharedNames}-${keys}.ts`;
  const file = write(`budget/${name}`, budgetProject(project));
  const { output } = await tsc(...STRICT, ...options, '--extendedDiagnostics', file);
  expect(output).not.toContain('error');
  return Number(/Instantiations:\s+(\d+)/.exec(output)![1]);
}

/** Those of distinct names are the dearest: the others are of the longer runs. */
const MEASURED = scaled(
  CEILINGS.filter(([, names, mode]) => names === 'distinct' && mode === 'standard decorators'),
  CEILINGS,
  CEILINGS,
);

describe.each(MEASURED)('100 entities as %s with %s names, %s', (form, names, mode, ceilings) => {
  const options = MODES.find(([name]) => name === mode)![1];
  const inferCodecs = mode === 'experimentalDecorators';

  // What is done last contains the rest.
  it.each(scaled<readonly (typeof USES)[number][]>(['select'], USES, USES))(
    'stay within the budget: %s',
    async (use) => {
      const project = { form, use, inferCodecs, sharedNames: names === 'shared' };
      const instantiations = await instantiationsOf(project, options);
      expect(instantiations).toBeGreaterThan(100);
      expect(instantiations).toBeLessThan(ceilings[use]);
    },
  );
});

describe('a find and a projection of each of 100 entities with distinct names', () => {
  const DISTINCT = CEILINGS.filter(([, names]) => names === 'distinct');
  // The dearest is last.
  it.each(scaled(DISTINCT.slice(-1), DISTINCT, DISTINCT))(
    'cost no more than is had beyond what declares, gets and puts them: %s, %s, %s',
    async (form, _names, mode) => {
      const options = MODES.find(([name]) => name === mode)![1];
      const projectOf = (use: BudgetProject['use']): BudgetProject => ({
        form,
        use,
        inferCodecs: mode === 'experimentalDecorators',
        sharedNames: false,
      });
      const before = await instantiationsOf(projectOf('getAndPut'), options);
      const after = await instantiationsOf(projectOf('select'), options);
      expect(after - before).toBeLessThan(26_800);
    },
  );
});

const indexes = scaled(false, true, true) ? describe : undefined;

indexes?.('an index of each of 100 classes, over as many parts as the key has', () => {
  const options = MODES.find(([name]) => name === 'standard decorators')![1];
  const measure = (use: BudgetProject['use'], keys?: BudgetProject['keys']): Promise<number> =>
    instantiationsOf(
      { form: 'classes', inferCodecs: false, sharedNames: false, use, ...(keys && { keys }) },
      options,
    );

  it('stays within what is had, declared and asked', async () => {
    expect(await measure('find', 'asked')).toBeLessThan(70_600);
  });

  for (const keys of ['index', 'asked'] as const) {
    it(`costs the compiler no more than the key: ${keys === 'index' ? 'declared' : 'declared and asked'}`, async () => {
      const use = keys === 'index' ? 'declared' : 'find';
      const [none, key] = [await measure('declared', 'none'), await measure(use)];
      expect((await measure(use, keys)) - key).toBeLessThanOrEqual(key - none);
    });
  }
});
