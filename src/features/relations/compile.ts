/** Compiles the referential rules of relations: `onDelete` and `exists`. */

import type { RelationDeclaration } from '../../../decorators/index.js';
import type { CollectedEntity } from '../../schema/collect.js';
import { type FeatureCompiler, type FeaturePart, linkPart } from '../../schema/feature-part.js';
import { checkLink, compileVia, type LinkOwner, type UnindexedLink } from '../../schema/links.js';
import type { Problems } from '../../schema/problems.js';
import type { EntityClass, EntitySchema, ReferenceRule } from '../../schema/types.js';
import { describe } from '../../table/checks.js';

const ON_DELETE: readonly unknown[] = ['restrict', 'cascade', 'setNull', undefined];

/** The referential rules' part of schema compilation. */
export const referenceCompiler: FeatureCompiler = { compile: compileReferences, check: checkReferences };

/** Compiles the rules that one entity declares. `checkReferences` then checks them against the entities they name. */
function compileReferences(
  { name, relations, required }: CollectedEntity,
  owner: LinkOwner,
  problems: Problems,
): FeaturePart {
  const found: UnindexedLink<ReferenceRule>[] = [];
  for (const relation of relations) {
    const { decorator, property, target } = relation;
    const rule = ruleOf(name, relation, problems);
    if (rule === undefined || typeof target !== 'function') continue;
    const via = compileVia(owner, { decorator, property, via: relation.via }, problems);
    if (via === undefined) continue;
    const held = via.map(([, held]) => held);
    const clears = held.filter((held) => isOptional(owner, held, required));
    if (rule.onDelete === 'setNull' && clears.length === 0) {
      problems.add(
        name,
        property,
        `onDelete is 'setNull', and ${held.map((each) => `"${each}"`).join(' and ')} is part of the key or required.`,
        "Store a part of the other's key in an optional column, or use 'cascade' or 'restrict'.",
      );
    }
    found.push({ property, target: target as () => EntityClass, via, clears, ...rule });
  }
  // Only deletes look for the rows that name a row.
  return linkPart<ReferenceRule>(
    owner,
    found,
    (references) => ({ references }),
    ({ onDelete }) => onDelete !== undefined,
  );
}

function isOptional({ columns }: LinkOwner, held: string, required: ReadonlySet<string>): boolean {
  const column = columns.find(({ property }) => property === held);
  return column !== undefined && !column.required && !required.has(held);
}

/** Undefined where the relation has no rule. */
function ruleOf(
  entity: string,
  { property, options }: RelationDeclaration,
  problems: Problems,
): Pick<ReferenceRule, 'onDelete' | 'exists'> | undefined {
  const add = (what: string, remedy: string): void => problems.add(entity, property, what, remedy);
  const { onDelete, exists } = (options ?? {}) as Readonly<Record<string, unknown>>;
  if (!ON_DELETE.includes(onDelete))
    add(`Its onDelete is ${describe(onDelete)}.`, "Give 'restrict', 'cascade' or 'setNull'.");
  if (exists !== undefined && typeof exists !== 'boolean')
    add(`Its exists is ${describe(exists)}.`, 'Give true or false.');
  const must = exists === undefined ? onDelete !== undefined : exists === true;
  if (onDelete === undefined && !must) return undefined;
  return { onDelete: onDelete as ReferenceRule['onDelete'], exists: must };
}

/** Checks rules against the entities that they name, which must be in the schema. */
function checkReferences(entities: readonly EntitySchema[], problems: Problems): void {
  const byTarget = new Map<EntityClass, EntitySchema>(entities.map((entity) => [entity.target, entity]));
  for (const entity of entities) {
    for (const rule of entity.references) {
      const { property } = rule;
      const target: unknown = rule.target();
      const other = byTarget.get(target as EntityClass);
      if (other !== undefined) {
        checkLink(entity, rule, { decorator: 'Reference', property }, other, problems);
        checkKept(entity, rule, other, problems);
        continue;
      }
      problems.add(
        entity.name,
        property,
        `It has rules about ${typeof target === 'function' ? target.name : describe(target)}, which is not among the entities.`,
        'Pass it too: its deletes must apply the rules.',
      );
    }
  }
}

/** A soft-deleted row (`@DeletedAt`) can be restored, but the rows that its delete removed or changed could not. */
function checkKept(entity: EntitySchema, rule: ReferenceRule, other: EntitySchema, problems: Problems): void {
  const { onDelete, property } = rule;
  if (onDelete === undefined || onDelete === 'restrict') return;
  const kept = [other, ...(onDelete === 'cascade' ? [entity] : [])].find(
    (one) => one.deletedProperty !== undefined,
  );
  if (kept === undefined) return;
  problems.add(
    entity.name,
    property,
    `onDelete is '${onDelete}', and ${kept.name} is soft-deleted (@DeletedAt): restoring it would not restore the rows that were deleted with it.`,
    "Use 'restrict', or remove @DeletedAt.",
  );
}
