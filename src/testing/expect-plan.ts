/** Holds the plan of a query to what a test expects of it. */

import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import { InvalidArgumentError } from '../errors.js';
import type { Explanation, QueryExplanation } from '../query/index.js';

/**
 * What is expected of a plan: any fields of `explain()`, with `filters` in part too, and `ranges` also as their number.
 * Fields that are left out may be anything.
 */
export interface PlanExpectation extends Partial<Omit<QueryExplanation, 'filters' | 'ranges'>> {
  readonly filters?: Partial<QueryExplanation['filters']>;
  readonly ranges?: number | QueryExplanation['ranges'];
}

/**
 * Throws unless the query would be run as expected: nothing is read, and no server is asked. A test so holds that a
 * query stays one range with its conditions pushed to the engine when keys and conditions change.
 *
 * @example
 * ```ts
 * expectPlan(orders.find({ customerId: 'c1' }).where({ status: 'open' }), { kind: 'range', filters: { local: [] } });
 * ```
 * @throws AssertionError of node:assert, which every test runner shows; its message has the whole plan.
 * InvalidArgumentError when the expectation names no field of a plan.
 */
export function expectPlan(query: { explain(): Explanation }, expected: PlanExpectation): void {
  const explanation = query.explain();
  const plan = explanation as QueryExplanation & Readonly<Record<string, unknown>>;
  const wrong: string[] = [];
  for (const [field, wanted] of Object.entries(expected)) {
    if (wanted === undefined) continue;
    if (!(field in plan)) {
      throw new InvalidArgumentError(
        `expectPlan: a plan has no field "${field}". It has ${Object.keys(plan).join(', ')}.`,
      );
    }
    if (field === 'ranges' && typeof wanted === 'number')
      compare('ranges.length', plan.ranges.length, wanted);
    else if (field === 'filters') {
      for (const [kind, filters] of Object.entries(wanted as Record<string, unknown>)) {
        compare(`filters.${kind}`, (plan.filters as Record<string, unknown>)[kind], filters);
      }
    } else compare(field, plan[field], wanted);
  }
  if (wrong.length === 0) return;
  throw new AssertionError({
    message: `The plan is not as expected.\n${wrong.join('\n')}\n\n${String(explanation)}`,
    actual: plan,
    expected,
    stackStartFn: expectPlan,
  });

  function compare(field: string, actual: unknown, wanted: unknown): void {
    if (isDeepStrictEqual(actual, wanted)) return;
    wrong.push(`  ${field}: expected ${JSON.stringify(wanted)}, the plan has ${JSON.stringify(actual)}`);
  }
}
