import type { AnyClass } from './any-class.js';
import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/** A class with the names of its key's parts, behind a function, so that modules may import each other. */
export type RelatedType<E extends object, Key extends readonly string[]> = () => (abstract new (
  ...args: never[]
) => E) & { readonly key: Key };

/** What becomes of the entities that name one which is deleted. */
export type OnDelete = 'restrict' | 'cascade' | 'setNull';

/** Options of `@Reference`: referential rules, on the embedded engine (docs/relations.md). */
export interface ReferenceOptions {
  /**
   * When the other is deleted: `restrict` refuses it with ERR_REFERENCE, `cascade` deletes this one too, `setNull` takes the
   * properties away that name it. In the same step. Default: nothing.
   */
  readonly onDelete?: OnDelete;
  /** Whether a write that names an entity which is not there is refused with ERR_REFERENCE. Default: with `onDelete`. */
  readonly exists?: boolean;
}

/** Options of `@References`. */
export interface ReferencesOptions {
  /** Entities that one may have at most; more are an error where they are read. Default 1000. */
  readonly max?: number;
}

/**
 * A property that stands for one other entity: `via` says for each part of the other's key which property of this one
 * holds it. It is not stored, and undefined until a query asks for it by `with`; then it is the entity, or null.
 *
 * @example
 * ```ts
 * @Reference(() => Customer, { customerId: 'customerId' }, { onDelete: 'restrict' }) customer?: Customer | null;
 * ```
 */
export function Reference<E extends object, const Key extends readonly string[]>(
  target: RelatedType<E, Key>,
  via: { readonly [Part in Key[number]]: string },
  options: ReferenceOptions = {},
): PropertyDecoratorOf<E> {
  return memberDecorator('Reference', 'field', (declaration, property) => {
    declaration.relations.push({
      kind: 'one',
      decorator: 'Reference',
      property,
      target: target as () => AnyClass,
      via,
      rule: options,
    });
  });
}

/**
 * A property that stands for the entities whose keys begin with values of this one: `via` says for the leading parts of
 * the other's key which property of this one holds them. It is not stored, and undefined until a query asks for it by
 * `with`; then it is the list, in the order of the other's key.
 *
 * @example
 * ```ts
 * @References(() => Line, { orderNo: 'orderNo' }) lines?: Line[];
 * ```
 */
export function References<E extends object, const Key extends readonly string[]>(
  target: RelatedType<E, Key>,
  via: { readonly [Part in Key[number]]?: string },
  options: ReferencesOptions = {},
): PropertyDecoratorOf<E[]> {
  return memberDecorator('References', 'field', (declaration, property) => {
    declaration.relations.push({
      kind: 'many',
      decorator: 'References',
      property,
      target: target as () => AnyClass,
      via: via as Readonly<Record<string, string>>,
      max: options?.max,
    });
  });
}
