import type {
  IndexDeclaration,
  IndexedReferencesOptions,
  ReferenceOptions,
  RelationDeclaration,
} from '../../decorators/index.js';
import { part } from '../key/declare.js';
import type { KeyLayout } from '../key/index.js';
import { describe } from '../table/checks.js';
import { FOREVER } from '../table/index.js';
import type { CollectedEntity } from './collect.js';
import type { Problems } from './problems.js';
import type {
  ColumnSchema,
  EntityClass,
  EntitySchema,
  IndexSchema,
  LinkSchema,
  RelationSchema,
} from './types.js';

// — Links: a row of one entity names a row of another by holding its key. Copies and referential rules use them, and
// must find the rows that name a row. So each link has an index, unless the key of the naming entity begins with the
// link.

/** A declared link, with the name of its decorator for messages. */
interface DeclaredLink {
  readonly decorator: string;
  readonly property: string | undefined;
  readonly via: unknown;
  /** Whether `via` may name a Map, each of whose keys names another row. */
  readonly takesMap?: boolean;
}

/** A link before its index is chosen. */
export type UnindexedLink<T extends LinkSchema = LinkSchema> = Omit<T, 'index'>;

/** The entity that declares a link. */
export interface LinkOwner {
  readonly name: string;
  readonly key: KeyLayout;
  readonly columns: readonly ColumnSchema[];
}

/** The properties of `via`, each with the key part that it holds. Undefined, with problems, when they are invalid. */
export function compileVia(
  owner: LinkOwner,
  { decorator, property, via, takesMap = false }: DeclaredLink,
  problems: Problems,
): LinkSchema['via'] | undefined {
  const before = problems.count;
  const add = (rule: string, remedy: string): void => problems.add(owner.name, property, rule, remedy);
  const pairs: (readonly [string | undefined, unknown])[] =
    typeof via === 'string'
      ? [[undefined, via]]
      : typeof via === 'object' && via !== null
        ? Object.entries(via)
        : [];
  if (pairs.length === 0) {
    add(
      `@${decorator} does not say how the other is found: via is ${describe(via)}.`,
      "Name the property that holds the other's key, via: 'otherId', or one for each part of it.",
    );
  }
  for (const [, held] of pairs) {
    const column = owner.columns.find((one) => one.property === held);
    const own = owner.key.parts.find(({ name, recoverable }) => name === held && recoverable);
    if (column?.kind === 'column' || own !== undefined || (takesMap && isKeyed(column))) continue;
    add(
      `@${decorator} finds the other by ${describe(held)}, which is no column of one value${takesMap ? ', no Map' : ''} and no part of the key.`,
      `Name one of: ${[...owner.key.parts.map(({ name }) => name), ...owner.columns.map((one) => one.property)].join(', ')}.`,
    );
  }
  const ids = owner.key.substitutions.filter((one) => pairs.some(([, held]) => held === one.part));
  for (const { part } of ids) {
    add(
      `"${part}" is kept as an id of a dictionary.`,
      'Store it in a column too, and find the other by that.',
    );
  }
  return problems.count === before
    ? Object.freeze(pairs.map(([part, held]) => Object.freeze([part, held as string] as const)))
    : undefined;
}

/** Whether a column is a Map whose keys are values. The keys of packed columns are times. */
export function isKeyed(column: ColumnSchema | undefined): boolean {
  return column?.kind === 'columns' && column.window === undefined;
}

/** The index that finds rows by the properties. Undefined: the key does. `'missing'`: there is none. */
export function findBackReference(
  { key }: LinkOwner,
  indexes: readonly IndexSchema[],
  { via, map }: Pick<LinkSchema, 'via' | 'map'>,
): { readonly index: string | undefined } | 'missing' {
  const held = new Set(via.map(([, property]) => property));
  const leads = (parts: readonly string[]): boolean =>
    parts.length >= held.size && parts.slice(0, held.size).every((name) => held.has(name));
  if (leads(key.parts.map(({ name }) => name))) return { index: undefined };
  // A row without a value for a part has no entry. So after the properties only key parts may follow, which every
  // row has.
  const always = new Set(key.parts.map(({ name }) => name));
  const serves = ({ parts, where, several, each, eventual }: IndexSchema): boolean =>
    !eventual &&
    where === undefined &&
    several === map?.property &&
    (map === undefined || each === 'keys') &&
    leads(parts) &&
    parts.slice(held.size).every((name) => always.has(name));
  const found = indexes.find(serves);
  return found === undefined ? 'missing' : { index: found.name };
}

/** The index that a link adds where no declared one serves. */
export function backReferenceIndex({ via, map }: Pick<LinkSchema, 'via' | 'map'>): IndexDeclaration {
  const properties = via.map(([, property]) => property);
  return {
    name: `ref_${properties.join('_').replace(/\W/g, '_')}`,
    elements: properties.map((property) => part(property)),
    options: map && { each: 'keys' },
  };
}

