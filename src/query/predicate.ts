import { QueryError } from '../errors.js';
import type { KeyedClass } from '../schema/entity-types.js';
import type { Condition } from './condition.js';

/** A condition made by `WhereBuilder`. */
export interface Predicate<C extends KeyedClass> {
  /** Only in types: keeps the predicates of two entities apart. */
  readonly $entity?: (entity: C) => void;
  readonly condition: Condition;
}

/** How deep `and`, `or` and `not` may be put into each other. */
const MAX_DEPTH = 64;

/** What the builder makes: refuses conditions that are put into each other too deep. */
export class BuiltPredicate<C extends KeyedClass> implements Predicate<C> {
  declare readonly $entity?: (entity: C) => void;
  private readonly depth: number;

  constructor(
    readonly condition: Condition,
    parts: readonly unknown[],
  ) {
    const depths = parts.map((part) => (part instanceof BuiltPredicate ? part.depth : 0));
    this.depth = 1 + Math.max(0, ...depths);
    if (this.depth > MAX_DEPTH) {
      throw new QueryError(
        `where: conditions are put into each other more than ${MAX_DEPTH} deep. and() and or() take any number of parts.`,
      );
    }
  }
}
