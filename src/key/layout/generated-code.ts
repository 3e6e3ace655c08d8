import { generated } from '../../codegen/generated.js';
import type { KeyWriter } from '../codecs/index.js';
import { type KeyValues, partError, requirePresent } from './conditions.js';
import type { Step } from './step.js';

/**
 * Writes keys by a function generated for the layout, as `decoder-code.ts` reads them: each part is taken from its own
 * property and written by its own codec.
 */

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

/** A part that stands in the key as its codec writes it is written here, any other by its step. */
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

/**
 * Reads keys by a function generated for the layout: each part is read by its own codec and assigned to its own
 * property, so that the machine code of the hot path has no call that it cannot see through. Rows that follow each other
 * mostly have their first texts in common, so the last text of each part is kept with its bytes.
 */

/** Reads a row from its start into `target`; gives the end of what it has read. @throws KeyError naming the part. */
export type StepsReader = (row: Uint8Array, target: Record<string, unknown>) => number;

/** The bytes of a part, its end included, that were read last, and the text that they are. */
class LastText {
  private readonly bytes = new Uint8Array(LONGEST_KEPT);
  length = 0;
  value = '';

  /** Whether the row goes on with these bytes at `at`. */
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

/** A part that stands in the key as its codec writes it is read here, any other by its step. */
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
