/** What an entity must be before it is written, whatever the types of the caller say. */

import { InvalidArgumentError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';

/** @throws InvalidArgumentError on what is no object. */
export function checkEntity(
  schema: EntitySchema,
  given: unknown,
  operation: string,
): asserts given is Record<string, unknown> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return;
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
