/**
 * The functions that make and take apart the objects of one shape. They are generated as source once per entity, so
 * that objects of an entity all have one hidden class and every property access is monomorphic; where the runtime
 * forbids generating code (`--disallow-code-generation-from-strings`) the same functions walk the shape.
 */

import { initialOf, type ObjectShape, refuseEmbedded, type ShapeCode, slotsOf } from './shape.js';
import { interpretShape } from './shape-interpreter.js';

/** Whether this runtime lets source become functions. */
export const canGenerate: boolean = probe();

function probe(): boolean {
  try {
    return (new Function('return true') as () => boolean)();
  } catch {
    return false;
  }
}

export function shapeCode(shape: ObjectShape): ShapeCode {
  return canGenerate ? generate(shape) : interpretShape(shape);
}

interface Parts {
  readonly prototypes: object[];
  readonly constructors: string[];
  readonly assigns: string[];
  readonly reads: string[];
}

function generate(shape: ObjectShape): ShapeCode {
  const parts: Parts = { prototypes: [], constructors: [], assigns: [], reads: [] };
  addShape(shape, parts, 'o', '', (property) => `o[${property}]`);
  const source = `'use strict';
${parts.constructors.join('\n')}
return {
  create() { return new H0(); },
  assign(o, slot, v) { switch (slot) {
${parts.assigns.join('\n')}
  } },
  read(o, out) {
${parts.reads.join('\n')}
  },
};`;
  const make = new Function('prototypes', 'refuse', source) as (
    prototypes: readonly object[],
    refuse: typeof refuseEmbedded,
  ) => ShapeCode;
  return make(parts.prototypes, refuseEmbedded);
}

const INITIAL = { undefined: 'undefined', map: 'new Map()', list: '[]' } as const;

/** `read` is the variable that holds the object while reading; `target` the expression that has or makes it. */
function addShape(
  shape: ObjectShape,
  parts: Parts,
  read: string,
  path: string,
  target: (property: string) => string,
): number {
  const number = parts.prototypes.length;
  parts.prototypes.push(shape.target.prototype as object);
  parts.constructors.push('');
  const fields = shape.properties.map(
    (property) => `this[${JSON.stringify(property.name)}] = ${INITIAL[initialOf(property)]};`,
  );
  parts.constructors[number] =
    `function H${number}() { ${fields.join(' ')} }\nH${number}.prototype = prototypes[${number}];`;
  for (const property of shape.properties) {
    const name = JSON.stringify(property.name);
    if (property.kind === 'column') {
      parts.assigns.push(`    case ${property.slot}: ${target(name)} = v; return;`);
      parts.reads.push(`    out[${property.slot}] = ${read}[${name}];`);
    } else if (property.kind === 'embedded') {
      addEmbedded(property.shape, property.name, parts, read, path, target(name));
    }
  }
  return number;
}

function addEmbedded(
  shape: ObjectShape,
  name: string,
  parts: Parts,
  read: string,
  path: string,
  place: string,
): void {
  const number = parts.prototypes.length;
  const variable = `e${number}`;
  const property = path === '' ? name : `${path}.${name}`;
  const absent = slotsOf(shape).map((slot) => `out[${slot}] = ${variable};`);
  parts.reads.push(
    `    const ${variable} = ${read}[${JSON.stringify(name)}];`,
    `    if (${variable} === undefined || ${variable} === null) { ${absent.join(' ')} }`,
    `    else { if (typeof ${variable} !== 'object') refuse(${JSON.stringify(property)}, ${variable});`,
  );
  addShape(
    shape,
    parts,
    variable,
    property,
    (inner) => `(${place} === undefined ? (${place} = new H${number}()) : ${place})[${inner}]`,
  );
  parts.reads.push('    }');
}
