/** Relations: properties that stand for other entities. */

import { describe } from '../table/checks.js';
import type { CollectedEntity } from './collect.js';
import type { Problems } from './problems.js';
import type { EntityClass, EntitySchema, RelationSchema } from './types.js';

/** Related entities of one that are read at most, where the declaration does not say. */
const DEFAULT_MAX = 1000;

/** What an entity's own declaration says of its relations; the other half is checked by `checkRelations`. */
export function compileRelations(
  source: CollectedEntity,
  own: ReadonlySet<string>,
  problems: Problems,
): ReadonlyMap<string, RelationSchema> {
  const relations = new Map<string, RelationSchema>();
  for (const { kind, decorator, property, target, via, max } of source.relations) {
    const problem = (rule: string, mend: string): void => problems.add(source.name, property, rule, mend);
    if (own.has(property)) {
      problem(
        `It has @${decorator} and is stored as well.`,
        'Put the relation on a property of its own: it is not stored.',
      );
      continue;
    }
    if (typeof target !== 'function') {
      problem(`@${decorator} names ${describe(target)}.`, `Write @${decorator}(() => Other, { … }).`);
      continue;
    }
    if (typeof via !== 'object' || via === null || Object.keys(via).length === 0) {
      problem(
        `@${decorator} does not say how the other is found.`,
        'Name, for parts of its key, the properties that hold them: { customerId: "customerId" }.',
      );
      continue;
    }
    if (max !== undefined && (!Number.isSafeInteger(max) || max < 1)) {
      problem(`Its max is ${describe(max)}.`, 'Give a whole number from 1 on.');
    }
    for (const from of Object.values(via)) {
      if (own.has(from)) continue;
      problem(
        `It is found by "${from}", which is no stored property.`,
        `Name one of: ${[...own].join(', ')}.`,
      );
    }
    relations.set(
      property,
      Object.freeze({ kind, property, target, via: Object.entries(via), max: max ?? DEFAULT_MAX }),
    );
  }
  return relations;
}

/** Holds the relations of entities against the keys of those that they name, as far as these are in the schema. */
export function checkRelations(entities: readonly EntitySchema[], problems: Problems): void {
  const byTarget = new Map<EntityClass, EntitySchema>(entities.map((entity) => [entity.target, entity]));
  for (const entity of entities) {
    for (const relation of entity.relations.values()) {
      const other = byTarget.get(relation.target() as EntityClass);
      if (other !== undefined) checkRelation(entity, relation, other, problems);
    }
  }
}

function checkRelation(
  entity: EntitySchema,
  { kind, property, via }: RelationSchema,
  other: EntitySchema,
  problems: Problems,
): void {
  const parts = other.key.parts.map(({ name }) => name);
  const named = via.map(([part]) => part);
  const asked = parts.slice(0, kind === 'one' ? parts.length : named.length);
  if (named.length === asked.length && asked.every((part) => named.includes(part))) return;
  problems.add(
    entity.name,
    property,
    `It finds ${other.name} by ${named.join(', ')}, and the key of ${other.name} is ${parts.join(', ')}.`,
    kind === 'one'
      ? 'Name a property for every part of the key.'
      : 'Name properties for the leading parts of the key, without a gap.',
  );
}
