/** Merges the declarations of a class and of the classes it extends. */

import {
  type AnyClass,
  type CheckDeclaration,
  type ClassDeclaration,
  type ComputedDeclaration,
  type CopyDeclaration,
  classChain,
  type DefaultDeclaration,
  declaredCopies,
  declaredDefaults,
  declaredElements,
  declaredIndexes,
  declaredSummaries,
  type EntityDeclaration,
  type HookDeclaration,
  type IndexDeclaration,
  isDeclaredCopy,
  ownDeclarations,
  type PropertyDeclaration,
  type RelationDeclaration,
  type SummaryDeclaration,
  type TableDeclaration,
  type TableReference,
  type UpgradeDeclaration,
} from '../../decorators/index.js';
import type { KeyElement } from '../key/index.js';
import { describe, isRecord } from '../table/checks.js';
import type { Problems } from './problems.js';

/** All declarations of one entity. */
export interface CollectedEntity {
  readonly target: AnyClass;
  readonly name: string;
  readonly declaration: EntityDeclaration;
  readonly table: TableDeclaration;
  readonly elements: readonly KeyElement[];
  /** The names in `static key`. Undefined when the class lists none. */
  readonly keyNames: readonly string[] | undefined;
  /** In order of declaration, those of base classes first. */
  readonly properties: readonly PropertyDeclaration[];
  /** Those of base classes first. */
  readonly hooks: readonly HookDeclaration[];
  readonly checks: readonly CheckDeclaration[];
  /** Properties with `@Ttl`. */
  readonly ttls: readonly string[];
  /** Properties with `@Required`. */
  readonly required: ReadonlySet<string>;
  readonly defaults: readonly DefaultDeclaration[];
  readonly computed: readonly ComputedDeclaration[];
  readonly indexes: readonly IndexDeclaration[];
  readonly relations: readonly RelationDeclaration[];
  readonly copies: readonly CopyDeclaration[];
  readonly summaries: readonly SummaryDeclaration[];
  readonly upgrades: readonly UpgradeDeclaration[];
}

/** The declarations of `target`. Undefined, with problems, when it is no entity. */
export function collectEntity(target: AnyClass, problems: Problems): CollectedEntity | undefined {
  const className = target.name === '' ? 'An anonymous class' : target.name;
  const inherited = classChain(target).flatMap(ownDeclarations);
  const entities = entityDeclarations(target);
  const name = entities[0]?.name ?? className;
  for (const declaration of inherited) {
    for (const problem of declaration.problems) problems.add(name, undefined, problem, '');
  }
  const declaration = only(entities, name, '@Entity', problems);
  if (declaration === undefined) {
    const above = inherited.some((other) => other.entities.length > 0) ? ' of its own' : '';
    problems.add(
      name,
      undefined,
      `The class has no @Entity${above}.`,
      'Put @Entity({ table }) above the class.',
    );
    return undefined;
  }
  const table = tableOf(declaration.table, name, problems);
  const elements = rowKeyOf(target, name, problems);
  if (table === undefined || elements === undefined) return undefined;
  const summaries = [
    ...inherited.flatMap((other) => other.summaries),
    ...classChain(target).flatMap(declaredSummaries),
  ];
  const indexes = [
    ...inherited.flatMap((other) => other.indexes),
    ...classChain(target).flatMap(declaredIndexes),
  ];
  refuseUndeclared(target, name, { indexes, summaries }, problems);
  return {
    target,
    name,
    declaration,
    table,
    elements,
    keyNames: keyNamesOf(target),
    properties: propertiesOf(target, name, problems),
    hooks: inherited.flatMap((other) => other.hooks),
    checks: inherited.flatMap((other) => other.checks),
    ttls: inherited.flatMap((other) => other.ttls),
    required: new Set(inherited.flatMap((other) => other.required)),
    defaults: defaultsOf(target, inherited),
    computed: inherited.flatMap((other) => other.computed),
    indexes,
    relations: inherited.flatMap((other) => other.relations),
    copies: [...inherited.flatMap((other) => other.copies), ...classChain(target).flatMap(declaredCopies)],
    summaries,
    upgrades: inherited.flatMap((other) => other.upgrades),
  };
}

/** The `@Entity` of the class itself, or of the nearest base class that shares its entity. */
export function entityDeclarations(target: AnyClass): EntityDeclaration[] {
  for (const owner of classChain(target).reverse()) {
    const found = ownDeclarations(owner).flatMap((declaration) => declaration.entities);
    if (found.length > 0) return owner === target || found[0]!.inheritable === true ? found : [];
  }
  return [];
}

/**
 * Reports static indexes, summaries, copies and defaults that declare nothing: in a list, or of another form than the
 * functions make. The names of parts alone may stand beside `@Index`.
 */