/** The parts of the other key and the properties that hold them. Undefined when they are not all parts of that key. */
export function linkParts(
  link: LinkSchema,
  other: EntitySchema,
): readonly (readonly [part: string, property: string])[] | undefined {
  const parts = other.key.parts.map(({ name }) => name);
  const named = link.via.map(([part, property]) => [part ?? parts[0]!, property] as const);
  const all = named.length === parts.length && parts.every((name) => named.some(([part]) => part === name));
  return all ? named : undefined;
}

/**
 * Checks a link against the entity that it names. False, with problems, when it does not match the key or cannot be
 * followed.
 */
export function checkLink(
  entity: EntitySchema,
  link: LinkSchema,
  { decorator, property }: Omit<DeclaredLink, 'via'>,
  other: EntitySchema,
  problems: Problems,
): boolean {
  const before = problems.count;
  const add = (rule: string, remedy: string): void => problems.add(entity.name, property, rule, remedy);
  const { key, timeToLive, table } = other;
  if (linkParts(link, other) === undefined) {
    add(
      `@${decorator} finds ${other.name} by ${link.via.map(([part, held]) => part ?? held).join(', ')}, and the key of ${other.name} is ${key.parts.map(({ name }) => name).join(', ')}.`,
      'Name a property for every part of the key.',
    );
  }
  if (!key.deterministic || key.substitutions.length > 0 || key.parts.some((one) => !one.recoverable)) {
    add(
      `The key of ${other.name} has a salt drawn at random, a text kept as an id, or a digest alone (${key.signature}), by which @${decorator} cannot find it.`,
      'Give it salt(n), the text itself, or hash(…, { keep: true }).',
    );
  }
  const ends = table.descriptor.families.some(
    ({ name, ttl }) => other.families.includes(name) && ttl !== FOREVER,
  );
  if (timeToLive.property !== undefined || timeToLive.milliseconds !== undefined || ends) {
    add(
      `${other.name} ends by itself (ttl), and nobody writes then: @${decorator} could not follow it.`,
      'Let it live, and delete it.',
    );
  }
  return problems.count === before;
}

// — Relations: properties for related entities.

const RELATION_OPTIONS: Readonly<Record<RelationDeclaration['kind'], Readonly<Record<string, true>>>> = {
  one: { onDelete: true, exists: true } satisfies Record<keyof ReferenceOptions, true>,
  many: { max: true, index: true } satisfies Record<keyof IndexedReferencesOptions, true>,
};

/** The default limit of related entities. */
const DEFAULT_MAX = 1000;

/** Compiles the relations that one entity declares. `checkRelations` then checks them against the other entities. */
export function compileRelations(
  source: CollectedEntity,
  own: ReadonlySet<string>,
  problems: Problems,
): ReadonlyMap<string, RelationSchema> {
  const relations = new Map<string, RelationSchema>();
  for (const { kind, decorator, property, target, via, max, index, options } of source.relations) {
    const known = RELATION_OPTIONS[kind];
    problems.checkOptions(source.name, property, `@${decorator}`, options, known);
    const problem = (rule: string, remedy: string): void => problems.add(source.name, property, rule, remedy);
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
      Object.freeze({ kind, property, target, via: Object.entries(via), index, max: max ?? DEFAULT_MAX }),
    );
  }
  return relations;
}

/** Checks relations against the keys of the entities they name, if these are in the schema. */
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
  { kind, property, via, index }: RelationSchema,
  other: EntitySchema,
  problems: Problems,
): void {
  const found = other.indexes.find(({ name }) => name === index);
  if (index !== undefined && found === undefined) {
    const names = other.indexes.map(({ name }) => name);
    problems.add(
      entity.name,
      property,
      `It finds ${other.name} by the index ${describe(index)}, which ${other.name} does not have.`,
      names.length === 0 ? `Declare that index on ${other.name}.` : `Name one of: ${names.join(', ')}.`,
    );
    return;
  }
  const parts = found?.parts ?? other.key.parts.map(({ name }) => name);
  const named = via.map(([part]) => part);
  const asked = parts.slice(0, kind === 'one' ? parts.length : named.length);
  if (named.length === asked.length && asked.every((part) => named.includes(part))) return;
  problems.add(
    entity.name,
    property,
    `It finds ${other.name} by ${named.join(', ')}, and ${found === undefined ? `the key of ${other.name}` : `its index ${index}`} is ${parts.join(', ')}.`,
    kind === 'one'
      ? 'Name a property for every part of the key.'
      : `Name properties for the leading parts of the ${found === undefined ? 'key' : 'index'}, without a gap.`,
  );
}
