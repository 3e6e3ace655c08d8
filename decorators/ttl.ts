import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * A property that says how long, in milliseconds, the cells of a put live; undefined: as long as `@Entity({ ttl })` or
 * the family says. The property itself is not stored. A cell's time to live can only shorten its family's.
 */
export function Ttl(): PropertyDecoratorOf<number> {
  return memberDecorator('Ttl', 'field', (declaration, property) => {
    declaration.ttls.push(property);
  });
}
