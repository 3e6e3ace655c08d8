/**
 * Reads keys by a function generated for the layout: each part is read by its own codec and assigned to its own
 * property, so that the machine code of the hot path has no call that it cannot see through.
 */

import { FieldStep } from './field-step.js';
import { partError, type Step } from './step.js';

/** Reads a row from its start into `target`; gives the end of what it has read. @throws KeyError naming the part. */
export type StepsReader = (row: Uint8Array, target: Record<string, unknown>) => number;

export function generateStepsReader(steps: readonly Step[]): StepsReader {
  const locals = steps.map((_, i) => `const s${i} = steps[${i}], c${i} = s${i}.codec;`);
  const make = new Function(
    'steps',
    'failure',
    `'use strict';
${locals.join('\n')}
return function readSteps(row, o) {
  let at = 0, end = 0, part;
  try {
${steps.map(stepSource).join('\n')}
  } catch (cause) {
    throw part === undefined ? cause : failure(part, undefined, cause);
  }
  return at;
};`,
  ) as (...given: unknown[]) => StepsReader;
  return make(steps, partError);
}

/** A part that stands in the key as its codec writes it is read here, any other by its step. */
function stepSource(step: Step, index: number): string {
  const bySelf = `at = s${index}.decode(row, at, o);`;
  if (!(step instanceof FieldStep) || step.inverted) return `    ${bySelf}`;
  const name = JSON.stringify(step.name);
  const { endLength } = step;
  return `    end = s${index}.endAt(row, at);
    if (end < 0 || s${index}.hasEscapes) ${bySelf}
    else {
      part = ${name};
      o[${name}] = c${index}.read(row, at, end);
      part = undefined;
      at = end${endLength === 0 ? '' : ` + ${endLength}`};
    }`;
}