function refuseUndeclared(
  target: AnyClass,
  name: string,
  { indexes, summaries }: Pick<CollectedEntity, 'indexes' | 'summaries'>,
  problems: Problems,
): void {
  const check = (
    member: 'indexes' | 'summaries' | 'copies' | 'defaults',
    maker: string,
    isMade: (one: unknown, name: string) => boolean,
  ): void => {
    const stated: unknown = Reflect.get(target, member);
    if (stated === undefined) return;
    const problem = (rule: string, each: string): void =>
      problems.add(
        name,
        undefined,
        `${rule}, which declares nothing.`,
        `Write: static readonly ${member} = { ${each}: ${maker} }.`,
      );
    if (!isRecord(stated)) {
      problem(`Its static ${member} are ${describe(stated)}`, member === 'defaults' ? 'status' : 'byName');
      return;
    }
    for (const [each, one] of Object.entries(stated)) {
      if (isMade(one, each)) continue;
      problem(
        `Its static ${member} have "${each}" as ${isRecord(one) ? 'a plain object' : describe(one)}`,
        each,
      );
    }
  };
  const isListed = (one: unknown, each: string): boolean =>
    Array.isArray(one) && indexes.some((index) => index.name === each);
  check(
    'indexes',
    "index('status')",
    (one, each) => declaredElements(one) !== undefined || isListed(one, each),
  );
  check('summaries', "summary({ by: ['status'], figures: { rows: 'count' } })", (_, each) =>
    summaries.some((one) => one.name === each),
  );
  check('copies', "copy(() => Source, { via: 'sourceId', fields: { own: 'property' } })", isDeclaredCopy);
  check('defaults', "() => 'open'", () => true); // each is checked with the properties, see checkDefaults
}

/** The defaults, one for each property: that of the derived class replaces that of its base. */
function defaultsOf(target: AnyClass, inherited: readonly ClassDeclaration[]): DefaultDeclaration[] {
  const all = [...inherited.flatMap((other) => other.defaults), ...declaredDefaults(target)];
  return [...new Map(all.map((one) => [one.property, one])).values()];
}

function only<T>(found: readonly T[], name: string, decorator: string, problems: Problems): T | undefined {
  if (found.length > 1) {
    problems.add(name, undefined, `The class has ${decorator} ${found.length} times.`, 'Leave one.');
  }
  return found[0];
}

function tableOf(
  reference: TableReference | undefined,
  name: string,
  problems: Problems,
): TableDeclaration | undefined {
  if (reference === undefined || reference === null) {
    problems.add(
      name,
      undefined,
      'Its table is undefined.',
      'Name a class with @Table; if two modules import each other, move the table into a module of its own.',
    );
    return undefined;
  }
  if (typeof reference !== 'function') {
    if (typeof reference === 'object' && typeof reference.name === 'string') return reference;
    problems.add(
      name,
      undefined,
      `Its table is ${describe(reference)}, which is none.`,
      'Name a class with @Table, or what defineTable({ name, families }) answered.',
    );
    return undefined;
  }
  const declarations = classChain(reference).flatMap(ownDeclarations);
  for (const declaration of declarations) {
    for (const problem of declaration.problems) problems.add(reference.name, undefined, problem, '');
  }
  const tables = declarations.flatMap((declaration) => declaration.tables);
  if (tables.length === 0) {
    problems.add(
      name,
      undefined,
      `The class ${reference.name} that it names as its table has no @Table.`,
      `Put @Table({ name, families }) above ${reference.name}.`,
    );
  }
  return tables.at(-1);
}

/** The row key of the nearest class that has one. */
function rowKeyOf(target: AnyClass, name: string, problems: Problems): readonly KeyElement[] | undefined {
  for (const owner of classChain(target).reverse()) {
    const found = ownDeclarations(owner).flatMap((declaration) => declaration.rowKeys);
    const stated = Object.hasOwn(owner, 'key') ? declaredElements(Reflect.get(owner, 'key')) : undefined;
    if (stated !== undefined && found.length > 0) {
      problems.add(name, undefined, 'The class has @RowKey and a static key of rowKey(...).', 'Leave one.');
    }
    if (stated !== undefined) return stated;
    if (found.length > 0) return only(found, name, '@RowKey', problems);
  }
  problems.add(
    name,
    undefined,
    'The class has no row key.',
    "Write in the class: static readonly key = rowKey(part('id')).",
  );
  return undefined;
}

/** `declare static` leaves nothing at run time. A static with a value is checked. */
function keyNamesOf(target: AnyClass): readonly string[] | undefined {
  const key: unknown = Reflect.get(target, 'key');
  return Array.isArray(key) ? key.map(String) : undefined;
}

/** The properties of a class, those of its bases first. A redeclared property replaces that of the base. */
export function propertiesOf(target: AnyClass, name: string, problems: Problems): PropertyDeclaration[] {
  const byName = new Map<string, PropertyDeclaration>();
  for (const declaration of classChain(target).flatMap(ownDeclarations)) {
    const here = new Set<string>();
    for (const property of declaration.properties) {
      if (here.has(property.property)) {
        problems.add(
          name,
          property.property,
          `The property has two storage decorators, one of them @${property.decorator}.`,
          'Leave one.',
        );
      }
      here.add(property.property);
      byName.set(property.property, property);
    }
  }
  return [...byName.values()];
}
