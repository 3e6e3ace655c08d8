/** Loads the entities of a user's module. */

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { compileSchema } from '../mapper/index.js';
import { entityDeclarations } from '../schema/collect.js';
import type { Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';

/**
 * Imports a module and compiles every entity class that it exports, alone or in arrays.
 * @throws InvalidArgumentError when it cannot be imported or exports no entity; SchemaError on wrong declarations.
 */
export async function loadSchema(modulePath: string): Promise<Schema> {
  return schemaOf(modulePath, await importModule(modulePath));
}

/** Compiles every entity class among the exports of a module. @throws as {@link loadSchema}. */
export function schemaOf(modulePath: string, exports: Readonly<Record<string, unknown>>): Schema {
  const entities = entitiesOf(exports);
  if (entities.length === 0) {
    throw new InvalidArgumentError(
      `${modulePath} exports no entity. Export the classes with @Entity, individually or in an array.`,
    );
  }
  return compileSchema(entities);
}

/**
 * Finds an entity by name.
 * @throws InvalidArgumentError naming the existing ones.
 */
export function entityNamed(schema: Schema, name: string): EntitySchema {
  const entity = schema.entities.find((each) => each.name === name);
  if (entity !== undefined) return entity;
  const known = schema.entities.map((each) => each.name).join(', ');
  throw new InvalidArgumentError(`The module has no entity "${name}". It has ${known}.`);
}

/**
 * Imports a module.
 * @throws InvalidArgumentError when that fails.
 */
export async function importModule(modulePath: string): Promise<Readonly<Record<string, unknown>>> {
  const file = resolve(modulePath);
  if (!existsSync(file)) {
    throw new InvalidArgumentError(`The file ${file} does not exist. Use the path of the compiled module.`);
  }
  if (statSync(file).isDirectory()) {
    throw new InvalidArgumentError(
      `${modulePath} is a folder, and entities are in a module, such as dist/entities.js. Some commands take the module first, and some ` +
        'the place: --help shows which.',
    );
  }
  try {
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (cause instanceof RowanError) throw cause;
    const typescript = /\.[cm]?tsx?$/.test(file)
      ? ' It is TypeScript: compile it first, or run the command under a loader (node --import tsx).'
      : '';
    throw new InvalidArgumentError(
      `${modulePath} cannot be imported: ${(cause as Error).message}.${typescript}`,
      {
        cause,
      },
    );
  }
}

/**
 * Every exported entity class once, in the order of the exports. If a class extends one made by `defineEntity` and is
 * the same entity, only the subclass.
 */
export function entitiesOf(exports: Readonly<Record<string, unknown>>): EntityClass[] {
  const found = new Set<EntityClass>();
  for (const value of Object.values(exports)) {
    for (const candidate of Array.isArray(value) ? value : [value])
      if (isEntity(candidate)) found.add(candidate);
  }
  const all = [...found];
  const shared = (base: EntityClass): boolean => entityDeclarations(base)[0]?.inheritable === true;
  return all.filter((target) => !shared(target) || !all.some((other) => sharesEntity(other, target)));
}

/** Whether `other` extends `target` and is the same entity. */
function sharesEntity(other: EntityClass, target: EntityClass): boolean {
  return other.prototype instanceof target && entityDeclarations(other)[0] === entityDeclarations(target)[0];
}

function isEntity(value: unknown): value is EntityClass {
  return typeof value === 'function' && entityDeclarations(value as EntityClass).length > 0;
}
