import { describe, isRecord, optionsProblem } from '../src/table/checks.js';
import type { CheckedDefaults } from './column.js';
import type { AnyClass, EntityDeclaration, TableDeclaration } from './declaration.js';
import type { CheckedCopies } from './denormalized.js';
import type { CheckedIndexes } from './indexes.js';
import { type AnyClassDecorator, classDecorator } from './modes.js';
import type { CheckedKey, KeyElements } from './row-key-types.js';
import type { CheckedSummaries } from './summary.js';

/**
 * Declares a table and its families on a class, for `@Entity({ table })`. The table name is required: it is
 * never derived from the class name, which a minifier may change.
 *
 * @example
 * ```ts
 * @Table({ name: 'shop:crm', families: { d: { compression: 'SNAPPY' }, p: {} }, presplit: { regions: 16 } })
 * class Crm {}
 * ```
 */
export function Table(table: TableDeclaration): AnyClassDecorator {
  return classDecorator('Table', (declaration) => declaration.tables.push(table));
}

/** Declares a table without a class, for `defineEntity` and for `@Entity({ table })`. */
export function defineTable<const Families extends TableDeclaration['families']>(
  table: TableDeclaration & { readonly families: Families },
): DefinedTable<keyof Families & string> {
  return Object.freeze({ ...table });
}

/** A table whose family names the compiler knows. */
export interface DefinedTable<Family extends string = string> extends TableDeclaration {
  readonly families: Readonly<Record<Family, TableDeclaration['families'][string]>>;
}

/**
 * The constraint on a class that declares key, indexes, summaries, copies and defaults in statics. An interface, like
 * `RowKeyClass`.
 */
export interface EntityTarget<C extends { readonly prototype: unknown }> {
  readonly prototype: CheckedKey<C> &
    CheckedIndexes<C> &
    CheckedSummaries<C> &
    CheckedCopies<C> &
    CheckedDefaults<C>;
}

/** The statics to check. Indexes and summaries that a class only lists pass the same check. */
type Stated =
  | { readonly key: KeyElements }
  | { readonly prototype: { readonly key: KeyElements } }
  | { readonly indexes: Readonly<Record<string, KeyElements>> }
  | { readonly summaries: object }
  | { readonly copies: object }
  | { readonly defaults: object };

/**
 * Accepts only classes whose properties fit the key, indexes, summaries, copies and defaults in their statics. Other classes,
 * which `@RowKey` and similar decorators check, are recognized by one type comparison.
 */
export type EntityDecorator = <C extends AnyClass>(
  target: C extends Stated ? C & NoInfer<EntityTarget<C>> : C,
  context?: unknown,
) => void;

/**
 * Declares that the instances of a class are stored as rows of a table.
 *
 * @example
 * ```ts
 * @Entity({ table: Crm, recordType: 1 })
 * @RowKey(salt(16), part('customerId'), recordType())
 * class Customer {
 *   declare static readonly key: ['customerId'];
 *   customerId!: string;
 *   @Column('d:n', text) name!: string;
 * }
 * ```
 */
export function Entity(entity: EntityDeclaration): EntityDecorator {
  return classDecorator('Entity', (declaration) => {
    if (!isRecord(entity)) {
      declaration.problems.push(`@Entity takes { table }, not ${describe(entity)}.`);
      return;
    }
    declaration.entities.push(entity);
    const { inheritable: _, ...options } = entity;
    const problem = optionsProblem('@Entity', options, ENTITY_OPTIONS);
    if (problem !== undefined) declaration.problems.push(problem);
  });
}

/** The options of `@Entity` that `defineEntity` takes, too. */
export const ENTITY_OPTIONS: Readonly<Record<keyof Omit<EntityDeclaration, 'inheritable'>, true>> = {
  table: true,
  recordType: true,
  name: true,
  marker: true,
  ttl: true,
  renewTtl: true,
  changes: true,
  mutual: true,
  schemaVersion: true,
  retired: true,
};
