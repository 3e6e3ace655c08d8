import { toHex } from '../bytes/index.js';
import { InvalidArgumentError, RowanError, SchemaError } from '../errors.js';
import { canonicalTableName, DEFAULT_NAMESPACE, parseTableName } from '../table/descriptor.js';

/** Converts table names to Bigtable's table ids and back; Bigtable's limits, which are checked before anything is sent. */

/** Separates a namespace from the name in a table id: Bigtable has no namespaces, and its ids no colon. FROZEN. */
const BETWEEN = '..';
const TABLE_ID = /^[\w][-\w.]{0,49}$/;
const FAMILY_ID = /^[-\w.]{1,64}$/;

/** The table with table options and namespaces, for which Bigtable has no place (docs/bigtable.md). FROZEN. */
export const META_TABLE = 'rowan_tables';

/**
 * The id of a table in its instance: `shop:orders` is `shop..orders`.
 * @throws InvalidArgumentError for a name that Bigtable does not allow.
 */
export function tableIdOf(name: string): string {
  const { namespace, qualifier } = parseTableName(name);
  const id = namespace === DEFAULT_NAMESPACE ? qualifier : `${namespace}${BETWEEN}${qualifier}`;
  if (!TABLE_ID.test(id) || qualifier.includes(BETWEEN)) {
    throw new InvalidArgumentError(
      `Bigtable cannot have a table "${name}": a table id ("${id}") has 1 to 50 characters of A-Z, a-z, 0-9, "_", "-" and ".", ` +
        `and "${BETWEEN}" only in place of the ":" after a namespace. Choose another name.`,
    );
  }
  return id;
}

/** The table name for an id. */
export function tableNameOf(id: string): string {
  const at = id.indexOf(BETWEEN);
  return canonicalTableName(at < 0 ? id : `${id.slice(0, at)}:${id.slice(at + BETWEEN.length)}`);
}

/** @throws SchemaError for a family name that Bigtable does not allow. */
export function checkFamilyId(table: string, family: string): void {
  if (FAMILY_ID.test(family)) return;
  throw new SchemaError(
    `Bigtable cannot have family "${family}" (table "${table}"): a family name has 1 to 64 characters of A-Z, a-z, 0-9, "_", "-" and ".". Choose another name.`,
  );
}

/** Bytes of the longest row key. */
const MAX_ROW_KEY = 4096;
/** Bytes of the longest qualifier. */
const MAX_QUALIFIER = 16 * 1024;
/** Bytes of the largest value of a cell. */
export const MAX_CELL = 100 * 1024 * 1024;
/** The most mutations in one request. */
export const MAX_MUTATIONS = 100_000;
/** Bytes of the largest row that can be read, and of the largest change of a row. */
export const MAX_ROW = 256 * 1024 * 1024;
/** Bytes of the largest filter. */
export const MAX_FILTER = 20 * 1024;

/** Checks the length of a row key. @throws RowanError `ERR_TOO_LARGE`. */
export function checkRowKey(row: Uint8Array): void {
  if (row.length <= MAX_ROW_KEY) return;
  throw tooLarge(`The row key ${toHex(row.subarray(0, 16))}… has`, row.length, 'bytes', MAX_ROW_KEY);
}

/** Checks the lengths of a qualifier and a value. @throws RowanError `ERR_TOO_LARGE`. */
export function checkCell(family: string, qualifier: Uint8Array, value: Uint8Array): void {
  if (qualifier.length > MAX_QUALIFIER) {
    throw tooLarge(`A qualifier of family "${family}" has`, qualifier.length, 'bytes', MAX_QUALIFIER);
  }
  if (value.length > MAX_CELL) {
    throw tooLarge(
      `The value of ${family}:${toHex(qualifier.subarray(0, 32))} has`,
      value.length,
      'bytes',
      MAX_CELL,
    );
  }
}

/** The error for something above a limit. @returns RowanError `ERR_TOO_LARGE`. */
export function tooLarge(subject: string, found: number, unit: string, limit: number): RowanError {
  return new RowanError(
    'ERR_TOO_LARGE',
    `${subject} ${found} ${unit}; Bigtable allows ${limit}. Write less at once, or distribute it over several rows.`,
  );
}
