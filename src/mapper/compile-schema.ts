import { compileDeclarations, type MarkerFamilies } from '../schema/compile.js';
import type { Schema } from '../schema/schema.js';
import type { EntitySubscriber } from '../schema/subscribers.js';
import type { EntityClass } from '../schema/types.js';
import { CompiledMapper } from './entity-mapper.js';

/**
 * Compiles the declarations of these entity classes: key layouts, columns, tables and mappers, all frozen. `markers` says
 * where the markers of entities stand whose declarations leave it open.
 * @throws SchemaError with every problem of every entity, each with the entity, the property, the rule and the mend.
 */
export function compileSchema(
  entities: readonly EntityClass[],
  markers?: MarkerFamilies,
  subscribers?: readonly EntitySubscriber[],
): Schema {
  return compileDeclarations(entities, (entity) => new CompiledMapper(entity), markers, subscribers);
}
