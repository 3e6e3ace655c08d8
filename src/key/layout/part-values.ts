/** Values of key parts: which there must be, and the errors that name the part. */

import { KeyError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';

/** Values of key parts by name. */
export type KeyValues = Readonly<Record<string, unknown>>;

/** The value of a part. @throws KeyError when it is undefined or null. */
export function requireValue(values: KeyValues, name: string): unknown {
  return requirePresent(name, values[name]);
}

/** The value itself. @throws KeyError when it is undefined or null. */
export function requirePresent(name: string, value: unknown): unknown {
  if (value === undefined || value === null) {
    throw new KeyError(
      `Key part "${name}" is ${value === null ? 'null' : 'undefined'}. Every part of a row key needs a value: set it before writing, or leave it out of a prefix.`,
      { details: { property: name } },
    );
  }
  return value;
}

/** The KeyError of a part whose value a codec refused. */
export function partError(name: string, value: unknown, cause: unknown): Error {
  if (!(cause instanceof RowanError) || cause.code !== 'ERR_CODEC') return cause as Error;
  return new KeyError(`Key part "${name}": ${cause.message}`, {
    cause,
    details: { property: name, value: describe(value) },
  });
}

/** The KeyError of a row that does not have the layout; the layout adds the row and itself. */
export function rowError(why: string): KeyError {
  return new KeyError(why);
}
