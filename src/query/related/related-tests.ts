/** Conditions on related entities (`whereRelated`) and counts of them (`withCounts`): their types, compilation and reading. */

import { QueryError } from '../../errors.js';
import type { KeyMistake, Shown } from '../../schema/entity-types.js';
import type { EntitySchema, RelationSchema } from '../../schema/types.js';
import { describe, isList, isRecord } from '../../table/checks.js';
import type { WhereOf } from '../where.js';
import {
  byKeyHeld,
  type CountableRows,
  forEachList,
  type Item,
  KEYS_AT_ONCE,
  listOf,
  partsText,
  type ReadView,
  type RelatedReader,
  type RelatedReaders,
  type RelatedRows,
  rowIdOf,
  severalAtOnce,
} from './relation-loader.js';
import { neededFor, type RelationsOf, type TargetOf, type Unmarked } from './relation-tree.js';

/** Conditions on related entities, by relation. All must hold. */
export type RelatedWhere<E> = { readonly [P in RelationsOf<E>]?: RelatedTest<TargetOf<E[P]>, E[P]> };

/**
 * The test of a relation. For one entity: conditions that it meets; `{}`: it exists; null: it does not exist. For a list: how many of its
 * entities meet conditions.
 */
type RelatedTest<T, V> =
  Unmarked<NonNullable<V>> extends readonly unknown[] ? ListTest<T> : RelatedConditions<T> | null;

/** Conditions on the properties of a related entity and on its own relations. */
export type RelatedConditions<T> = WhereOf<T> & RelatedWhere<T>;

/** How many entities of a list meet conditions. `{}` is met by every entity. All given tests must hold. */
interface ListTest<T> {
  /** At least one entity meets them. */
  readonly some?: RelatedConditions<T>;
  /** No entity meets them. True for an empty list. */
  readonly none?: RelatedConditions<T>;
  /** All entities meet them. True for an empty list. */
  readonly every?: RelatedConditions<T>;
}

/** Relations to lists. */
type ListsOf<E> = {
  [P in RelationsOf<E>]: Unmarked<NonNullable<E[P]>> extends readonly unknown[] ? P : never;
}[RelationsOf<E>];

/** Counts of related entities, by name: a relation to a list, or such a relation with conditions on its entities. */
export type RelatedCounts<E> = Readonly<Record<string, CountOf<E>>>;

type CountOf<E> =
  | ListsOf<E>
  | { [P in ListsOf<E>]: { readonly of: P; readonly where?: RelatedConditions<TargetOf<E[P]>> } }[ListsOf<E>];

/** Refuses names of properties that the entity has. */
export type CheckedCounts<E, Counts> = {
  readonly [Name in keyof Counts &
    keyof E]: KeyMistake<`"${Name & string}" is a property of the entity. Give the count another name.`>;
};

/** A row with counts. */
export type WithCounts<T, Counts> = Shown<T & { -readonly [Name in keyof Counts]: number }>;

type Quantifier = 'some' | 'none' | 'every';
const QUANTIFIERS: readonly string[] = ['some', 'none', 'every'] satisfies Quantifier[];

/** Conditions on one related entity, as of `where` and on its relations. */
interface CompiledConditions {
  readonly where: Item;
  readonly related: readonly RelatedTestNode[];
  /** The conditions on relations as they were given. */
  readonly given: Item;
}

/** A compiled test of one relation. */
export type RelatedTestNode = {
  readonly relation: RelationSchema;
  readonly target: EntitySchema;
  readonly text: string;
} & (
  | { readonly quantifier: 'one' | Quantifier; readonly conditions: CompiledConditions }
  | { readonly quantifier: 'absent'; readonly conditions?: undefined }
);

/** A compiled count of one relation. */
export interface RelatedCountNode {
  readonly name: string;
  readonly relation: RelationSchema;
  readonly target: EntitySchema;
  readonly conditions: CompiledConditions;
}

/**
 * Compiles the argument of `whereRelated`. @throws QueryError on a name that is no relation, and on conditions that the related
 * entity cannot take.
 */
