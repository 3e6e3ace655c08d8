/**
 * The interface through which the query planner uses access paths: ways to rows beside their key. A feature implements
 * it, and is listed in `feature-planners.ts`.
 */

import type { KeyPlan } from '../key/types.js';
import type { EntitySchema, IndexSchema } from '../schema/types.js';
import type { PathAccess, TableAccess } from './access.js';
import type { RowCheck } from './bulk-change.js';
import type { Condition } from './condition.js';
import type { FindOptions } from './find-options.js';
import { describeKeyConditions } from './key-conditions.js';
import type { ReadSet } from './projection.js';
import type { AccessPath, OtherPath, PathUse, QuerySpec } from './query-spec.js';
import type { ReadPlan } from './read-plan.js';
import type { Finish } from './row.js';

/** The plan of a query by an access path. */
export interface PathPlan {
  readonly spec: QuerySpec;
  readonly use: PathUse;
  /** The ranges of entries. */
  readonly keyPlan: KeyPlan;
  /** Whether entries hold everything the query needs, so that no rows are read. */
  readonly covered: boolean;
  /** The columns to read, or to build from entries. */
  readonly read: ReadSet;
  /** Conditions left to be tested on rows, beyond those on the path's parts. */
  readonly local: readonly Condition[];
  readonly finish: Finish | undefined;
}

/** Look-ups of one entity by equality on the parts of a path, without a plan. */
export interface EqualLookUps {
  /**
   * The entity, or with `first` the first of several; null when there is none. Undefined where the general path is
   * needed. The index must be active. @throws KeyError on a bad value; errors of the tables and the mapper.
   */
  find(
    spec: QuerySpec,
    key: PathUse['key'],
    options: FindOptions,
    first: boolean,
  ): object | null | Promise<object | null> | undefined;
}

/** Offers access paths to the planner. */
export interface PathPlanner {
  /** @throws QueryError when queries cannot use the path. */
  requireActive(schema: EntitySchema, index: IndexSchema, access: PathAccess | undefined): void;
  /**
   * Chooses the path that leaves the least to read. `keyPlan`: what the key would read. Undefined: the key is read.
   * `others` says why the other paths are not used.
   */
  choose(
    spec: QuerySpec,
    access: PathAccess,
    keyPlan: KeyPlan,
  ): { readonly use: PathUse | undefined; readonly others: readonly OtherPath[] };
  /** @throws KeyError, QueryError on conditions that the path cannot search. */
  plan(spec: QuerySpec, use: PathUse): PathPlan;
  /** @param entries the table of the entries. */
  readPlan(plan: PathPlan, entries: TableAccess): ReadPlan;
  /** The entities, read in this turn. Undefined where the general path is needed. */
  lookUp(
    plan: PathPlan,
    access: TableAccess,
    options: FindOptions,
    limit: number,
  ): object[] | Promise<object[]> | undefined;
  /** Undefined where only plans can read by the path. */
  lookUpsBy(path: AccessPath, access: TableAccess): EqualLookUps | undefined;
  /** Tests whether a row that was found by the path still has an entry in its range. */
  membership(spec: QuerySpec, use: PathUse): RowCheck;
}

/** The part of a cursor's identity that names the path: a position in one index is none in another. */
export function pathIdentity({ use }: PathPlan): string {
  return ` ${use.path.index.signature} ${describeKeyConditions(use.key)}`;
}
