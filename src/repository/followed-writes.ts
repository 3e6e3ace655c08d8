/** What the image of a row does not say, and nothing that follows the row could follow: one rule for indexes and copies. */

import { UnsupportedError } from '../errors.js';
import type { EntitySchema } from '../schema/types.js';
import { LATEST_TIMESTAMP, type RowMutation } from '../table/index.js';

/** @throws UnsupportedError on a ttl of a single write, and on deletes of a time to come. `has`: what follows the entity. */
export function refuseUnfollowed(
  schema: EntitySchema,
  has: string,
  mutations: readonly RowMutation[],
  now: () => number,
): void {
  for (const mutation of mutations) {
    if (mutation.kind !== 'delete') {
      if (mutation.ttl === undefined || schema.timeToLive.lifelong) continue;
      throw unsupported(
        schema,
        has,
        'a ttl for a single write',
        'Declare how long the entity lives: @Ttl on a property, or @Entity({ ttl }).',
      );
    }
    const times = [mutation.timestamp, ...mutation.cells.map(({ timestamp }) => timestamp)];
    if (times.every((time) => time === LATEST_TIMESTAMP || time <= now())) continue;
    throw unsupported(
      schema,
      has,
      'a delete of a time to come',
      'Delete up to the present: leave out the timestamp.',
    );
  }
}

function unsupported({ name }: EntitySchema, has: string, what: string, mend: string): UnsupportedError {
  return new UnsupportedError(`${name} has ${has}, which do not go together with ${what}. ${mend}`, {
    details: { entity: name },
  });
}
