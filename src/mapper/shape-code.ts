/**
 * The functions that make and take apart the objects of one shape, generated as source once per entity: all objects of
 * an entity have one hidden class, and every property access is monomorphic. (A runtime that forbids generating code
 * cannot load the Avro library either, so there is no other way beside this one.)
 */

import { initialOf, type ObjectShape, type ShapeCode, slotsOf } from './shape.js';

/** Source of the pieces that functions over one shape are made of. */
export interface ShapeSource {
  /** What `prototypes` must be where the source runs. */
  readonly prototypes: object[];
  /** Definitions of H0, which makes the whole object, and of the embedded ones. */
  readonly constructors: string[];
  /** By slot: what the column's value is assigned to, with the object in `o`. */
  readonly places: Map<number, string>;
  /** Statements that read every column's value of `o` into a variable: `v` with the column's slot. */
  readonly reads: string[];
}

export function shapeSource(shape: ObjectShape): ShapeSource {
  const source: ShapeSource = { prototypes: [], constructors: [], places: new Map(), reads: [] };
  addShape(shape, source, 'o', '', (property) => `o[${property}]`);
  return source;
}

/** The functions of a shape. */
export function shapeCode(shape: ObjectShape): ShapeCode {
  const parts = shapeSource(shape);
  const assigns = [...parts.places].map(([slot, place]) => `    case ${slot}: ${place} = v; return;`);
  const source = `'use strict';
${parts.constructors.join('\n')}
return {
  create() { return new H0(); },
  assign(o, slot, v) { switch (slot) {
${assigns.join('\n')}
  } },
};`;
  const make = new Function('prototypes', source) as (prototypes: readonly object[]) => ShapeCode;
  return make(parts.prototypes);
}

const INITIAL = { undefined: 'undefined', map: 'new Map()', list: '[]' } as const;

/** `read` is the variable that holds the object while reading; `target` the expression that has or makes it. */
function addShape(
  shape: ObjectShape,
  parts: ShapeSource,
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
      parts.places.set(property.slot, target(name));
      parts.reads.push(`    v${property.slot} = ${read}[${name}];`);
    } else if (property.kind === 'embedded') {
      addEmbedded(property.shape, property.name, parts, read, path, target(name));
    }
  }
  return number;
}

function addEmbedded(
  shape: ObjectShape,
  name: string,
  parts: ShapeSource,
  read: string,
  path: string,
  place: string,
): void {
  const number = parts.prototypes.length;
  const variable = `e${number}`;
  const property = path === '' ? name : `${path}.${name}`;
  const absent = slotsOf(shape).map((slot) => `v${slot} = ${variable};`);
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
