/** Entities for tests: a whole one of defaults, and what a test cares about on top. */

import type { Database } from '../database.js';
import { InvalidArgumentError } from '../errors.js';
import type { Input, KeyedClass } from '../schema/entity-types.js';

/** Makes and stores entities of one class. */
export interface Fixture<C extends KeyedClass> {
  /** The next entity of the defaults, with these properties in place of its own. Stores nothing. */
  build(properties?: Partial<Input<C>>): Input<C>;
  /** As {@link build}, and puts it. */
  store(db: Database, properties?: Partial<Input<C>>): Promise<Input<C>>;
  /** Puts as many, in one call. @throws InvalidArgumentError when the number is no whole number from 0 on. */
  storeMany(db: Database, count: number, properties?: Partial<Input<C>>): Promise<Input<C>[]>;
}

/**
 * A maker of entities. `defaults` is given 1, 2, 3, … and answers a whole entity, so that every one has a key of its own.
 *
 * @example
 * ```ts
 * const aCustomer = fixture(Customer, (n) => ({ customerId: `c${n}`, name: `Customer ${n}` }));
 * const ada = await aCustomer.store(db, { name: 'Ada' });
 * ```
 */
export function fixture<C extends KeyedClass>(target: C, defaults: (n: number) => Input<C>): Fixture<C> {
  let made = 0;
  const build = (properties: Partial<Input<C>> = {}): Input<C> => ({ ...defaults(++made), ...properties });
  return {
    build,
    async store(db, properties) {
      const entity = build(properties);
      await db.repository(target).put(entity);
      return entity;
    },
    async storeMany(db, count, properties) {
      if (!Number.isSafeInteger(count) || count < 0) {
        throw new InvalidArgumentError(
          `storeMany takes a whole number of entities from 0 on, not ${String(count)}.`,
        );
      }
      const entities = Array.from({ length: count }, () => build(properties));
      await db.repository(target).putMany(entities);
      return entities;
    },
  };
}
