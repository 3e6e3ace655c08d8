/** Sums without lost digits: whole numbers and decimals are added as bigints, doubles with what rounding loses. */

import { BigintSum } from './bigint-sum.js';
import { DecimalSum } from './decimal-sum.js';
import { DoubleSum } from './double-sum.js';
import { notSummable, type RunningSum } from './running-sum.js';

/** @throws QueryError when the value is no number: the property is named. */
export function sumFor(property: string, first: unknown): RunningSum {
  switch (typeof first) {
    case 'number':
      return new DoubleSum(property);
    case 'bigint':
      return new BigintSum(property);
    case 'string':
      return new DecimalSum(property);
    default:
      throw notSummable(property, first);
  }
}
