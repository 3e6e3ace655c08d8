import type { ColumnName, ColumnOptions, NestedType } from './declaration.js';
import { type AnyPropertyDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';

/** A class behind a function, so that modules may import each other. */
export type ClassOf<T> = () => abstract new (...args: never[]) => T;

/**
 * Stores a property as JSON in one cell. With a class the value is rebuilt as its instance by class-transformer
 * (`@Type`, `@Transform`, `@Exclude` work); with a class in a list, as a list of instances.
 *
 * @example
 * ```ts
 * @Json('d:tags') tags!: string[];
 * @Json('d:addr', () => Address) address?: Address | null;
 * @Json('d:lines', () => [LineItem]) lines!: LineItem[];
 * ```
 */
export function Json(column: ColumnName): AnyPropertyDecorator;
export function Json<T extends object>(
  column: ColumnName,
  type: () => readonly [abstract new (...args: never[]) => T],
  options?: ColumnOptions<readonly T[]>,
): PropertyDecoratorOf<readonly T[]>;
export function Json<T extends object>(
  column: ColumnName,
  type: ClassOf<T>,
  options?: ColumnOptions<T>,
): PropertyDecoratorOf<T>;
export function Json(
  column: ColumnName,
  type: undefined,
  options: ColumnOptions<unknown>,
): AnyPropertyDecorator;
export function Json(
  column: ColumnName,
  type?: NestedType,
  options?: ColumnOptions<unknown>,
): AnyPropertyDecorator {
  return memberDecorator('Json', 'field', (declaration, property) => {
    const was = options?.was;
    declaration.properties.push({
      kind: 'json',
      decorator: 'Json',
      property,
      column,
      type,
      ...(was && { was }),
    });
  });
}
