/** The argument of `with`: its types, and its compilation to a tree of relations to load, at any depth. */

import type { RelationMark } from '../../../decorators/index.js';
import { InvalidArgumentError, QueryError } from '../../errors.js';
import type {
  ColumnsOf,
  EntityOf,
  IsRelation,
  KeyedClass,
  KeyMistake,
  PropertiesOf,
  Shown,
} from '../../schema/entity-types.js';
import type { EntitySchema, RelationSchema } from '../../schema/types.js';
import { describe, isList, isRecord } from '../../table/checks.js';
import type { OrderedOf } from '../aggregate/aggregates.js';
import type { WhereOf } from '../where.js';
import type { RelatedNode, RelatedReaders, RelatedRows } from './relation-loader.js';

/** Properties that may be relations: other entities, or lists of them. */
export type RelationsOf<E> = {
  [P in keyof E & string]: undefined extends E[P]
    ? NonNullable<E[P]> extends Date | Uint8Array | ReadonlyMap<unknown, unknown>
      ? never
      : NonNullable<E[P]> extends object
        ? P
        : never
    : never;
}[keyof E & string] &
  keyof E;

/** The loaded type of a property, without the mark of `Related`. */
export type Unmarked<V> = IsRelation<V> extends true ? (V extends RelationMark<infer T> ? T : never) : V;

/** The related entity of a property, which holds one or a list. */
export type TargetOf<V> =
  Unmarked<NonNullable<V>> extends readonly (infer Item)[] ? Item : Unmarked<NonNullable<V>>;

/** The next smaller depth: paths have at most four names. */
type Shorter = [never, 0, 1, 2, 3];

/** Relations, and relations of related entities: `'lines'`, `'lines.product'`, up to four names. */
export type RelationPath<E, Depth extends number = 3> =
  | RelationsOf<E>
  | (Depth extends 0
      ? never
      : {
          [P in RelationsOf<E>]: `${P}.${RelationPath<TargetOf<E[P]>, Shorter[Depth]> & string}`;
        }[RelationsOf<E>]);

/** Relations to load: `true` for the whole entity, or options. */
export type RelationTree<E> = { readonly [P in RelationsOf<E>]?: true | RelatedShape<TargetOf<E[P]>, E[P]> };

/** Options of one relation. Relations of the related entity stand in `with`, or beside the options. */
type RelatedShape<T, V = readonly T[]> = RelationTree<T> & {
  /** Only these properties, and the key. */
  readonly select?: readonly PropertiesOf<T>[];
  readonly with?: RelationTree<T>;
} & (Unmarked<NonNullable<V>> extends readonly unknown[] ? ListShape<T> : unknown);

/** Options of a relation to a list. */
interface ListShape<T> {
  /** Conditions on the related entities. */
  readonly where?: WhereOf<T>;
  /** The order of a property in place of the key's. */
  readonly orderBy?: readonly [property: OrderedOf<T>, direction?: 'asc' | 'desc'];
  /** From the last key to the first. */
  readonly reverse?: boolean;
  /** The most entities for each row, in place of the relation's `max`. */
  readonly limit?: number;
}

/** What `with` takes: a path of several, or one tree. */
export type RelationsGiven<E> = (string & RelationPath<E>) | RelationTree<E>;

/**
 * The arguments of `with<const Given extends RelationsGiven<E>>`. One signature for both forms: of two, the compiler also prints what
 * a misspelt path lacks to be a tree. It takes the last branch for arguments that are neither, and names that type.
 */
export type RelationArguments<E, Given> = [Given] extends [string]
  ? readonly Given[]
  : [Given] extends [object]
    ? readonly [tree: Given & CheckedTree<E, Given>]
    : readonly (Given extends string
        ? Given
        : RelationTree<E> extends Given
          ? Given & CheckedTree<E, Given>
          : never)[];

/** The tree that the arguments of `with` mean. */
export type TreeOfGiven<Given> = [Given] extends [string] ? TreeOfPaths<Given> : Given;

/**
 * Rejects unknown names in a tree. TypeScript does not check for excess properties where it infers the tree's own type, so use it as
 * `with<Tree extends RelationTree<E>>(tree: Tree & CheckedTree<E, Tree>)`.
 */
export type CheckedTree<E, Tree> = {
  readonly [P in keyof Tree]: P extends RelationsOf<E>
    ? Tree[P] extends true | undefined
      ? Tree[P]
      : CheckedShape<TargetOf<E[P]>, E[P], Tree[P]>
    : KeyMistake<`"${P & string}" is no relation.`>;
};

type CheckedShape<T, V, Shape> = {
  readonly [Name in keyof Shape]: Name extends 'select'
    ? Shape[Name]
    : Name extends 'with'
      ? CheckedTree<T, Shape[Name]>
      : Name extends keyof ListShape<unknown>
        ? Unmarked<NonNullable<V>> extends readonly unknown[]
          ? Shape[Name]
          : KeyMistake<`"${Name}" is for relations to lists.`>
        : CheckedTree<T, Pick<Shape, Name>>[Name];
};

