/** Holding rows to what the byte ranges could not decide. */

import { compareBytes } from '../../bytes/index.js';
import { KeyWriter } from '../codecs/index.js';
import { combinations, type OrderedConditions, valueTests } from './conditions.js';
import { HashStep, TimeBucketStep } from './derived-steps.js';
import type { CompiledLayout } from './layout.js';

/** Whether the bytes of a step meet the conditions. */
type StepTest = (row: Uint8Array, start: number, end: number) => boolean;

/** A check of whole rows: layout, record type and every condition. */
export function rowCheck(layout: CompiledLayout, asked: OrderedConditions): (row: Uint8Array) => boolean {
  const tests = [...valueTests(layout.parts, asked)];
  const stepTests = layout.steps.map((step) => stepTest(step, asked));
  const hasStepTests = stepTests.some((test) => test !== undefined);
  return (row) => {
    if (!layout.matches(row)) return false;
    if (hasStepTests && !passes(layout, stepTests, row)) return false;
    if (tests.length === 0) return true;
    const values = layout.decode(row);
    return tests.every(([name, test]) => test(values[name]));
  };
}

function passes(layout: CompiledLayout, tests: readonly (StepTest | undefined)[], row: Uint8Array): boolean {
  let at = 0;
  return layout.steps.every((step, i) => {
    const start = at;
    at = step.skip(row, start);
    return tests[i]?.(row, start, at) ?? true;
  });
}

/** Digests give no value back: their bytes are held to those of the values asked for. */
function stepTest(step: unknown, asked: OrderedConditions): StepTest | undefined {
  if (step instanceof TimeBucketStep && !step.derived && asked.span?.name === step.name) {
    return bucketTest(step, asked);
  }
  if (!(step instanceof HashStep || step instanceof TimeBucketStep) || step.derived) return undefined;
  const names = step instanceof HashStep ? step.sources.map(({ name }) => name) : [step.name];
  const fixed = names.map((name) => [name, asked.fixed.get(name)] as const);
  if (fixed.some(([, values]) => values === undefined)) return undefined;
  const out = new KeyWriter(64);
  const wanted = combinations(new Map(fixed as [string, readonly unknown[]][])).map((combo) => {
    out.length = 0;
    step.encode(combo, out);
    return out.copy();
  });
  return (row, start, end) => wanted.some((bytes) => compareBytes(bytes, row.subarray(start, end)) === 0);
}

function bucketTest(step: TimeBucketStep, { span }: OrderedConditions): StepTest | undefined {
  if (span?.condition.kind !== 'range') return undefined;
  const { lower, upper } = span.condition;
  const [first, last] = step.bucketsOf({ lower, upper });
  return (row, start) => {
    const ms = step.startAt(row, start);
    return (first === undefined || ms >= first) && (last === undefined || ms <= last);
  };
}
