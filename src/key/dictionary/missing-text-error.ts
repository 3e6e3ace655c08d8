import { KeyError } from '../../errors.js';
import type { KeyDictionary } from './dictionary.js';

/** A row holds an id whose text was not loaded; what reads rows loads it and decodes again. */
export class MissingTextError extends KeyError {
  constructor(
    readonly dictionary: KeyDictionary,
    readonly id: number,
    part: string,
  ) {
    super(notMet(part, dictionary.name, `the id ${id}`, 'text'), {
      details: { property: part, dictionary: dictionary.name },
    });
  }
}

export function notMet(part: string, dictionary: string, what: string, wanted: string): string {
  return `Key part "${part}": the ${wanted} of ${what} in the dictionary "${dictionary}" is not known here. Reads and writes load it; before explain() and encode() run the query once, or await database.dictionary('${dictionary}').ids([text], false).`;
}
