/** How an entity's key parts and columns lie in its objects: a tree of properties, each with a slot. */

import { InvalidArgumentError } from '../errors.js';
import type { KeyLayout } from '../key/types.js';
import type { ColumnSchema, EmbeddedSchema, EntityClass, EntitySchema, TimeToLive } from '../schema/types.js';

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
    `Property "${property}" holds an embedded object, not ${typeof value} ${String(value)}. Give an object, or null to delete it.`,
    { details: { property } },
  );
}
