/** Compiles `@Entity({ mutual })`: links whose rows stand on both sides. */

import type { CollectedEntity } from '../../schema/collect.js';
import type { FeatureCompiler, FeatureOwner, FeaturePart } from '../../schema/feature-part.js';
import type { Problems } from '../../schema/problems.js';
import type { EntitySchema, LinkSchema, ReferenceRule } from '../../schema/types.js';
import { describe, isList } from '../../table/checks.js';
import { FOREVER } from '../../table/index.js';

/** The mutual links' part of schema compilation. */
export const mutualCompiler: FeatureCompiler = { compile: compileMutual, check: checkMutual };

function compileMutual(
  { name, declaration }: CollectedEntity,
  { key }: FeatureOwner,
  problems: Problems,
): FeaturePart {
  const given: unknown = declaration.mutual;
  const found = given === undefined ? undefined : pairOf(given);
  const parts = found?.map((one) => key.parts.find((part) => part.name === one));
  const [first, second] = parts ?? [];
  if (given !== undefined && (first === undefined || second === undefined || first === second)) {
    problems.add(
      name,
      undefined,
      `mutual is ${isList(given) ? `[${given.map(describe).join(', ')}]` : describe(given)}.`,
      `Name two parts of the key, mutual: ['person', 'friend']. The key has ${key.parts.map((part) => part.name).join(', ')}.`,
    );
  } else if (first !== undefined && second !== undefined && first.codec.name !== second.codec.name) {
    problems.add(
      name,
      undefined,
      `mutual exchanges "${first.name}" (${first.codec.name}) and "${second.name}" (${second.codec.name}).`,
      'Give both the same codec.',
    );
  }
  return { indexes: () => [], schema: () => ({ mutual: found }) };
}

function pairOf(given: unknown): EntitySchema['mutual'] {
  return isList(given) && given.length === 2
    ? (Object.freeze([...given]) as EntitySchema['mutual'])
    : undefined;
}

/** Refuses what cannot be equal in a row and its mirror. */
function checkMutual(entities: readonly EntitySchema[], problems: Problems): void {
  for (const entity of entities) {
    if (entity.mutual === undefined) continue;
    const add = (rule: string, remedy: string, property?: string): void =>
      problems.add(entity.name, property, rule, remedy);
    const { key, marker, timeToLive, table, families, columns, indexes } = entity;
    if (marker === undefined) add('It is mutual and has no marker.', 'Leave out marker: false.');
    const isLossy = key.parts.some(({ recoverable }) => !recoverable);
    if (!key.deterministic || key.substitutions.length > 0 || isLossy) {
      add(
        `It is mutual, and its key has a salt drawn at random, a text kept as an id, or a digest alone (${key.signature}): the row of the other side cannot be computed.`,
        'Give it salt(n), the text itself, or hash(…, { keep: true }).',
      );
    }
    const ends = table.descriptor.families.some((one) => families.includes(one.name) && one.ttl !== FOREVER);
    if (timeToLive.property !== undefined || timeToLive.milliseconds !== undefined || ends)
      add('It is mutual, and ends by itself (ttl).', 'Let it live, and delete it.');
    for (const { kind, window, property } of columns) {
      if (kind === 'column' || (kind === 'columns' && window === undefined)) continue;
      add(
        'It is a counter, a history or packed points, which the row of the other side cannot follow.',
        'Use columns and Maps in a mutual entity.',
        property,
      );
    }
    for (const { unique, name } of indexes) {
      if (unique)
        add(
          `Its index ${name} is unique, and both rows of a link have its values.`,
          'Use an index that is not unique.',
        );
    }
    checkLinks(entity, problems);
  }
}

function checkLinks(entity: EntitySchema, problems: Problems): void {
  for (const rule of entity.references) {
    if (!isOneSided(entity, rule) || entity.references.some((other) => isMirrored(entity, rule, other)))
      continue;
    problems.add(
      entity.name,
      rule.property,
      'Its rules are about one side of a mutual link.',
      'Declare a relation with the same rules by the other part of the key, too.',
    );
  }
  for (const { map, via } of entity.copies) {
    if (map === undefined || !isOneSided(entity, { via })) continue;
    problems.add(
      entity.name,
      map.property,
      'It finds the sources of its entries by one side of a mutual link.',
      'Leave that part out of via, or store the entries in an entity of their own.',
    );
  }
}

/** Whether a link depends on which side it is read from. */
function isOneSided({ mutual }: EntitySchema, { via }: Pick<LinkSchema, 'via'>): boolean {
  return via.some(([, held]) => mutual!.includes(held));
}

/** Whether two rules are equal once the sides are exchanged. */
function isMirrored({ mutual }: EntitySchema, one: ReferenceRule, other: ReferenceRule): boolean {
  const [first, second] = mutual!;
  const opposite = (held: string): string => (held === first ? second : held === second ? first : held);
  return (
    one.target() === other.target() &&
    one.onDelete === other.onDelete &&
    one.exists === other.exists &&
    one.via.length === other.via.length &&
    one.via.every(([part, held]) => other.via.some(([to, by]) => to === part && by === opposite(held)))
  );
}
