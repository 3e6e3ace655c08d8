/** The entities, keys and patches that callers pass to writes: copies of them, drafts for hooks, and checks for callers without types. */

import { InvalidArgumentError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isNamed, isRecord } from '../table/checks.js';

type Entity = Record<string, unknown>;

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
  if (!isNamed(patch)) {
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
