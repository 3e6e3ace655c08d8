/** `@Entity({ ttl, renewTtl })` and `@Ttl` -> how long rows live, and for how long their changes are kept, with every rule that they can break. */

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

/** The longest that a cell can live, ms. */
const LONGEST_KEPT = 2 ** 52 - 1;

export function changesKeptOf(source: CollectedEntity, problems: Problems): number | undefined {
  const changes: unknown = source.declaration.changes;
  if (changes === undefined) return undefined;
  const isObject = typeof changes === 'object' && changes !== null;
  const keep: unknown = isObject ? Reflect.get(changes, 'keep') : undefined;
  const others = isObject ? Object.keys(changes).filter((name) => name !== 'keep') : [];
  if (Number.isSafeInteger(keep) && Number(keep) > 0 && Number(keep) <= LONGEST_KEPT && others.length === 0)
    return Number(keep);
  problems.add(
    source.name,
    undefined,
    isObject && others.length > 0
      ? `Its changes have the option "${others[0]}".`
      : `Its changes are kept for ${isObject ? describeKeep(keep) : describe(changes)}.`,
    'Give changes: { keep }, a whole number of milliseconds above 0; or leave it out.',
  );
  return undefined;
}

function describeKeep(keep: unknown): string {
  return typeof keep === 'number' ? String(keep) : describe(keep);
}
