import { generated } from '../codegen/generated.js';
import { InvalidArgumentError } from '../errors.js';
import type { KeyLayout } from '../key/types.js';
import type { ColumnSchema, EmbeddedSchema, EntityClass, EntitySchema, TimeToLive } from '../schema/types.js';
import { describe } from '../table/checks.js';

// — Shapes: the layout of key parts and columns in objects, as a tree of properties with slots.

/** The part of an entity's schema that the mapper uses. */
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

/** A property of an object. A slot is an index into `MappedEntity.columns`. */
export type ShapeProperty =
  | { readonly kind: 'key'; readonly name: string }
  /** The start of the row's time bucket, which is a key part. */
  | { readonly kind: 'window'; readonly name: string }
  | {
      readonly kind: 'column';
      readonly name: string;
      readonly slot: number;
      /** The value of the property before a cell is read. */
      readonly initial: 'undefined' | 'map' | 'list';
    }
  | { readonly kind: 'embedded'; readonly name: string; readonly shape: ObjectShape };

export interface ObjectShape {
  readonly target: EntityClass;
  /** Key parts first, then columns and embedded objects in order of declaration. */
  readonly properties: readonly ShapeProperty[];
}

/** The functions of one shape. */
export interface ShapeCode {
  /** Creates an object with every property undefined. No user-defined constructor runs. */
  create(): object;
  /** Sets the property of a column. Creates embedded objects on the way. */
  assign(entity: object, slot: number, value: unknown): void;
}

/** The shape of an entity with the columns that `wanted` selects. Default: all. */
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

/** The initial value of a property. */
function initialOf(property: ShapeProperty): 'undefined' | 'map' | 'list' {
  return property.kind === 'column' ? property.initial : 'undefined';
}

/** The slots of all columns of a shape. */
export function slotsOf(shape: ObjectShape): number[] {
  return shape.properties.flatMap((property) =>
    property.kind === 'column'
      ? [property.slot]
      : property.kind === 'embedded'
        ? slotsOf(property.shape)
        : [],
  );
}

/** @throws InvalidArgumentError: the value of an embedded property is no object. */
export function refuseEmbedded(property: string, value: unknown): never {
  throw new InvalidArgumentError(
    `Property "${property}" holds an embedded object, not ${describe(value)}. Give an object, or null to delete it.`,
    { details: { property } },
  );
}

// — Generates the functions that create and read objects of one shape, once per entity: all objects of an entity have
// one hidden class, and property access is monomorphic. Beside them is the same without generated code, for runtimes
// that forbid it.

/** Pieces of source for functions over one shape. */
interface ShapeSource {
  /** The value of `prototypes` in the scope of the source. */
  readonly prototypes: object[];
  /** Definitions of H0, which creates the whole object, and of the constructors of embedded ones. */
  readonly constructors: string[];
  /** By slot: the expression that the column's value is assigned to, with the object in `o`. */
  readonly places: Map<number, string>;
  /** Statements that read every column of `o` into a variable `v` with the column's slot. */
  readonly reads: string[];
}

export function shapeSource(shape: ObjectShape): ShapeSource {
  const source: ShapeSource = { prototypes: [], constructors: [], places: new Map(), reads: [] };
  addShape(shape, source, 'o', '', (property) => `o[${property}]`);
  return source;
}

/** The functions of a shape, generated or not. */
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

/** The path to a slot's value, with the shapes of the objects on the way. */
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

/** The value of every column of an object by slot, like the statements of `ShapeSource.reads`. */
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

/** `read`: the variable that holds the object when reading. `target`: the expression that has or creates it. */
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
