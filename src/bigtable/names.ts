import { toHex } from '../bytes/index.js';
import { InvalidArgumentError, RowanError, SchemaError } from '../errors.js';
import { canonicalTableName, DEFAULT_NAMESPACE, parseTableName } from '../table/descriptor.js';

/** The names of tables there and here, and Bigtable's limits, which are checked before anything is sent. */

/** Between a namespace and a name: Bigtable has no namespaces, and its names have no colon. FROZEN. */
const BETWEEN = '..';
const TABLE_ID = /^[\w][-\w.]{0,49}$/;
const FAMILY_ID = /^[-\w.]{1,64}$/;

/** Holds what Bigtable has no place for: options of tables, namespaces (docs/bigtable.md). FROZEN. */
export const META_TABLE = 'rowan_tables';

/**
 * The id of a table in its instance: `shop:orders` is `shop..orders`.
 * @throws InvalidArgumentError for a name that Bigtable cannot have.
 */
export function tableIdOf(name: string): string {
  const { namespace, qualifier } = parseTableName(name);
  const id = namespace === DEFAULT_NAMESPACE ? qualifier : `${namespace}${BETWEEN}${qualifier}`;
  if (!TABLE_ID.test(id) || qualifier.includes(BETWEEN)) {
    throw new InvalidArgumentError(
      `"${name}" is no name of a table in Bigtable: its id "${id}" is to have 1 to 50 characters of A-Z, a-z, 0-9, "_", "-" and ".", ` +
        `and no "${BETWEEN}", which stands for the ":" behind a namespace.`,
    );
  }
  return id;
}

/** The name of a table by its id. */
export function tableNameOf(id: string): string {
  const at = id.indexOf(BETWEEN);
  return canonicalTableName(at < 0 ? id : `${id.slice(0, at)}:${id.slice(at + BETWEEN.length)}`);
}

/** @throws SchemaError for a family that Bigtable cannot have. */
export function checkFamilyId(table: string, family: string): void {
  if (FAMILY_ID.test(family)) return;
  throw new SchemaError(
    `Family "${family}" of table "${table}": Bigtable takes 1 to 64 characters of A-Z, a-z, 0-9, "_", "-" and ".".`,
  );
}

/** Bytes of the longest row key. */
export const MAX_ROW_KEY = 4096;
/** Bytes of the longest qualifier. */
const MAX_QUALIFIER = 16 * 1024;
/** Bytes of the largest cell that is written. */
export const MAX_CELL = 100 * 1024 * 1024;
/** Changes of cells in one call. */
export const MAX_MUTATIONS = 100_000;
/** Bytes of the largest row that can be read, and of the largest change of one. */
export const MAX_ROW = 256 * 1024 * 1024;
/** Bytes of the largest filter. */
export const MAX_FILTER = 20 * 1024;

/** @throws RowanError `ERR_TOO_LARGE`. */
export function checkRowKey(row: Uint8Array): void {
  if (row.length <= MAX_ROW_KEY) return;
  throw tooLarge(`The row key ${toHex(row.subarray(0, 16))}… has`, row.length, 'bytes', MAX_ROW_KEY);
}

/** @throws RowanError `ERR_TOO_LARGE`. */
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

export function tooLarge(subject: string, found: number, unit: string, limit: number): RowanError {
  return new RowanError(
    'ERR_TOO_LARGE',
    `${subject} ${found} ${unit}; Bigtable takes ${limit}. Write less at once, or spread it over rows.`,
  );
}
