import type { TableDeclaration } from './declaration.js';
import { type AnyClassDecorator, classDecorator } from './modes.js';

/**
 * Declares a table and its families on a class, to be named by `@Entity({ table })`. The name is always written: it is
 * never taken from the class, whose name a minifier may change.
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

/** A table without a class, for `defineEntity` and for `@Entity({ table })`. */
export function defineTable<const Families extends TableDeclaration['families']>(
  table: TableDeclaration & { readonly families: Families },
): DefinedTable<keyof Families & string> {
  return Object.freeze({ ...table });
}

/** A table whose family names the compiler knows. */
export interface DefinedTable<Family extends string = string> extends TableDeclaration {
  readonly families: Readonly<Record<Family, TableDeclaration['families'][string]>>;
}
