/** `@Entity({ ttl, renewTtl })` and `@Ttl` -> how long rows live, with every rule that they can break. */

import { describe } from '../table/checks.js';
import type { CollectedEntity } from './collect.js';
import type { Problems } from './problems.js';
import type { TimeToLive } from './types.js';

export function timeToLiveOf(source: CollectedEntity, problems: Problems): TimeToLive {
  const { ttl } = source.declaration;
  if (ttl !== undefined && (!Number.isSafeInteger(ttl) || ttl <= 0)) {
    problems.add(
      source.name,
      undefined,
      `Its ttl is ${typeof ttl === 'number' ? ttl : describe(ttl)}.`,
      'Give a whole number of milliseconds above 0, or leave it out.',
    );
  }
  const [property, second] = source.ttls;
  if (second !== undefined) {
    problems.add(
      source.name,
      second,
      `It is the second property with @Ttl; the first is "${property}".`,
      'Leave one.',
    );
  }
  if (source.properties.some((stored) => stored.property === property)) {
    problems.add(
      source.name,
      property,
      'It has @Ttl and is stored as well.',
      'Put @Ttl on a property of its own: it is not stored.',
    );
  }
  const { renewTtl = false, marker } = source.declaration;
  const ends = property !== undefined || ttl !== undefined;
  if (renewTtl && !ends) {
    problems.add(
      source.name,
      undefined,
      'It has renewTtl, and nothing to renew.',
      'Give @Entity({ ttl }) or a property with @Ttl.',
    );
  }
  return Object.freeze({ property, milliseconds: ttl, renew: renewTtl, lifelong: ends && marker !== false });
}
