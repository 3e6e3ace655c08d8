/**
 * Decorator types for both modes: TypeScript's `experimentalDecorators`, which calls `(prototype, name)` and
 * `(class)`, and standard decorators, which call `(undefined, context)` and `(class, context)`.
 */

import { SchemaError } from '../src/errors.js';
import type { AnyClass, ClassDeclaration } from './declaration.js';
import { declarationOn } from './metadata.js';

/**
 * Decorates a property of type `T`, which may also be null or optional. One signature serves both modes
 * instead of two overloads, so that the compiler's message names the property and its type.
 */
export type PropertyDecoratorOf<T> = <Name extends string>(
  target: { readonly [P in Name]?: T | null | undefined } | undefined,
  property: Name | ClassFieldDecoratorContext<never, T | null | undefined>,
) => void;

/**
 * Decorates a property whose type accepts every `T`, so that any value the decorator sets fits the property.
 */
export type PropertyDecoratorFrom<T> = <
  Target,
  Property extends string | symbol | ClassFieldDecoratorContext,
>(
  target: Target,
  property: Property & CheckedProperty<T, Target, Property>,
) => void;

/** `unknown` when the property accepts every `T`, else a type that states which values it accepts. */
export type CheckedProperty<T, Target, Property> =
  Property extends ClassFieldDecoratorContext<infer _This, infer Value>
    ? Takes<T, Value>
    : Property extends keyof Target
      ? Takes<T, Target[Property]>
      : never;

type Takes<T, Value> = [T] extends [Value] ? unknown : { readonly 'The property only takes': Value };

/** Decorates a property of any type. */
export type AnyPropertyDecorator = (
  target: object | undefined,
  property: string | symbol | ClassFieldDecoratorContext,
) => void;

/** Decorates a class. */
export type AnyClassDecorator = (target: AnyClass, context?: ClassDecoratorContext) => void;

/** Decorates a method. */
export type AnyMethodDecorator = (
  target: object,
  property: string | symbol | ClassMethodDecoratorContext,
  descriptor?: PropertyDescriptor,
) => void;

interface StandardContext {
  readonly kind: string;
  readonly name: string | symbol | undefined;
  readonly static?: boolean;
  readonly private?: boolean;
  readonly metadata: object | undefined;
}

/**
 * Creates a property or method decorator that runs `declare` with the class's declaration and the member's
 * name.
 */
export function memberDecorator(
  decorator: string,
  kind: 'field' | 'method',
  declare: (declaration: ClassDeclaration, name: string) => void,
): (target: unknown, property: unknown) => void {
  return (target, property) => {
    if (typeof property === 'object' && property !== null) {
      const context = property as StandardContext;
      const declaration = declarationOn(metadataOf(decorator, context));
      if (context.kind !== kind) {
        declaration.problems.push(
          `@${decorator} is on the ${context.kind} "${String(context.name)}". Put it on a ${kind}.`,
        );
      } else if (context.static === true || context.private === true) {
        declaration.problems.push(
          `@${decorator} is on "${String(context.name)}", which is ${context.static ? 'static' : 'private (#)'}. Put it on a plain property.`,
        );
      } else {
        declareNamed(decorator, declaration, context.name, declare);
      }
      return;
    }
    if (typeof target === 'function') {
      declarationOn(target).problems.push(
        `@${decorator} is on the static property "${String(property)}". Put it on a plain property.`,
      );
      return;
    }
    const owner = (target as object).constructor;
    declareNamed(decorator, declarationOn(owner), property as string | symbol, declare);
  };
}

function declareNamed(
  decorator: string,
  declaration: ClassDeclaration,
  name: string | symbol | undefined,
  declare: (declaration: ClassDeclaration, name: string) => void,
): void {
  if (typeof name === 'string') declare(declaration, name);
  else declaration.problems.push(`@${decorator} is on ${String(name)}. Give the property a string name.`);
}

/**
 * Creates a class decorator that runs `declare` with the class's declaration. It reads nothing from the class
 * itself.
 */
export function classDecorator(
  decorator: string,
  declare: (declaration: ClassDeclaration) => void,
): (target: unknown, context?: unknown) => void {
  return (target, context) => {
    const { kind, name } =
      typeof context === 'object' && context !== null
        ? (context as StandardContext)
        : { kind: context === undefined ? 'class' : 'property', name: context };
    if (kind !== 'class') {
      throw new SchemaError(`@${decorator} is on the ${kind} "${String(name)}". Put it above the class.`);
    }
    const holder =
      context === undefined ? (target as object) : metadataOf(decorator, context as StandardContext);
    declare(declarationOn(holder));
  };
}

function metadataOf(decorator: string, context: StandardContext): object {
  if (context.metadata === undefined) {
    throw new SchemaError(
      `@${decorator}: the compiler gave no decorator metadata. Import rowan-orm before anything that defines ` +
        'Symbol.metadata differently, or use a compiler of the 2023-05 decorators or newer.',
    );
  }
  return context.metadata;
}
