import { toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError, QueryError } from '../../errors.js';
import { conversionOf, storedCodec } from '../../key/codecs/index.js';
import type { Shown } from '../../schema/entity-types.js';
import type { EntitySchema, RelationSchema } from '../../schema/types.js';
import { describe, isCallable } from '../../table/checks.js';
import type { ValueComparator } from '../evaluate.js';
import type { QuerySpec } from '../query-spec.js';
import type { RelationsOf, TargetOf } from '../related/relation-tree.js';
import { checkNames } from '../slice.js';
import {
  type Aggregate,
  type AggregateResults,
  type AggregateSet,
  Aggregates,
  checkAggregates,
  comparatorOf,
  type Fold,
  type OrderedOf,
  readerOf,
  type ValueReader,
  type ValueSchema,
  valuesOf,
} from './aggregates.js';

// — Figures by group, computed in one pass.

/** The default limit of groups in memory. */
const DEFAULT_MAX_GROUPS = 100_000;

/** Options of grouped figures. */
export interface GroupOptions {
  /** The most groups held in memory; more are an error. Default 100,000. */
  readonly maxGroups?: number;
}

export interface Group {
  readonly values: readonly unknown[];
  readonly folds: readonly Fold<unknown>[];
}

/** Groups by the values of their properties, one level for each property. */
interface Level extends Map<unknown, Level | Group> {}

/** Collects the groups of a query's rows. */
export class Grouping {
  private readonly readers: readonly ValueReader[];
  private readonly identities: readonly ((value: unknown) => unknown)[];
  private readonly compare: readonly ValueComparator[];
  private readonly starts: readonly (readonly [string, () => Fold<unknown>])[];
  private readonly root: Level = new Map();
  private readonly groups: Group[] = [];

  /** @throws QueryError when a property has no order, or two results have the same name. */
  constructor(
    private readonly schema: ValueSchema,
    private readonly properties: readonly string[],
    figures: AggregateSet,
    private readonly maxGroups: number,
  ) {
    this.readers = properties.map((property) => readerOf(schema, property, 'groupBy'));
    this.identities = properties.map((property) => identityOf(schema.codecOf(property)!));
    this.compare = properties.map((property) => comparatorOf(schema, property, 'groupBy'));
    this.starts = Object.entries(figures).map(([name, figure]) => [name, figure.start] as const);
    for (const [name] of this.starts) {
      if (properties.includes(name)) {
        throw new QueryError(
          `groupBy: "${name}" is both a property that is grouped by and a figure. Give the figure another name.`,
        );
      }
    }
  }

  readonly add = (entity: Readonly<Record<string, unknown>>): void => {
    this.addTo(this.groupOf(entity), entity);
  };

  addTo({ folds }: Group, entity: Readonly<Record<string, unknown>>): void {
    for (let i = 0; i < folds.length; i++) folds[i]!.add(entity);
  }

  /** The group of an entity with the properties that are grouped by. @throws QueryError when there are too many. */
  groupOf(entity: Readonly<Record<string, unknown>>): Group {
    const { readers, identities } = this;
    let level = this.root;
    const last = readers.length - 1;
    for (let i = 0; i < last; i++) {
      const key = identities[i]!(readers[i]!(entity));
      let next = level.get(key) as Level | undefined;
      if (next === undefined) {
        next = new Map();
        level.set(key, next);
      }
      level = next;
    }
    const key = last < 0 ? undefined : identities[last]!(readers[last]!(entity));
    let group = level.get(key) as Group | undefined;
    if (group === undefined) {
      group = this.begin(entity);
      level.set(key, group);
    }
    return group;
  }

  private begin(entity: Readonly<Record<string, unknown>>): Group {
    if (this.groups.length === this.maxGroups) {
      throw new QueryError(
        `groupBy(${this.properties.join(', ')}) on ${this.schema.name} found more than ${this.maxGroups} groups. ` +
          'Group by less, ask for a part of the rows, allow more (maxGroups), or let a job count them (docs/jobs.md).',
        { details: { entity: this.schema.name } },
      );
    }
    const group = { values: this.readers.map((read) => read(entity)), folds: this.folds() };
    this.groups.push(group);
    return group;
  }

  private folds(): Fold<unknown>[] {
    return this.starts.map(([, start]) => start());
  }

  /** The figures of all rows, also when there are none. */
  single(): Record<string, unknown> {
    return this.resultOf(this.groups[0] ?? { values: [], folds: this.folds() });
  }

  /** The results in the order of the groups' values. Absent values come last. */
  results(): Record<string, unknown>[] {
    this.groups.sort((a, b) => this.compareGroups(a, b));
    return this.groups.map((group) => this.resultOf(group));
  }

