/**
 * Tells requests from other objects. Not by `instanceof`: a program may hold two copies of this module (a bundle beside the
 * package, tests with fresh modules), and what one makes the other must take. Nothing that comes as text can carry a symbol.
 */

const BRAND: unique symbol = Symbol.for('rowan-orm.request') as never;

export type Request = 'get' | 'scan' | 'mutation' | 'rowMutations' | 'checkAndMutate';

/** Says what the instances of a class, and of those that extend it, are. */
export function brand(target: { readonly prototype: object }, request: Request): void {
  Object.defineProperty(target.prototype, BRAND, { value: request });
}

/** What a value is; undefined when it is no request. */
export function requestOf(given: unknown): Request | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  return (given as { readonly [BRAND]?: Request })[BRAND];
}