export function relatedTests(
  schema: EntitySchema,
  given: unknown,
  readers: RelatedReaders,
): RelatedTestNode[] {
  if (!isRecord(given) || isList(given) || Object.keys(given).length === 0) {
    throw new QueryError(
      `whereRelated takes an object of relations, { relation: { property: value } }, not ${describe(given)}.`,
      { details: { entity: schema.name } },
    );
  }
  return Object.entries(given).flatMap(([name, test]): RelatedTestNode[] => {
    const relation = relationOf('whereRelated', schema, name);
    const reader = readers(relation.target());
    const base = { relation, target: reader.schema };
    if (relation.kind === 'one') {
      if (test === null) return [{ ...base, quantifier: 'absent' as const, text: `no ${name}` }];
      return [
        {
          ...base,
          quantifier: 'one' as const,
          conditions: compiledConditions(schema, name, test, reader, readers),
          text: name,
        },
      ];
    }
    const names = isRecord(test) && !isList(test) ? Object.keys(test) : [];
    if (names.length === 0 || names.some((one) => !QUANTIFIERS.includes(one))) {
      throw new QueryError(
        `whereRelated: ${schema.name}.${name} is a list. Write { ${name}: { some: { … } } }, or none or every, not ${describe(test)}${names.length === 0 ? '' : ` with ${names.join(', ')}`}.`,
        { details: { entity: schema.name, property: name } },
      );
    }
    return names.map((quantifier) => ({
      ...base,
      quantifier: quantifier as Quantifier,
      conditions: compiledConditions(
        schema,
        `${name}.${quantifier}`,
        (test as Item)[quantifier],
        reader,
        readers,
      ),
      text: `${quantifier} of ${name}`,
    }));
  });
}

/** Compiles the argument of `withCounts`. @throws QueryError as {@link relatedTests}, and on a name that the entity has. */
export function relatedCounts(
  schema: EntitySchema,
  given: unknown,
  readers: RelatedReaders,
): RelatedCountNode[] {
  if (!isRecord(given) || isList(given) || Object.keys(given).length === 0) {
    throw new QueryError(
      `withCounts takes names for counts of relations, { lineCount: 'lines' }, not ${describe(given)}.`,
      { details: { entity: schema.name } },
    );
  }
  return Object.entries(given).map(([name, count]) => {
    if (isProperty(schema, name)) {
      throw new QueryError(
        `withCounts: "${name}" is a property of ${schema.name}. Give the count another name.`,
        { details: { entity: schema.name, property: name } },
      );
    }
    const {
      of,
      where = {},
      ...others
    } = (isRecord(count) && !isList(count) ? count : { of: count }) as Record<string, unknown>;
    const unknown = Object.keys(others);
    const relation = relationOf('withCounts', schema, of);
    if (relation.kind === 'one' || unknown.length > 0) {
      throw new QueryError(
        unknown.length > 0
          ? `withCounts: "${name}" has the unknown option ${unknown.join(', ')}. It takes of and where.`
          : `withCounts: ${schema.name}.${relation.property} stands for one entity. Count a relation to a list (@References).`,
        { details: { entity: schema.name, property: relation.property } },
      );
    }
    const reader = readers(relation.target());
    return {
      name,
      relation,
      target: reader.schema,
      conditions: compiledConditions(schema, relation.property, where, reader, readers),
    };
  });
}

function isProperty({ columns, key, relations }: EntitySchema, name: string): boolean {
  return (
    relations.has(name) ||
    key.parts.some((part) => part.name === name) ||
    columns.some(({ property }) => property === name || property.startsWith(`${name}.`))
  );
}

function relationOf(doing: string, schema: EntitySchema, name: unknown): RelationSchema {
  const relation = typeof name === 'string' ? schema.relations.get(name) : undefined;
  if (relation !== undefined) return relation;
  const names = [...schema.relations.keys()];
  const listed = names.length === 0 ? 'none: declare one with @Reference or @References' : names.join(', ');
  throw new QueryError(`${doing}: ${schema.name} has no relation ${describe(name)}. It has ${listed}.`, {
    details: { entity: schema.name },
  });
}

function compiledConditions(
  schema: EntitySchema,
  name: string,
  given: unknown,
  reader: RelatedReader,
  readers: RelatedReaders,
): CompiledConditions {
  if (!isRecord(given) || isList(given)) {
    throw new QueryError(
      `whereRelated: ${schema.name}.${name} takes an object of conditions on ${reader.schema.name}, not ${describe(given)}.`,
      { details: { entity: schema.name } },
    );
  }
  const where: Item = {};
  const related: Item = {};
  for (const [property, condition] of Object.entries(given)) {
    (reader.schema.relations.has(property) ? related : where)[property] = condition;
  }
  // Reports wrong conditions now, before any row is read.
  reader.find({} as never).where(where as never);
  const tests = Object.keys(related).length === 0 ? [] : relatedTests(reader.schema, related, readers);
  return { where, related: tests, given: related };
}

/** Keeps the rows whose related entities meet conditions. */
export class RelatedFilter {
  private readonly tests: readonly (readonly [node: RelatedTestNode, reader: RelatedReader])[];
  private readonly signal: AbortSignal | undefined;

  constructor(
    nodes: readonly RelatedTestNode[],
    private readonly readers: RelatedReaders,
    private readonly view: ReadView,
  ) {
    this.tests = nodes.map((node) => [node, readers(node.relation.target(), view)]);
    this.signal = view.options.signal;
  }

