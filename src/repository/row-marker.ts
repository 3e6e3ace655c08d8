import { InvalidArgumentError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isRecord } from '../table/checks.js';
import { filters, type Get } from '../table/index.js';
import type { Expectation } from './change.js';
import type { RowImage } from './row-image.js';

type Entity = Record<string, unknown>;

/** Whether soft-deleted entities count as existing. */
export type Counted = 'living' | 'deleted too';

/**
 * The row marker: a cell that records that a row exists. With the column of `@DeletedAt` it tells whether the entity
 * is soft-deleted.
 */
export class RowMarker {
  /** The column of `@DeletedAt`. */
  readonly deletedAt: ColumnSchema | undefined;
  private readonly exists: Expectation;
  private readonly living: readonly Expectation[];

  constructor(private readonly schema: EntitySchema) {
    const { marker, columns, deletedProperty } = schema;
    this.deletedAt = columns.find(({ property }) => property === deletedProperty);
    this.exists =
      marker === undefined
        ? { kind: 'filter', filter: filters.firstKeyOnly() }
        : { kind: 'present', family: marker.family, qualifier: marker.qualifier };
    this.living = this.deletedAt === undefined ? [] : [{ ...this.deletedAt, kind: 'absent' }];
  }

  /** Expectations that the entity exists. The first is on the marker. */
  expect(counted: Counted): Expectation[] {
    return counted === 'living' ? [this.exists, ...this.living] : [this.exists];
  }

  /** Adds the columns that `isIn` needs to a get; `marked`: the marker is in it already. */
  addTo(get: Get, marked: boolean): void {
    const { deletedAt } = this;
    const { marker, families } = this.schema;
    if (deletedAt !== undefined && get.families.get(deletedAt.family) !== null)
      get.addColumn(deletedAt.family, deletedAt.qualifier);
    if (marker === undefined) for (const family of families) get.addFamily(family);
    else if (!marked) get.addColumn(marker.family, marker.qualifier);
  }

  /** Whether the row that was read is an existing entity. */
  isIn(image: RowImage, counted: Counted): boolean {
    const { marker } = this.schema;
    if (marker === undefined) return !image.isEmpty;
    if (image.value(marker.family, marker.qualifier) === undefined) return false;
    const { deletedAt } = this;
    if (counted === 'deleted too' || deletedAt === undefined) return true;
    return image.value(deletedAt.family, deletedAt.qualifier) === undefined;
  }

  /** Whether one of these columns decides that an entity is soft-deleted. */
  dependsOn(columns: readonly ColumnSchema[]): boolean {
    return this.deletedAt !== undefined && columns.includes(this.deletedAt);
  }

  /** The entity as not deleted, unless it sets the time of deletion itself. */
  revived(entity: Entity): Entity {
    const property = this.deletedAt?.property;
    if (property === undefined || entity[property] !== undefined) return entity;
    return Object.assign(mutableCopy(entity), { [property]: null });
  }
}

// — Copies of the caller's objects.

/** A changeable object of the same class. */
export function mutableCopy(entity: Entity): Entity {
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object | null) as Entity, entity);
}

/** The object itself if it is an instance of the entity's class, else a new instance with its properties. Runs no constructor. */
export function instanceOf(schema: EntitySchema, entity: Entity): object {
  const prototype = schema.target.prototype as object;
  if (Object.prototype.isPrototypeOf.call(prototype, entity)) return entity;
  return Object.assign(Object.create(prototype) as object, entity);
}

/** The parts of a key: a whole entity may be given as a key. */
function partsOf(schema: EntitySchema, key: Readonly<Entity>): Entity {
  return Object.fromEntries(schema.key.parts.map(({ name }) => [name, key[name]]));
}

/**
 * The object that hooks of updates and deletes get: an instance of the class with the key's parts and the changed
 * properties.
 */
export function draftOf(schema: EntitySchema, key: Readonly<Entity>, patch: Readonly<Entity>): Entity {
  return Object.assign(
    Object.create(schema.target.prototype as object) as Entity,
    partsOf(schema, key),
    patch,
  );
}

/** A function that restores the present values of these properties. */
export function restoring(entity: Entity, properties: readonly string[]): () => void {
  const before = properties.map((property) => entity[property]);
  return () => {
    properties.forEach((property, index) => {
      entity[property] = before[index];
    });
  };
}

/** A copy of the patch, after the hooks and checks of an update. @throws InvalidArgumentError on an invalid patch. */
export async function preparedPatch<P extends object>(
  schema: EntitySchema,
  key: object,
  patch: P,
  now: () => number,
): Promise<P> {
  if (!isRecord(patch)) {
    throw new InvalidArgumentError(
      `${schema.name}.update takes an object with the properties to change, not ${describe(patch)}.`,
      { details: { entity: schema.name } },
    );
  }
  const { beforeUpdate, beforeWrite } = schema.lifecycle;
  let copy: Entity = { ...(patch as Entity) };
  if (beforeUpdate !== undefined) {
    const draft = draftOf(schema, key as Entity, copy);
    await beforeUpdate(draft);
    copy = { ...draft };
    for (const { name } of schema.key.parts) {
      if (copy[name] === (key as Entity)[name] && !(name in patch)) delete copy[name];
    }
  }
  await beforeWrite?.(copy, 'update', now());
  return copy as P;
}

// — Run-time checks of entities, for callers without types.

/** @throws InvalidArgumentError on values that are no object. */
export function checkEntity(
  schema: EntitySchema,
  given: unknown,
  operation: string,
): asserts given is Record<string, unknown> {
  if (isRecord(given)) return;
  throw new InvalidArgumentError(
    `${schema.name}.${operation} takes an entity, or an object with its properties, not ${describe(given)}.`,
    { details: { entity: schema.name } },
  );
}

/** @throws InvalidArgumentError where a required column has no value. */
export function checkRequired(
  schema: EntitySchema,
  columns: readonly ColumnSchema[],
  entity: Readonly<Record<string, unknown>>,
): void {
  for (const { property } of columns) {
    const value = entity[property];
    if (value !== undefined && value !== null) continue;
    // `insert` and `upsert` have set the defaults by now.
    const advice = schema.lifecycle.stamped.includes(property)
      ? 'put sets no defaults of columns. Give it a value, or use insert or upsert.'
      : 'Give it a value, or declare it optional.';
    throw new InvalidArgumentError(
      `${schema.name}.${property} is required, and is ${String(value)}. ${advice}`,
      { details: { entity: schema.name, property } },
    );
  }
}
