/** Objects that stand in for the caller's. */

import type { EntitySchema } from '../schema/types.js';

type Entity = Record<string, unknown>;

/** An object of the same class that can be changed. */
export function thawed(entity: Entity): Entity {
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object | null) as Entity, entity);
}

/** What the hooks of updates and deletes run on: an object of the class with the key and what is changed. */
export function draftOf(schema: EntitySchema, key: Readonly<Entity>, patch: Readonly<Entity>): Entity {
  return Object.assign(Object.create(schema.target.prototype as object) as Entity, key, patch);
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