  /** Those of the rows that pass all tests, in their order. */
  async kept<T extends object>(rows: readonly T[]): Promise<T[]> {
    let left = [...rows];
    for (const [node, reader] of this.tests) {
      if (left.length === 0) break;
      const passed = new Set<object>();
      if (node.relation.kind === 'one') await this.testOne(left as readonly Item[], node, reader, passed);
      else await this.testLists(left as readonly Item[], node, reader, passed);
      left = left.filter((row) => passed.has(row));
    }
    return left;
  }

  private async testOne(
    rows: readonly Item[],
    { relation, quantifier, conditions }: RelatedTestNode,
    reader: RelatedReader,
    passed: Set<object>,
  ): Promise<void> {
    const { wanted, without } = await byKeyHeld(rows, relation, reader);
    const isAbsent = quantifier === 'absent';
    const found = await this.found(
      [...wanted.values()].map(({ key }) => key),
      conditions,
      reader,
    );
    if (isAbsent) for (const row of without) passed.add(row);
    for (const [id, { holders }] of wanted) {
      if (found.has(id) !== isAbsent) for (const row of holders) passed.add(row);
    }
  }

  /** The row keys, as text, of those entities that exist and meet the conditions. */
  private async found(
    keys: readonly Item[],
    conditions: CompiledConditions | undefined,
    reader: RelatedReader,
  ): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    const below = conditions && new RelatedFilter(conditions.related, this.readers, this.view);
    await severalAtOnce(pointsOf(keys, reader.schema), this.signal, async (points) => {
      let rows = reader.find(points as never);
      if (conditions !== undefined) rows = rows.where(conditions.where as never);
      const columns = conditions === undefined ? [] : neededFor(reader.schema, conditions.related, []);
      const all = await rows.select(...(columns as never[])).all({ max: KEYS_AT_ONCE });
      for (const one of below === undefined ? all : await below.kept(all))
        ids.add(rowIdOf(reader, one as Item));
    });
    return ids;
  }

  private async testLists(
    rows: readonly Item[],
    { relation, quantifier, conditions }: RelatedTestNode,
    reader: RelatedReader,
    passed: Set<object>,
  ): Promise<void> {
    await forEachList(rows, relation, reader, this.signal, async (prefix, holders) => {
      const passes =
        prefix === undefined
          ? quantifier !== 'some'
          : await passesList(listOf(reader, relation, prefix), quantifier as Quantifier, conditions!);
      if (passes) for (const row of holders) passed.add(row);
    });
  }
}

async function passesList(
  list: RelatedRows,
  quantifier: Quantifier,
  conditions: CompiledConditions,
): Promise<boolean> {
  const meeting = narrowed(list, conditions);
  if (quantifier === 'some') return meeting.exists();
  if (quantifier === 'none') return !(await meeting.exists());
  if (conditions.related.length > 0) return (await list.count()) === (await meeting.count());
  const not = (where: { not(condition: object): object }) => where.not(conditions.where);
  return !(await list.where(not as never).exists());
}

function narrowed(list: RelatedRows, { where, related, given }: CompiledConditions): CountableRows {
  const rows = list.where(where as never);
  return related.length === 0 ? rows : rows.whereRelated(given as never);
}

/** Key conditions for all keys: keys that differ in their last part only share one, of at most {@link KEYS_AT_ONCE} keys. */
function pointsOf(keys: readonly Item[], { key }: EntitySchema): Item[] {
  const names = key.parts.map(({ name }) => name);
  const last = names.pop()!;
  const groups = new Map<string, Item>();
  const points: Item[] = [];
  for (const one of keys) {
    const leading = Object.fromEntries(names.map((name) => [name, one[name]]));
    const id = partsText(key.parts.slice(0, -1), one);
    let point = groups.get(id);
    if (point === undefined || (point[last] as { in: unknown[] }).in.length === KEYS_AT_ONCE) {
      point = { ...leading, [last]: { in: [] } };
      groups.set(id, point);
      points.push(point);
    }
    (point[last] as { in: unknown[] }).in.push(one[last]);
  }
  return points;
}

/** Sets counts of related entities on rows. */
export class RelatedCounter {
  private readonly counts: readonly (readonly [node: RelatedCountNode, reader: RelatedReader])[];

  constructor(
    nodes: readonly RelatedCountNode[],
    readers: RelatedReaders,
    private readonly view: ReadView,
  ) {
    this.counts = nodes.map((node) => [node, readers(node.relation.target(), view)]);
  }

  async attach(rows: readonly object[]): Promise<void> {
    const { signal } = this.view.options;
    for (const [{ name, relation, conditions }, reader] of this.counts) {
      await forEachList(rows as readonly Item[], relation, reader, signal, async (prefix, holders) => {
        const count =
          prefix === undefined ? 0 : await narrowed(listOf(reader, relation, prefix), conditions).count();
        for (const holder of holders) holder[name] = count;
      });
    }
  }
}
