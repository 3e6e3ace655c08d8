import { generated } from '../codegen/generated.js';
import { InvalidArgumentError } from '../errors.js';
import type { KeyLayout } from '../key/types.js';
import type { ColumnSchema, EmbeddedSchema, EntityClass, EntitySchema, TimeToLive } from '../schema/types.js';
import { describe } from '../table/checks.js';

/** How an entity's key parts and columns lie in its objects: a tree of properties, each with a slot. */

/** What the mapper needs of an entity. */
export interface MappedEntity {
  readonly name: string;
  readonly target: EntityClass;
  readonly tableName: string;
  readonly key: KeyLayout;
  /** In the order of family and qualifier. */
  readonly columns: readonly ColumnSchema[];
  readonly embedded: readonly EmbeddedSchema[];
  readonly marker: EntitySchema['marker'];
  readonly timeToLive: TimeToLive;
  readonly relations: EntitySchema['relations'];
}

/** One property of an object. A slot is the index of a column in `MappedEntity.columns`. */
export type ShapeProperty =
  | { readonly kind: 'key'; readonly name: string }
  /** The part of the key that a row's span of time is of: its start. */
  | { readonly kind: 'window'; readonly name: string }
  | {
      readonly kind: 'column';
      readonly name: string;
      readonly slot: number;
      /** What the property holds before a cell was read. */
      readonly initial: 'undefined' | 'map' | 'list';
    }
  | { readonly kind: 'embedded'; readonly name: string; readonly shape: ObjectShape };

export interface ObjectShape {
  readonly target: EntityClass;
  /** The key's parts first, then columns and embedded objects as they were declared. */
  readonly properties: readonly ShapeProperty[];
}

/** What makes the objects of one shape. */
export interface ShapeCode {
  /** A new object with every property undefined. No constructor of the user's runs. */
  create(): object;
  /** Sets the property of a column; makes the embedded objects on the way. */
  assign(entity: object, slot: number, value: unknown): void;
}

/** The shape of an entity with the columns that `wanted` keeps; all by default. */
export function shapeOf(
  entity: MappedEntity,
  wanted: (column: ColumnSchema) => boolean = () => true,
): ObjectShape {
  const windows = new Set(entity.columns.map((column) => column.window?.part));
  const properties: ShapeProperty[] = entity.key.parts
    .filter((part) => part.recoverable || windows.has(part.name))
    .map(({ name }) => ({ kind: windows.has(name) ? 'window' : 'key', name }));
  const keyNames = new Set(entity.key.parts.map((part) => part.name));
  const chosen = entity.columns
    .map((column, slot) => ({ column, slot }))
    .filter(({ column }) => wanted(column) || keyNames.has(column.property))
    .sort((a, b) => a.column.order - b.column.order);
  const columns = propertiesAt(entity, chosen, 0);
  return { target: entity.target, properties: [...properties, ...columns] };
}

interface Placed {
  readonly column: ColumnSchema;
  readonly slot: number;
}

function propertiesAt(entity: MappedEntity, placed: readonly Placed[], depth: number): ShapeProperty[] {
  const properties: ShapeProperty[] = [];
  const done = new Set<string>();
  for (const { column, slot } of placed) {
    const name = column.path[depth]!;
    if (done.has(name)) continue;
    done.add(name);
    if (column.path.length === depth + 1) {
      properties.push({ kind: 'column', name, slot, initial: initialKind(column) });
      continue;
    }
    const inner = placed.filter((other) => other.column.path[depth] === name);
    const property = column.path.slice(0, depth + 1).join('.');
    const embedded = entity.embedded.find((candidate) => candidate.property === property);
    const shape: ObjectShape = {
      target: embedded?.target ?? Object,
      properties: propertiesAt(entity, inner, depth + 1),
    };
    properties.push({ kind: 'embedded', name, shape });
  }
  return properties;
}

function initialKind({ kind }: ColumnSchema): 'undefined' | 'map' | 'list' {
  return kind === 'columns' ? 'map' : kind === 'versions' ? 'list' : 'undefined';
}

/** What a property of a new object holds. */
export function initialOf(property: ShapeProperty): 'undefined' | 'map' | 'list' {
  return property.kind === 'column' ? property.initial : 'undefined';
}

/** The slots of all columns under a shape. */
export function slotsOf(shape: ObjectShape): number[] {
  return shape.properties.flatMap((property) =>
    property.kind === 'column'
      ? [property.slot]
      : property.kind === 'embedded'
        ? slotsOf(property.shape)
        : [],
  );
}

/** @throws InvalidArgumentError: an embedded property holds something that is no object. */
export function refuseEmbedded(property: string, value: unknown): never {
  throw new InvalidArgumentError(
    `Property "${property}" holds an embedded object, not ${describe(value)}. Give an object, or null to delete it.`,
    { details: { property } },
  );
}

/**
 * The functions that make and take apart the objects of one shape, generated as source once per entity: all objects of
 * an entity have one hidden class, and every property access is monomorphic. Beside them stands the plain form, for
 * runtimes that forbid generating code.
 */

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
