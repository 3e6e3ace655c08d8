/**
 * The functions that write and read the keys of one layout, generated for it: each part has its own codec and property in
 * the code, so that the JIT compiler can inline every call. Where code may not be generated, the steps do the same one by one.
 */

import { generated } from '../../codegen/generated.js';
import type { KeyWriter } from '../codecs/index.js';
import { type KeyValues, partError, requirePresent } from './conditions.js';
import type { Step } from './step.js';

/** Appends a key and stores the end of each step's bytes in `ends`. @throws KeyError naming the part. */
export type StepsWriter = (values: KeyValues, out: KeyWriter, ends: Int32Array) => void;

export function generateStepsWriter(steps: readonly Step[]): StepsWriter {
  const locals = steps.map(
    ({ inline }, i) => `const s${i} = steps[${i}]${inline ? `, c${i} = s${i}.codec` : ''};`,
  );
  const body = `${locals.join('\n')}
return function writeSteps(values, out, ends) {
  let start = 0, part, value;
  try {
${steps.map(encodeSource).join('\n')}
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

/** Generated code writes a part that is stored as its codec writes it; other parts are written by their step. */
function encodeSource({ inline }: Step, index: number): string {
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

/** Reads a row from its start into `target`; returns the end of the bytes read. @throws KeyError naming the part. */
export type StepsReader = (row: Uint8Array, target: Record<string, unknown>) => number;

/** The bytes of a part that were read last, including the terminator, and their text: neighboring rows mostly share their first texts. */
class LastText {
  private readonly bytes = new Uint8Array(LONGEST_KEPT);
  length = 0;
  value = '';

  /** Whether the row has these bytes at `at`. */
  isAt(row: Uint8Array, at: number): boolean {
    const { length, bytes } = this;
    if (length === 0 || at + length > row.length) return false;
    for (let i = length - 1; i >= 0; i--) if (bytes[i] !== row[at + i]) return false;
    return true;
  }

  keep(value: unknown, row: Uint8Array, at: number, end: number): void {
    const length = end - at;
    if (typeof value !== 'string' || length > LONGEST_KEPT) {
      this.length = 0;
      return;
    }
    for (let i = 0; i < length; i++) this.bytes[i] = row[at + i]!;
    this.length = length;
    this.value = value;
  }
}

const LONGEST_KEPT = 64;

export function generateStepsReader(steps: readonly Step[]): StepsReader {
  const locals = steps.map(
    ({ inline }, i) =>
      `const s${i} = steps[${i}]${inline ? `, c${i} = s${i}.codec, last${i} = lasts[${i}]` : ''};`,
  );
  const body = `${locals.join('\n')}
return function readSteps(row, o) {
  let at = 0, end = 0, part;
  try {
${steps.map(decodeSource).join('\n')}
  } catch (cause) {
    throw part === undefined ? cause : failure(part, undefined, cause);
  }
  return at;
};`;
  const lasts = steps.map(() => new LastText());
  return generated({ steps, lasts, failure: partError }, body, () => plainReader(steps));
}

function plainReader(steps: readonly Step[]): StepsReader {
  return (row, target) => {
    let at = 0;
    for (const step of steps) at = step.decode(row, at, target);
    return at;
  };
}

/** Generated code reads a part that is stored as its codec writes it; other parts are read by their step. */
function decodeSource({ inline }: Step, index: number): string {
  const bySelf = `at = s${index}.decode(row, at, o);`;
  if (inline === undefined) return `    ${bySelf}`;
  const property = `o[${JSON.stringify(inline.name)}]`;
  const { endLength } = inline;
  const read = `
      part = ${JSON.stringify(inline.name)};
      ${property} = c${index}.read(row, at, end);
      part = undefined;`;
  const find = `end = s${index}.endAt(row, at);
    if (end < 0 || s${index}.hasEscapes) ${bySelf}`;
  if (endLength === 0) return `    ${find}\n    else {${read}\n      at = end;\n    }`;
  return `    if (last${index}.isAt(row, at)) {
      ${property} = last${index}.value;
      at += last${index}.length;
    } else {
    ${find}
    else {${read}
      end += ${endLength};
      last${index}.keep(${property}, row, at, end);
      at = end;
    }
    }`;
}
