/**
 * Stores declarations: by `reflect-metadata` on the class itself in TypeScript's own decorator mode, and on
 * the class's metadata object in the standard mode. Importing this file defines `Symbol.metadata` if the
 * runtime lacks it (all Node versions up to 24), so that compilers' helpers find it.
 */

// This build of the polyfill leaves out support for runtimes before ES2015; it shares its store with the full
// build.
import 'reflect-metadata/lite';
import { type AnyClass, type ClassDeclaration, emptyDeclaration } from './declaration.js';

const METADATA: symbol = defineSymbolMetadata();
const DECLARATION = 'rowan:declaration';

function defineSymbolMetadata(): symbol {
  const holder = Symbol as { readonly metadata?: symbol };
  if (holder.metadata === undefined) {
    Object.defineProperty(Symbol, 'metadata', { value: Symbol.for('Symbol.metadata') });
  }
  return holder.metadata ?? Symbol.for('Symbol.metadata');
}

/**
 * Returns the declaration stored on `holder` (a class or a metadata object), and creates it if there is none.
 */
export function declarationOn(holder: object): ClassDeclaration {
  const existing: ClassDeclaration | undefined = Reflect.getOwnMetadata(DECLARATION, holder);
  if (existing !== undefined) return existing;
  const created = emptyDeclaration();
  Reflect.defineMetadata(DECLARATION, created, holder);
  return created;
}

/** The declarations of this class alone. There are several if decorators of both modes were applied to it. */
export function ownDeclarations(target: AnyClass): ClassDeclaration[] {
  const found: ClassDeclaration[] = [];
  const legacy: ClassDeclaration | undefined = Reflect.getOwnMetadata(DECLARATION, target);
  if (legacy !== undefined) found.push(legacy);
  const holder: unknown = Object.hasOwn(target, METADATA) ? Reflect.get(target, METADATA) : undefined;
  if (typeof holder === 'object' && holder !== null) {
    const standard: ClassDeclaration | undefined = Reflect.getOwnMetadata(DECLARATION, holder);
    if (standard !== undefined) found.push(standard);
  }
  return found;
}

/** The class and its base classes, the most basic first. */
export function classChain(target: AnyClass): AnyClass[] {
  const chain: AnyClass[] = [];
  let current: unknown = target;
  while (typeof current === 'function' && current !== Function.prototype) {
    chain.unshift(current as AnyClass);
    current = Object.getPrototypeOf(current);
  }
  return chain;
}

/** The constructor that the compiler emitted as the property's type; undefined if it emitted none. */
export function emittedType(target: AnyClass, property: string): unknown {
  return Reflect.getMetadata('design:type', target.prototype as object, property);
}
