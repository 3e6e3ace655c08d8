import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * A property that says how long, in milliseconds, the entity lives from this write on, all of it; undefined: what remains
 * of its life, or of a new one as long as `@Entity({ ttl })` says. The property itself is not stored, and is undefined in
 * loaded entities. A time to live can only shorten that of a family.
 */
export function Ttl(): PropertyDecoratorOf<number> {
  return memberDecorator('Ttl', 'field', (declaration, property) => {
    declaration.ttls.push(property);
  });
}
