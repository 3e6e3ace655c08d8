import { InvalidArgumentError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isRecord } from '../table/checks.js';

/** Objects that stand in for the caller's. */

type Entity = Record<string, unknown>;

/** An object of the same class that can be changed. */
export function thawed(entity: Entity): Entity {
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object | null) as Entity, entity);
}

/** The parts of the key alone: what is given as a key may be a whole entity. */
export function partsOf(schema: EntitySchema, key: Readonly<Entity>): Entity {
  return Object.fromEntries(schema.key.parts.map(({ name }) => [name, key[name]]));
}

/** What the hooks of updates and deletes run on: an object of the class with the key's parts and what is changed. */
export function draftOf(schema: EntitySchema, key: Readonly<Entity>, patch: Readonly<Entity>): Entity {
  return Object.assign(
    Object.create(schema.target.prototype as object) as Entity,
    partsOf(schema, key),
    patch,
  );
}

/** Gives back these properties what they hold now. */
export function restoring(entity: Entity, properties: readonly string[]): () => void {
  const before = properties.map((property) => entity[property]);
  return () => {
    properties.forEach((property, index) => {
      entity[property] = before[index];
    });
  };
}

/** A copy of the patch, prepared by the hooks and checks of an update. @throws InvalidArgumentError when it is none. */
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

/** Checks an entity before it is written, whatever the types of the caller say. */

/** @throws InvalidArgumentError on what is no object. */
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

/** @throws InvalidArgumentError where one of these columns has no value. */
export function checkRequired(
  schema: EntitySchema,
  columns: readonly ColumnSchema[],
  entity: Readonly<Record<string, unknown>>,
): void {
  for (const { property } of columns) {
    const value = entity[property];
    if (value !== undefined && value !== null) continue;
    throw new InvalidArgumentError(
      `${schema.name}.${property} is required, and is ${String(value)}. Give it a value, or declare it optional.`,
      { details: { entity: schema.name, property } },
    );
  }
}
