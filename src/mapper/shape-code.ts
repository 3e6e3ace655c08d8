/**
 * The functions that make and take apart the objects of one shape, generated as source once per entity: all objects of
 * an entity have one hidden class, and every property access is monomorphic. Beside them stands the plain form, for
 * runtimes that forbid generating code.
 */

import { generated } from '../codegen/index.js';
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
  const body = `${parts.constructors.join('\n')}
return {
  create() { return new H0(); },
  assign(o, slot, v) { switch (slot) {
${assigns.join('\n')}
  } },
};`;
  return generated({ prototypes: parts.prototypes }, body, () => plainShape(shape));
}

/** The path of properties to each slot's value, with the shapes of the objects on the way. */
interface PlainPlace {
  readonly name: string;
  readonly outer: readonly { readonly name: string; readonly shape: ObjectShape }[];
}

function plainShape(shape: ObjectShape): ShapeCode {
  const places = new Map<number, PlainPlace>();
  addPlaces(shape, [], places);
  return {
    create: () => plainObject(shape),
    assign(entity, slot, value) {
      const { name, outer } = places.get(slot)!;
      let target = entity as Record<string, unknown>;
      for (const step of outer) {
        target[step.name] ??= plainObject(step.shape);
        target = target[step.name] as Record<string, unknown>;
      }
      target[name] = value;
    },
  };
}

function addPlaces(shape: ObjectShape, outer: PlainPlace['outer'], into: Map<number, PlainPlace>): void {
  for (const property of shape.properties) {
    if (property.kind === 'column') into.set(property.slot, { name: property.name, outer });
    else if (property.kind === 'embedded') addPlaces(property.shape, [...outer, property], into);
  }
}

function plainObject({ target, properties }: ObjectShape): object {
  const object = Object.create(target.prototype as object) as Record<string, unknown>;
  for (const property of properties) {
    const initial = initialOf(property);
    object[property.name] = initial === 'map' ? new Map() : initial === 'list' ? [] : undefined;
  }
  return object;
}

/** Every column's value of an object by its slot, as the statements of `ShapeSource.reads` take them. */
export function readPlainly(shape: ObjectShape, source: object, refuse: Refuse): unknown[] {
  const values: unknown[] = [];
  collectValues(shape, source as Record<string, unknown>, '', values, refuse);
  return values;
}

type Refuse = (property: string, value: unknown) => void;

function collectValues(
  shape: ObjectShape,
  source: Readonly<Record<string, unknown>>,
  path: string,
  values: unknown[],
  refuse: Refuse,
): void {
  for (const property of shape.properties) {
    const value = source[property.name];
    if (property.kind === 'column') values[property.slot] = value;
    if (property.kind !== 'embedded') continue;
    const at = path === '' ? property.name : `${path}.${property.name}`;
    if (value === undefined || value === null) {
      for (const slot of slotsOf(property.shape)) values[slot] = value;
    } else {
      if (typeof value !== 'object') refuse(at, value);
      collectValues(property.shape, value as Record<string, unknown>, at, values, refuse);
    }
  }
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
