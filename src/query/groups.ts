import type { EntityOf } from '../schema/entity-types.js';
import type { EntityClass } from '../schema/types.js';

/** The rows of a collection, by class. */
export class Groups {
  constructor(private readonly items: readonly object[]) {}

  /** The instances of one class, in the order of their keys. */
  of<C extends EntityClass>(target: C): EntityOf<C>[] {
    return this.items.filter((item): item is EntityOf<C> => item instanceof target);
  }
}
