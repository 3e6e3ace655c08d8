/** Options of any call, held at run time to the names and numbers they may have. */

import { InvalidArgumentError, QueryError } from '../errors.js';
import { describe } from '../table/checks.js';

/** @throws InvalidArgumentError when the options are no object, or have a name that is not known. */
export function checkNames(doing: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidArgumentError(
      `${doing}: the options are ${describe(options)}. Give an object, or nothing.`,
    );
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new InvalidArgumentError(
    `${doing} has no option "${unknown}". It takes ${known.join(', ')}; conditions on columns go into where().`,
    { details: { option: unknown } },
  );
}

/** @throws QueryError when the value is given and is no positive whole number. */
export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new QueryError(`${name} is a positive integer, not ${describe(value)}.`);
}
