/** Records of CSV (RFC 4180): fields between separators, in double quotes where they hold one, a quote or an end of a line. */

import { parse } from 'csv-parse/sync';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';

/** @throws InvalidArgumentError for what is no separator: one character, no quote and no end of a line. */
export function checkSeparator(separator: string): string {
  if (typeof separator === 'string' && separator.length === 1 && !/["\r\n]/.test(separator)) return separator;
  throw new InvalidArgumentError(`The separator of CSV is one character, not ${describe(separator)}.`);
}

/** A record as a line, without its end. */
export function csvLine(fields: readonly string[], separator: string): string {
  // Nobody could tell a record of one empty field from an empty line.
  if (fields.length === 1 && fields[0] === '') return '""';
  return fields
    .map((field) =>
      field.includes(separator) || /["\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
    )
    .join(separator);
}

/** The fields of one record; none of an empty line. @throws InvalidArgumentError when it is no CSV. */
export function csvFields(line: string, separator: string): string[] {
  // Most records have no quotes, and are many.
  if (line !== '' && !line.includes('"')) return line.split(separator);
  try {
    const records = parse(line, { delimiter: separator, relax_column_count: true, record_delimiter: '\n' });
    return records[0] ?? [];
  } catch (cause) {
    throw new InvalidArgumentError(`It is no record of CSV: ${(cause as Error).message}.`, { cause });
  }
}