/** {@link CheckedTree} for options with a property `with`, a tree or a list of paths. */
export type CheckedWith<E, Options> = Options extends { readonly with: infer Tree }
  ? Tree extends readonly unknown[]
    ? unknown
    : { readonly with: CheckedTree<E, Tree> }
  : unknown;

type ShapeOption = 'select' | 'with' | keyof ListShape<unknown>;

/** The tree that a union of paths means. */
export type TreeOfPaths<Paths> = {
  readonly [Head in HeadOf<Paths>]: [TailOf<Paths, Head>] extends [never]
    ? true
    : TreeOfPaths<TailOf<Paths, Head>>;
};
type HeadOf<Paths> = Paths extends `${infer Head}.${string}` ? Head : Paths & string;
type TailOf<Paths, Head extends string> = Paths extends `${Head}.${infer Tail}` ? Tail : never;

/** A row with its relations: a list, an entity, or null where there is none. */
export type WithTree<T, E, Tree> = Shown<
  Omit<T, keyof Tree> & {
    -readonly [P in keyof Tree & keyof E]-?: Loaded<Unmarked<NonNullable<E[P]>>, Tree[P]>;
  }
>;

type Loaded<V, Shape> = V extends readonly (infer Item)[] ? Shaped<Item, Shape>[] : Shaped<V, Shape> | null;

type Shaped<T, Shape> = Shape extends true
  ? T
  : keyof Inner<Shape> extends never
    ? SelectedOf<T, Shape>
    : WithTree<SelectedOf<T, Shape>, T, Inner<Shape>>;

type SelectedOf<T, Shape> = Shape extends { readonly select: readonly (infer Names)[] }
  ? Pick<T, Names & keyof T>
  : T;

/** The relations of a shape: in `with` and beside the options. */
type Inner<Shape> = Omit<Shape, ShapeOption> & (Shape extends { readonly with: infer Tree } ? Tree : unknown);

/** Options of `get`, `getMany` and `findOne`: the columns and relations to read. */
export interface ShapeOptions<C extends KeyedClass> {
  /** Only these columns, and the key. Default: all. */
  readonly select?: readonly ColumnsOf<C>[];
  /** Relations to load: a tree, or a list of paths, as in `with` of a query. */
  readonly with?: RelationTree<EntityOf<C>> | readonly (string & RelationPath<EntityOf<C>>)[];
}

/** The type of an entity read with these options. */
export type ShapedBy<C extends KeyedClass, Options> = Options extends { readonly with: infer Tree }
  ? WithTree<
      ColumnsBy<C, Options>,
      EntityOf<C>,
      Tree extends readonly (infer Paths)[] ? TreeOfPaths<Paths> : Tree
    >
  : ColumnsBy<C, Options>;

type ColumnsBy<C extends KeyedClass, Options> = Options extends { readonly select: readonly (infer Names)[] }
  ? { [P in keyof EntityOf<C> as P & (Names | C['key'][number])]: EntityOf<C>[P] }
  : EntityOf<C>;

/** The options of one relation, with its nested relations in one form. */
interface Written {
  readonly select?: unknown;
  readonly where?: unknown;
  readonly orderBy?: unknown;
  readonly reverse?: unknown;
  readonly limit?: unknown;
  readonly relations: Record<string, Written>;
}

const OPTIONS: ReadonlySet<string> = new Set<ShapeOption>([
  'select',
  'with',
  'where',
  'orderBy',
  'reverse',
  'limit',
]);

const OF_LISTS = ['where', 'orderBy', 'reverse', 'limit'] as const;

/**
 * The relations that `with` was given, as paths or as one tree.
 * @throws QueryError on a name that is no relation, and on options that the other entity cannot take.
 */
export function relatedNodes(
  schema: EntitySchema,
  given: readonly unknown[],
  readers: RelatedReaders,
): RelatedNode[] {
  const [first] = given;
  const relations =
    given.length === 1 && isRecord(first) ? treeWritten(schema, first, readers) : pathsWritten(schema, given);
  if (Object.keys(relations).length === 0) {
    throw new QueryError(`with() names no relation. ${schema.name} has ${listed(schema)}.`);
  }
  return nodesOf(schema, relations, readers);
}

function pathsWritten(schema: EntitySchema, paths: readonly unknown[]): Record<string, Written> {
  const top: Record<string, Written> = {};
  for (const path of paths) {
    if (typeof path !== 'string') throw noRelation(schema, describe(path));
    let level = top;
    for (const name of path.split('.')) {
      if (!Object.hasOwn(level, name)) level[name] = { relations: {} };
      level = level[name]!.relations;
    }
  }
  return top;
}

function treeWritten(
  schema: EntitySchema,
  tree: Readonly<Record<string, unknown>>,
  readers: RelatedReaders,
): Record<string, Written> {
  const written: Record<string, Written> = {};
  for (const [name, shape] of Object.entries(tree)) {
    if (shape === undefined) continue;
    const relation = schema.relations.get(name);
    if (relation === undefined) throw noRelation(schema, `"${name}"`);
    written[name] = shapeWritten(schema, relation, shape, readers);
  }
  return written;
}

