/** Reads and changes of one row of a region. */

import { toStringBinary } from '../../bytes/index.js';
import { type Get, Result } from '../../table/index.js';
import { JavaClass, ServerException } from '../errors.js';
import { getOfCatalog } from '../regions/catalog-tables.js';
import type { Specifier } from '../wire/read-calls.js';
import type { WireMutation } from '../wire/read-mutation.js';
import { catalogTableOf, type RowParts, type RowPlace } from './parts.js';

/** Executes a change of one row; with a nonce, at most once. */
export function applyChange(
  parts: RowParts,
  { state }: RowPlace,
  { mutation }: WireMutation,
  nonceGroup: bigint,
  nonce: bigint,
): Promise<Result> {
  const table = parts.engine.table(state.name);
  switch (mutation.kind) {
    case 'put':
      return table.put(mutation).then(() => Result.EMPTY);
    case 'delete':
      return table.delete(mutation).then(() => Result.EMPTY);
    default:
      if (nonce !== 0n) return parts.nonces.apply(state.name, mutation, nonceGroup, nonce);
      return mutation.kind === 'increment' ? table.increment(mutation) : table.append(mutation);
  }
}

/** Reads a row of a region, or of a catalog table. */
export function readRow(parts: RowParts, specifier: Specifier, get: Get): Result {
  const table = catalogTableOf(parts, specifier);
  if (table !== undefined) return getOfCatalog(table, get);
  const served = parts.regions.open(specifier);
  checkRowIn(served, get.row);
  return parts.engine.table(served.state.name).getSync(get);
}

/**
 * Checks that the row belongs to the region.
 * @throws ServerException when it does not; the client then looks up the region again.
 */
export function checkRowIn({ region, name }: RowPlace, row: Uint8Array): void {
  if (region.contains(row)) return;
  const [asked, here] = [toStringBinary(row.subarray(0, 100)), toStringBinary(name)];
  throw new ServerException(
    JavaClass.WrongRegion,
    `Requested row out of range for row ${asked} on region ${here}.`,
    false,
  );
}

/** The result of an existence check: the embedded engine returns the row without cells. */
export function hasRow(result: Result): boolean {
  return result.row.length > 0 || result.cells.length > 0;
}
