/** Order by a column. */

import { InvalidArgumentError, QueryError } from '../errors.js';
import { type EntitySchema, isSingleCell, valueAt } from '../schema/types.js';
import { describe } from '../table/checks.js';
import { valueComparator } from './evaluate.js';
import type { QuerySpec } from './query-spec.js';

type OrderBy = NonNullable<QuerySpec['orderBy']>;

/** @throws QueryError when the property has no order; InvalidArgumentError on another direction. */
export function orderedProperty(schema: EntitySchema, property: string, direction: 'asc' | 'desc'): OrderBy {
  if (direction !== 'asc' && direction !== 'desc') {
    throw new InvalidArgumentError(`orderBy: the direction is "asc" or "desc", not ${describe(direction)}.`);
  }
  comparatorOf(schema, property);
  return { property, descending: direction === 'desc' };
}

/** Compares loaded entities. Absent values come last in both directions. */
export function compareItems(
  schema: EntitySchema,
  { property, descending }: OrderBy,
): (a: object, b: object) => number {
  const compare = comparatorOf(schema, property);
  const path = schema.columnsByProperty.get(property)?.path ?? [property];
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const left = valueAt(a, path);
    const right = valueAt(b, path);
    if (left === undefined || right === undefined) {
      return Number(left === undefined) - Number(right === undefined);
    }
    return sign * compare(left, right);
  };
}

function comparatorOf(schema: EntitySchema, property: string): (a: unknown, b: unknown) => number {
  const column = schema.columnsByProperty.get(property);
  const part = schema.key.parts.find(({ name, recoverable }) => name === property && recoverable);
  const codec = column?.codec ?? part?.codec;
  if (codec === undefined || (column !== undefined && !isSingleCell(column))) {
    throw new QueryError(
      `orderBy: ${schema.name} has no column ${typeof property === 'string' ? `"${property}"` : describe(property)} of one value to sort by.`,
      {
        details: { entity: schema.name, property },
      },
    );
  }
  return valueComparator(property, codec);
}

/** The refusal of a page in the order of a column. */
export function orderedPage(): QueryError {
  return new QueryError(
    'page() reads in the order of the key, so it cannot be combined with orderBy(). Use limit() and all().',
  );
}

/** The refusal of sorting rows of which any number may come. */
export function unboundedOrder(): QueryError {
  return new QueryError(
    'orderBy() needs a bound, for its rows are sorted in memory: add limit(n), or all({ max: n }).',
  );
}