function shapeWritten(
  schema: EntitySchema,
  { property, kind, target }: RelationSchema,
  shape: unknown,
  readers: RelatedReaders,
): Written {
  if (shape === true) return { relations: {} };
  const place = `${schema.name}.${property}`;
  if (!isRecord(shape) || isList(shape)) {
    const options = kind === 'many' ? 'select, with, where, orderBy, reverse, limit' : 'select, with';
    throw new QueryError(
      `with: ${place} is ${describe(shape)}. Write true for all of the entity, or an object: { ${options} }.`,
      { details: { entity: schema.name, property } },
    );
  }
  const { with: below, select, where, orderBy, reverse, limit, ...beside } = shape as Record<string, unknown>;
  if (below !== undefined && (!isRecord(below) || isList(below))) {
    throw new QueryError(`with: the "with" of ${place} is an object of relations, not ${describe(below)}.`);
  }
  const inner = { ...beside, ...below };
  const relations = treeWritten(readers(target()).schema, inner, readers);
  return { select, where, orderBy, reverse, limit, relations };
}

function nodesOf(
  schema: EntitySchema,
  relations: Readonly<Record<string, Written>>,
  readers: RelatedReaders,
): RelatedNode[] {
  return Object.entries(relations).map(([name, written]) => {
    const relation = schema.relations.get(name);
    if (relation === undefined) throw noRelation(schema, `"${name}"`);
    return nodeOf(schema, relation, written, readers);
  });
}

function nodeOf(
  schema: EntitySchema,
  relation: RelationSchema,
  { select, relations, ...of }: Written,
  readers: RelatedReaders,
): RelatedNode {
  const { property, kind } = relation;
  const reader = readers(relation.target());
  const target = reader.schema;
  const place = `${schema.name}.${property}`;
  if (kind === 'one') {
    const wrong = OF_LISTS.find((option) => of[option] !== undefined);
    if (wrong !== undefined) {
      throw new QueryError(
        `with: ${place} stands for one ${target.name}, and "${wrong}" is for lists. It takes select and with.`,
        { details: { entity: schema.name, property } },
      );
    }
  }
  if (select !== undefined && !(isList(select) && select.length > 0)) {
    throw new QueryError(`with: select of ${place} is a list of properties, not ${describe(select)}.`);
  }
  const { where, orderBy, reverse, limit } = of;
  if (orderBy !== undefined && !isList(orderBy)) {
    throw new QueryError(
      `with: orderBy of ${place} is a list of a property and a direction, ['name', 'desc'], not ${describe(orderBy)}.`,
    );
  }
  if (reverse !== undefined && typeof reverse !== 'boolean') {
    throw new InvalidArgumentError(`with: reverse of ${place} is true or false, not ${describe(reverse)}.`);
  }
  const children = nodesOf(target, relations, readers);
  const extra = select === undefined ? [] : neededFor(target, children, select as readonly string[]);
  const selected = select === undefined ? undefined : [...(select as readonly string[]), ...extra];
  const narrow = (rows: RelatedRows): RelatedRows => {
    let narrowed = rows;
    if (where !== undefined) narrowed = narrowed.where(where as never);
    if (orderBy !== undefined) narrowed = narrowed.orderBy(...(orderBy as readonly [never]));
    if (reverse === true) narrowed = narrowed.reverse();
    if (limit !== undefined) narrowed = narrowed.limit(limit as number);
    return selected === undefined ? narrowed : narrowed.select(...(selected as never[]));
  };
  // Reports wrong options now, before any row is read.
  narrow(reader.find({} as never));
  return { relation, target, selected, extra, narrow, limit: limit as number | undefined, children };
}

/** The columns that relations are found by and that were not selected. */
export function neededFor(
  schema: EntitySchema,
  nodes: readonly Pick<RelatedNode, 'relation'>[],
  selected: readonly string[],
): string[] {
  const from = nodes.flatMap(({ relation }) => relation.via.map(([, property]) => property));
  const columns = from.filter((property) => schema.columnsByProperty.has(property));
  return [...new Set(columns)].filter(
    (property) => !selected.some((name) => property === name || property.startsWith(`${name}.`)),
  );
}

function noRelation(schema: EntitySchema, name: string): QueryError {
  const option = OPTIONS.has(name.replaceAll('"', ''))
    ? ' Options stand in the object of a relation: with({ relation: { select: […] } }).'
    : '';
  return new QueryError(`with: ${schema.name} has no relation ${name}. It has ${listed(schema)}.${option}`, {
    details: { entity: schema.name },
  });
}

function listed(schema: EntitySchema): string {
  const names = [...schema.relations.keys()];
  return names.length === 0 ? 'none: declare one with @Reference or @References' : names.join(', ');
}
