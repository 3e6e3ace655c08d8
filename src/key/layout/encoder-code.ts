/**
 * Writes keys by a function generated for the layout, as `decoder-code.ts` reads them: each part is taken from its own
 * property and written by its own codec.
 */

import type { KeyWriter } from '../codecs/index.js';
import { FieldStep } from './field-step.js';
import { type KeyValues, partError, requirePresent, type Step } from './step.js';

/** Appends a key; `ends` takes where each step's bytes end. @throws KeyError naming the part. */
export type StepsWriter = (values: KeyValues, out: KeyWriter, ends: Int32Array) => void;

/** The generated writer of all steps of a layout. */
export function generateStepsWriter(steps: readonly Step[]): StepsWriter {
  const locals = steps.map((_, i) => `const s${i} = steps[${i}], c${i} = s${i}.codec;`);
  const make = new Function(
    'steps',
    'requirePresent',
    'failure',
    `'use strict';
${locals.join('\n')}
return function writeSteps(values, out, ends) {
  let start = 0, part, value;
  try {
${steps.map(stepSource).join('\n')}
  } catch (cause) {
    throw part === undefined ? cause : failure(part, value, cause);
  }
};`,
  ) as (...given: unknown[]) => StepsWriter;
  return make(steps, requirePresent, partError);
}

/** A part that stands in the key as its codec writes it is written here, any other by its step. */
function stepSource(step: Step, index: number): string {
  const end = `    ends[${index}] = out.length;`;
  if (!(step instanceof FieldStep) || step.inverted || step.codec.framing === 'separated') {
    return `    s${index}.encode(values, out);\n${end}`;
  }
  const name = JSON.stringify(step.name);
  return `    value = requirePresent(${name}, values[${name}]);
    start = out.length;
    part = ${name};
    c${index}.write(value, out);
    part = undefined;
${step.endLength === 0 ? '' : `    s${index}.frame(start, out);\n`}${end}`;
}
