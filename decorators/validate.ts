import type { Validator } from './declaration.js';
import { type AnyPropertyDecorator, classDecorator, memberDecorator } from './modes.js';

/** Decorates a property or a class. */
export type ValidateDecorator = AnyPropertyDecorator &
  ((target: unknown, context?: ClassDecoratorContext) => void);

/**
 * Holds a property, or above a class the whole entity, against a Standard Schema validator (zod, valibot, arktype, ...)
 * before each write; a property that is undefined or null is not checked. The write throws with every issue. The
 * validator's own output is not used: a validator changes nothing.
 *
 * @example
 * ```ts
 * @Validate(z.string().email())
 * @Column('d:e', text) email!: string;
 * ```
 */
export function Validate(validator: Validator): ValidateDecorator {
  const onProperty = memberDecorator('Validate', 'field', (declaration, property) => {
    declaration.checks.push({ property, validator });
  });
  const onClass = classDecorator('Validate', (declaration) => {
    declaration.checks.push({ property: undefined, validator });
  });
  return (target: unknown, context?: unknown) => {
    const ofClass = context === undefined || (context as { kind?: string }).kind === 'class';
    if (ofClass) onClass(target, context);
    else onProperty(target, context);
  };
}