  private resultOf({ values, folds }: Group): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [i, property] of this.properties.entries()) result[property] = values[i] ?? null;
    for (const [i, [name]] of this.starts.entries()) result[name] = folds[i]!.result();
    return result;
  }

  private compareGroups(a: Group, b: Group): number {
    for (const [i, compare] of this.compare.entries()) {
      const left = a.values[i];
      const right = b.values[i];
      const order =
        left === undefined || right === undefined
          ? Number(left === undefined) - Number(right === undefined)
          : compare(left, right);
      if (order !== 0) return order;
    }
    return 0;
  }
}

/** A Map key that is equal for equal values, such as 1.5 and 1.50. */
function identityOf(codec: { readonly name: string }): (value: unknown) => unknown {
  const conversion = conversionOf(codec);
  if (conversion !== undefined) {
    const identity = identityOf(storedCodec(codec));
    return (value) => (value === undefined ? undefined : identity(conversion.toStored(value)));
  }
  const decimals = codec.name.includes('decimal');
  return (value) => {
    if (value instanceof Date) return value.getTime();
    if (value instanceof Uint8Array) return toLatin1(value);
    return decimals && typeof value === 'string' ? withoutTrailingZeros(value) : value;
  };
}

function withoutTrailingZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}

/** @throws QueryError on invalid properties; InvalidArgumentError on invalid options. */
export function checkGrouping(properties: readonly unknown[], options: GroupOptions): number {
  if (properties.length === 0)
    throw new QueryError('groupBy names no property. Use aggregate() for all rows.');
  for (const [i, property] of properties.entries()) {
    if (properties.indexOf(property) !== i) {
      throw new QueryError(`groupBy names ${describe(property)} twice.`);
    }
  }
  checkNames('groupBy', options, ['maxGroups']);
  const { maxGroups = DEFAULT_MAX_GROUPS } = options;
  if (!Number.isSafeInteger(maxGroups) || maxGroups < 1) {
    throw new InvalidArgumentError(
      `groupBy: maxGroups is a whole number from 1 on, not ${describe(maxGroups)}.`,
    );
  }
  return maxGroups;
}

/** Properties of related entities by which rows can be grouped: `'customer.country'`. */
export type RelatedOrderedOf<E> = {
  [P in RelationsOf<E>]: NonNullable<E[P]> extends readonly unknown[]
    ? never
    : `${P}.${OrderedOf<TargetOf<E[P]>>}`;
}[RelationsOf<E>];

/** The values that identify a group. Null where absent. */
export type GroupKey<E, P extends string> = {
  -readonly [Name in P]-?: Name extends keyof E
    ? NonNullable<E[Name]> | (undefined extends E[Name] ? null : Extract<E[Name], null>)
    : RelatedValue<E, Name>;
};

type RelatedValue<E, Name extends string> = Name extends `${infer Relation}.${infer Property}`
  ? Relation extends keyof E
    ? Property extends keyof TargetOf<E[Relation]>
      ? NonNullable<TargetOf<E[Relation]>[Property]> | null
      : never
    : never
  : never;

/** The result of `groupBy`: rows grouped by the values of some properties. */
export class GroupedQuery<E, P extends string> {
  constructor(
    private readonly properties: readonly P[],
    private readonly run: (
      build: (on: Aggregates<E>) => AggregateSet,
      maxGroups: number,
    ) => Promise<Grouping>,
  ) {}

  /**
   * The figures of each group, in the order of the groups' values; absent values come last.
   *
   * @example
   * ```ts
   * const byStatus = await query.groupBy('status').aggregate((on) => ({ n: on.count(), turnover: on.sum('total') }));
   * // [{ status: 'open', n: 3, turnover: '120.50' }, …]
   * ```
   * @throws QueryError when there are more groups than `maxGroups`: nothing is left out silently.
   */
  async aggregate<A extends AggregateSet>(
    figures: (on: Aggregates<E>) => A,
    options: GroupOptions = {},
  ): Promise<Shown<GroupKey<E, P> & AggregateResults<A>>[]> {
    const maxGroups = checkGrouping(this.properties, options);
    const grouping = await this.run(figures, maxGroups);
    return grouping.results() as Shown<GroupKey<E, P> & AggregateResults<A>>[];
  }

  /** The number of rows of each group. */
  count(options: GroupOptions = {}): Promise<Shown<GroupKey<E, P> & { count: number }>[]> {
    return this.aggregate((on) => ({ count: on.count() }), options) as Promise<
      Shown<GroupKey<E, P> & { count: number }>[]
    >;
  }
}

// — Figures of all rows of a query.

/** How figures read the rows of a query. */
interface FigureRows {
  /** Reads these properties of every row. */
  each(properties: readonly string[], take: (entity: Item) => void): Promise<void>;
  /**
   * Adds every row to the grouping by threads: grouped by these properties, with figures of those. False where threads cannot do that;
   * then the grouping is not to be used.
   */
  inThreads(by: readonly string[], read: readonly string[], grouping: Grouping): Promise<boolean>;
  /** Reads these properties of every row, with these properties of entities that its relations name. */
  eachRelated(
    properties: readonly string[],
    relations: Readonly<Record<string, { readonly select: readonly string[] }>>,
    take: (entity: Item) => void,
  ): Promise<void>;
  /** The schema of the entity that a relation names. */
  related(relation: RelationSchema): EntitySchema;
}

