import { type AnyPropertyDecorator, memberDecorator } from './modes.js';

/**
 * A column that every stored entity has: `put`, `insert` and `replace` refuse an entity without it, and `update` does not
 * delete it, also where types were cast away. Types are not known at run time, so it is said.
 */
export function Required(): AnyPropertyDecorator {
  return memberDecorator('Required', 'field', (declaration, property) => {
    declaration.required.push(property);
  });
}
