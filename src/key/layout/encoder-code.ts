/**
 * Writes keys by a function generated for the layout, as `decoder-code.ts` reads them: each part is taken from its own
 * property and written by its own codec.
 */

import { generated } from '../../codegen/index.js';
import type { KeyWriter } from '../codecs/index.js';
import { type KeyValues, partError, requirePresent } from './part-values.js';
import type { Step } from './step.js';

/** Appends a key; `ends` takes where each step's bytes end. @throws KeyError naming the part. */
export type StepsWriter = (values: KeyValues, out: KeyWriter, ends: Int32Array) => void;

/** The generated writer of all steps of a layout. */
export function generateStepsWriter(steps: readonly Step[]): StepsWriter {
  const locals = steps.map(
    ({ inline }, i) => `const s${i} = steps[${i}]${inline ? `, c${i} = s${i}.codec` : ''};`,
  );
  const body = `${locals.join('\n')}
return function writeSteps(values, out, ends) {
  let start = 0, part, value;
  try {
${steps.map(stepSource).join('\n')}
  } catch (cause) {
    throw part === undefined ? cause : failure(part, value, cause);
  }
};`;
  return generated({ steps, requirePresent, failure: partError }, body, () => plainWriter(steps));
}

function plainWriter(steps: readonly Step[]): StepsWriter {
  return (values, out, ends) => {
    steps.forEach((step, i) => {
      step.encode(values, out);
      ends[i] = out.length;
    });
  };
}

/** A part that stands in the key as its codec writes it is written here, any other by its step. */
function stepSource({ inline }: Step, index: number): string {
  const end = `    ends[${index}] = out.length;`;
  if (!inline?.writable) return `    s${index}.encode(values, out);\n${end}`;
  const name = JSON.stringify(inline.name);
  return `    value = requirePresent(${name}, values[${name}]);
    start = out.length;
    part = ${name};
    c${index}.write(value, out);
    part = undefined;
${inline.framed ? `    s${index}.frame(start, out);\n` : ''}${end}`;
}