type Item = Record<string, unknown>;

/** Computes the figures of a query. (The query has its methods: a base class would slow compilers down.) */
export class Figures<E> {
  private readonly values: ValueSchema;

  constructor(
    private readonly spec: QuerySpec,
    private readonly rows: FigureRows,
  ) {
    this.values = valuesOf(spec.schema);
  }

  async aggregate<A extends AggregateSet>(figures: (on: Aggregates<E>) => A): Promise<AggregateResults<A>> {
    const grouping = await this.fold([], this.figuresOf(figures), 1);
    return grouping.single() as AggregateResults<A>;
  }

  async one<R>(build: (on: Aggregates<E>) => Aggregate<R>): Promise<R> {
    const { figure } = await this.aggregate((on) => ({ figure: build(on) }));
    return figure;
  }

  groupBy<P extends string>(properties: readonly P[]): GroupedQuery<E, P> {
    return new GroupedQuery(properties, (build, maxGroups) =>
      this.fold(properties, this.figuresOf(build), maxGroups),
    );
  }

  private figuresOf<A extends AggregateSet>(build: (on: Aggregates<E>) => A): AggregateSet {
    if (!isCallable(build)) return checkAggregates(build);
    return checkAggregates(build(new Aggregates<E>(this.values)));
  }

  private async fold(
    properties: readonly string[],
    figures: AggregateSet,
    maxGroups: number,
  ): Promise<Grouping> {
    checkUnordered(this.spec);
    const ofRelated = new Map<string, { readonly select: string[]; readonly schema: EntitySchema }>();
    const own = properties.filter((property) => !this.isRelated(property, ofRelated));
    const values = withRelated(this.values, ofRelated);
    const begin = (): Grouping => new Grouping(values, properties, figures, maxGroups);
    const grouping = begin();
    const read = Object.values(figures).flatMap(({ property }) => (property === undefined ? [] : [property]));
    const selected = [...new Set([...own, ...read])];
    if (ofRelated.size === 0) {
      const folded = begin();
      if (await this.rows.inThreads(own, [...new Set(read)], folded)) return folded;
      await this.rows.each(selected, grouping.add);
    } else {
      const shapes = [...ofRelated].map(([name, { select }]) => [name, { select }] as const);
      await this.rows.eachRelated(selected, Object.fromEntries(shapes), grouping.add);
    }
    return grouping;
  }

  /** Whether a property is one of a related entity; notes the relation. @throws QueryError on a relation to a list. */
  private isRelated(
    property: string,
    found: Map<string, { readonly select: string[]; readonly schema: EntitySchema }>,
  ): boolean {
    const { schema } = this.spec;
    const [name, inner] = splitPath(property);
    const relation = inner === undefined ? undefined : schema.relations.get(name);
    if (relation === undefined || inner === undefined) return false;
    if (relation.kind === 'many') {
      throw new QueryError(
        `groupBy: ${schema.name}.${name} is a list, and a row is in one group. Group the rows of ${relation.target().name}.`,
        { details: { entity: schema.name, property } },
      );
    }
    const known = found.get(name) ?? { select: [], schema: this.rows.related(relation) };
    known.select.push(inner);
    found.set(name, known);
    return true;
  }
}

/** The relation and the property of a path. */
function splitPath(property: unknown): readonly [string, string | undefined] {
  const dot = typeof property === 'string' ? property.indexOf('.') : -1;
  return dot < 0
    ? [property as string, undefined]
    : [(property as string).slice(0, dot), (property as string).slice(dot + 1)];
}

/** The values of rows together with those of entities that their relations name. */
function withRelated(
  values: ValueSchema,
  related: ReadonlyMap<string, { readonly schema: EntitySchema }>,
): ValueSchema {
  if (related.size === 0) return values;
  const inner = new Map([...related].map(([name, { schema }]) => [name, valuesOf(schema)]));
  const found = (property: string): readonly [ValueSchema | undefined, string, string] => {
    const [name, rest = ''] = splitPath(property);
    return [inner.get(name), name, rest];
  };
  return {
    name: values.name,
    codecOf: (property) => {
      const [other, , rest] = found(property);
      return other === undefined ? values.codecOf(property) : other.codecOf(rest);
    },
    pathOf: (property) => {
      const [other, name, rest] = found(property);
      return other === undefined ? values.pathOf(property) : [name, ...other.pathOf(rest)];
    },
  };
}

/** @throws QueryError when the query is ordered. */
export function checkUnordered({ orderBy }: QuerySpec): void {
  if (orderBy === undefined) return;
  throw new QueryError(
    'Aggregates have no row order, so orderBy() cannot be combined with them. Leave it out.',
  );
}
