/** A clock for tests: time passes only when it is told to. */

import { InvalidArgumentError } from '../errors.js';

/** What {@link settableClock} makes: give it as the option `clock`, and move it. */
export interface SettableClock {
  /** The time it shows, ms since 1970. */
  (): number;
  /** Shows this time from now on, ms or a Date; it may be earlier. @throws InvalidArgumentError when it is no time. */
  set(time: number | Date): void;
  /** Goes on by this many milliseconds. @throws InvalidArgumentError when they are not a whole number from 0 on. */
  advance(milliseconds: number): void;
}

/**
 * A clock that stands until it is moved. Timestamps of cells, time to live, `@CreatedAt` and `@UpdatedAt` of a database
 * opened with it follow it.
 *
 * @param start The time that it shows first, ms or a Date; default 2026-01-01T00:00:00Z.
 * @example
 * ```ts
 * const clock = settableClock();
 * const db = await openMemory({ entities: [Session], clock });
 * clock.advance(30 * 60_000); // half an hour later: what has a shorter time to live is gone
 * ```
 * @throws InvalidArgumentError when the start is no time.
 */
export function settableClock(start: number | Date = Date.UTC(2026, 0, 1)): SettableClock {
  let now = timeOf(start);
  return Object.assign(() => now, {
    set: (time: number | Date) => {
      now = timeOf(time);
    },
    advance: (milliseconds: number) => {
      if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) {
        throw new InvalidArgumentError(
          `advance takes whole milliseconds from 0 on, not ${String(milliseconds)}. To go back, use set.`,
        );
      }
      now = timeOf(now + milliseconds);
    },
  });
}

function timeOf(time: number | Date): number {
  const ms = time instanceof Date ? time.getTime() : time;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new InvalidArgumentError(
    `A clock shows milliseconds since 1970, a whole number from 0 on, or a Date, not ${String(time)}.`,
  );
}
