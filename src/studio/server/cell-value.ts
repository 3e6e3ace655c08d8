/** The bytes of one cell as they are, for a picture or a file. */

import { fromHex, fromStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { CellType, Get } from '../../table/index.js';
import type { StudioDatabase } from './studio-database.js';

export interface CellValue {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Pictures that a browser draws without running what stands in them, by their first bytes. SVG is not among them. */
const PICTURES: readonly (readonly [type: string, first: readonly number[]])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46]],
];

/** The type of a picture; undefined for other bytes. */
export function pictureType(bytes: Uint8Array): string | undefined {
  return PICTURES.find(
    ([type, first]) =>
      first.every((byte, at) => bytes[at] === byte) &&
      (type !== 'image/webp' || Buffer.from(bytes.subarray(8, 12)).toString('latin1') === 'WEBP'),
  )?.[0];
}

/**
 * The value of the cell with this time.
 * @throws InvalidArgumentError on invalid parameters; RowanError when there is no such cell.
 */
export async function cellValue(
  db: StudioDatabase,
  given: { readonly table: string; readonly row: string; readonly column: string; readonly time: string },
  signal: AbortSignal,
): Promise<CellValue> {
  const { table, row, column, time } = given;
  const at = column.indexOf(':');
  const timestamp = Number(time);
  if (at < 1 || !/^([0-9a-f]{2})+$/.test(row) || !Number.isSafeInteger(timestamp) || timestamp < 0)
    throw new InvalidArgumentError('A cell is named by row (hex), column (family:qualifier) and time.');
  const family = column.slice(0, at);
  const qualifier = fromStringBinary(column.slice(at + 1));
  const get = new Get(fromHex(row))
    .addColumn(family, qualifier)
    .setTimeRange(timestamp, timestamp + 1)
    .readAllVersions();
  const { cells } = await db.engine.table(table).get(get, { signal });
  const cell = cells.find(({ type }) => type === CellType.Put);
  if (cell === undefined)
    throw new RowanError('ERR_NOT_FOUND', `There is no cell ${column} with the time ${time} in this row.`);
  return { type: pictureType(cell.value) ?? 'application/octet-stream', bytes: cell.value };
}
