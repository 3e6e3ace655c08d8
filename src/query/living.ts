/** The one place that says which rows of an entity with `@DeletedAt` are there: those without a time of deletion. */

import type { EntitySchema } from '../schema/types.js';
import type { Filter } from '../table/index.js';
import type { Condition } from './condition.js';
import { pushCondition } from './pushdown.js';

/** What a row must meet to be there; nothing for entities that are deleted for good. */
export function livingConditions(schema: EntitySchema): readonly Condition[] {
  const { deletedProperty: property } = schema;
  return property === undefined
    ? NOTHING
    : [{ kind: 'test', property, operator: 'exists', negated: true, values: NOTHING }];
}

/** The same as a filter of the engine; undefined for entities that are deleted for good. */
export function livingFilter(schema: EntitySchema): Filter | undefined {
  const [living] = livingConditions(schema);
  return living && pushCondition(living, schema.columnsByProperty);
}

const NOTHING: readonly never[] = Object.freeze([]);
