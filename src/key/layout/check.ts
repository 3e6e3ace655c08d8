/** Holding rows to what the byte ranges could not decide. */

import { type OrderedConditions, valueTests } from './conditions.js';
import type { StepTest } from './step.js';
import type { SteppedLayout } from './stepped-layout.js';

/** A check of whole rows: layout, record type and every condition. */
export function rowCheck(layout: SteppedLayout, asked: OrderedConditions): (row: Uint8Array) => boolean {
  const tests = [...valueTests(layout.parts, asked)];
  const stepTests = layout.steps.map((step) => step.testOf(asked));
  const hasStepTests = stepTests.some((test) => test !== undefined);
  return (row) => {
    if (!layout.matches(row)) return false;
    if (hasStepTests && !passes(layout, stepTests, row)) return false;
    if (tests.length === 0) return true;
    const values = layout.decode(row);
    return tests.every(([name, test]) => test(values[name]));
  };
}

function passes(layout: SteppedLayout, tests: readonly (StepTest | undefined)[], row: Uint8Array): boolean {
  let at = 0;
  return layout.steps.every((step, i) => {
    const start = at;
    at = step.skip(row, start);
    return tests[i]?.(row, start, at) ?? true;
  });
}
