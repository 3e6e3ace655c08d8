import type { Validator } from './declaration.js';
import { type AnyPropertyDecorator, classDecorator, memberDecorator } from './modes.js';

/** Decorates a property or a class. */
export type CheckDecorator = AnyPropertyDecorator &
  ((target: unknown, context?: ClassDecoratorContext) => void);

/**
 * Holds a property, or above a class the whole entity, against a Standard Schema validator (zod, valibot, arktype, ...)
 * before each write; a property that is undefined or null is not checked. The write throws with every issue. The
 * validator's own output is not used: a check changes nothing.
 *
 * @example
 * ```ts
 * @Check(z.string().email())
 * @Column('d:e', text) email!: string;
 * ```
 */
export function Check(validator: Validator): CheckDecorator {
  const onProperty = memberDecorator('Check', 'field', (declaration, property) => {
    declaration.checks.push({ property, validator });
  });
  const onClass = classDecorator('Check', (declaration) => {
    declaration.checks.push({ property: undefined, validator });
  });
  return (target: unknown, context?: unknown) => {
    const ofClass = context === undefined || (context as { kind?: string }).kind === 'class';
    if (ofClass) onClass(target, context);
    else onProperty(target, context);
  };
}
