import type { EntityIndex } from '../indexes/index.js';
import type { KeyConditions } from '../key/types.js';
import type { Condition } from './condition.js';

/** An index, and what is asked of its parts. */
export interface IndexUse {
  readonly index: EntityIndex;
  readonly key: KeyConditions;
  /** Conditions of the query that every entry which is read meets. */
  readonly served: ReadonlySet<Condition>;
  /** Why it and no other. */
  readonly why: string;
  /** The other indexes, and what they would cost. */
  readonly others: readonly OtherIndex[];
}

export interface OtherIndex {
  readonly name: string;
  readonly why: string;
}
