import { type BytesLike, equalBytes, toStringBinary } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { brand, checkBytes, checkFamily, checkRow, describe, requestOf } from './checks.js';
import { type CompareOperator, checkFilter, type Filter } from './filter/filters.js';
import { TimeRange } from './get-and-scan.js';
import type { RowMutation } from './mutation.js';
import type { Result } from './result.js';

/** Several changes of one row that take effect together (HBase `RowMutations`, R76). */
export class RowMutations {
  readonly kind = 'rowMutations';
  readonly row: Uint8Array;
  readonly mutations: RowMutation[] = [];

  constructor(row: BytesLike) {
    this.row = checkRow(row);
  }

  /** @throws InvalidArgumentError when a mutation is of another row. */
  add(...mutations: readonly RowMutation[]): this {
    for (const mutation of mutations) {
      if (requestOf(mutation) !== 'mutation') {
        throw new InvalidArgumentError(`Row mutations take mutations, not ${describe(mutation)}.`);
      }
      if (!equalBytes(mutation.row, this.row)) {
        throw new InvalidArgumentError(
          `The mutation is of row ${toStringBinary(mutation.row)}, the row mutations are of ${toStringBinary(this.row)}.`,
        );
      }
      this.mutations.push(mutation);
    }
    return this;
  }
}

brand(RowMutations, 'rowMutations');

/** The condition of a conditional change. */
export type CheckCondition =
  | {
      readonly kind: 'column';
      readonly family: string;
      readonly qualifier: Uint8Array;
      readonly operator: CompareOperator;
      /** The expected value, the left side of the comparison (R72); null: the column must be absent or empty (R73). */
      readonly value: Uint8Array | null;
      readonly timeRange: TimeRange;
    }
  | { readonly kind: 'filter'; readonly filter: Filter; readonly timeRange: TimeRange };

/** Changes a row if it matches a condition, in one atomic step (HBase `CheckAndMutate`, R72-R75). */
export class CheckAndMutate {
  readonly kind = 'checkAndMutate';
  private constructor(
    readonly row: Uint8Array,
    readonly condition: CheckCondition,
    readonly action: RowMutation | RowMutations,
  ) {
    if (!equalBytes(action.row, row)) {
      throw new InvalidArgumentError('The action of a checkAndMutate must be of the row that is checked.');
    }
  }

  /** The same check with another action. */
  withAction(action: RowMutation | RowMutations): CheckAndMutate {
    checkAction(action);
    return new CheckAndMutate(this.row, this.condition, action);
  }

  /** If `value operator stored` holds, in this order: `'GREATER'` passes when the given value is greater (R72). */
  static ifMatches(
    column: {
      readonly family: string;
      readonly qualifier: Uint8Array;
      readonly operator: CompareOperator;
      readonly value: Uint8Array | null;
      readonly timeRange?: TimeRange;
    },
    action: RowMutation | RowMutations,
  ): CheckAndMutate {
    if (typeof column !== 'object' || column === null) {
      throw new InvalidArgumentError(
        `A checked column is { family, qualifier, operator, value }, not ${describe(column)}.`,
      );
    }
    const { operator, timeRange = TimeRange.ALL } = column;
    const family = checkFamily(column.family);
    const qualifier = checkBytes(column.qualifier, 'qualifier');
    const value = column.value === null ? null : checkBytes(column.value, 'value to compare with');
    checkAction(action);
    return new CheckAndMutate(
      action.row,
      { kind: 'column', family, qualifier, operator, value, timeRange },
      action,
    );
  }

  static ifEquals(
    family: string,
    qualifier: Uint8Array,
    value: Uint8Array,
    action: RowMutation | RowMutations,
  ): CheckAndMutate {
    return CheckAndMutate.ifMatches({ family, qualifier, operator: 'EQUAL', value }, action);
  }

  static ifNotExists(
    family: string,
    qualifier: Uint8Array,
    action: RowMutation | RowMutations,
  ): CheckAndMutate {
    return CheckAndMutate.ifMatches({ family, qualifier, operator: 'EQUAL', value: null }, action);
  }

  /** If a get with this filter returns anything (R74). */
  static ifFilter(
    filter: Filter,
    action: RowMutation | RowMutations,
    timeRange: TimeRange = TimeRange.ALL,
  ): CheckAndMutate {
    checkAction(action);
    return new CheckAndMutate(action.row, { kind: 'filter', filter: checkFilter(filter), timeRange }, action);
  }
}

brand(CheckAndMutate, 'checkAndMutate');

/** Whether a value is a CheckAndMutate. */
export function isCheckAndMutate(given: unknown): given is CheckAndMutate {
  return requestOf(given) === 'checkAndMutate';
}

/** @throws InvalidArgumentError unless it changes a row. */
function checkAction(action: RowMutation | RowMutations): void {
  const request = requestOf(action);
  if (request === 'mutation' || request === 'rowMutations') return;
  throw new InvalidArgumentError(`A checkAndMutate does a mutation, not ${describe(action)}.`);
}

export interface CheckAndMutateResult {
  readonly success: boolean;
  /** The result of an increment or append in the action, if it was executed. */
  readonly result: Result | undefined;
}
