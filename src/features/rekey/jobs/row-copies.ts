/**
 * Copies of whole rows, on engines whose deletes leave no markers: a copy is made equal to its row, whatever has happened to it.
 *
 * 1. The stamp of the copy is read first, then the copy, then the row. What was read is written on condition that the copy still has
 *    that stamp, and gives it another one, also where nothing differs. So of two copiers only the one that has read the row later
 *    can succeed last, and a request that arrives late finds another stamp.
 * 2. Stamps of copies differ from what other changes write there (table/write-fence.ts). A copy that anybody else has changed is
 *    left alone, and found by the comparison.
 */

import { randomBytes } from 'node:crypto';
import { equalBytes, toHex, toLatin1 } from '../../../bytes/index.js';
import { RowanError, throwIfAborted } from '../../../errors.js';
import {
  type BatchOutcome,
  type Cell,
  CheckAndMutate,
  Delete,
  Get,
  Put,
  RowMutations,
} from '../../../table/index.js';
import { FENCE_FAMILY, FENCE_QUALIFIER } from '../../../table/write-fence.js';
import { nothing, type RekeyTarget } from './passes.js';

/** How often a row is copied again that others copy too. */
const ATTEMPTS = 100;
/** The first byte of a stamp of copies, which are shorter than those of other changes. */
const COPIED = 0x63;
const STAMP_BYTES = 8;

/** Makes the copies of these rows of the old layout equal to them. @throws what reading and writing throw. */
export async function copyRows(
  target: RekeyTarget,
  rows: readonly Uint8Array[],
  signal: AbortSignal | undefined,
): Promise<void> {
  let left = rows;
  for (let attempt = 0; left.length > 0; attempt++) {
    throwIfAborted(signal);
    if (attempt === ATTEMPTS) throw overtaken(target, left[0]!);
    left = await copyOnce(target, left);
  }
}

/** @returns the rows whose copies others have changed meanwhile. */
async function copyOnce(target: RekeyTarget, rows: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const { engine, from, to, mirror } = target;
  const { forth, own } = mirror;
  const news = engine.table(to.table.descriptor.name);
  const olds = engine.table(from.table.descriptor.name);
  const there = rows.map((row) => forth.rowOf(row, nothing)!);
  const stamps = await news.getAll(there.map((row) => new Get(row).addColumn(FENCE_FAMILY, FENCE_QUALIFIER)));
  const copies = await news.getAll(there.map((row) => new Get(row).readAllVersions()));
  const now = await olds.getAll(rows.map((row) => new Get(row).readAllVersions()));
  const changes: { readonly row: Uint8Array; readonly check: CheckAndMutate }[] = [];
  for (const [i, row] of rows.entries()) {
    const stamp = stamps[i]!.getValue(FENCE_FAMILY, FENCE_QUALIFIER);
    if (stamp === undefined ? !copies[i]!.isEmpty : stamp[0] !== COPIED || stamp.length !== STAMP_BYTES)
      continue;
    const wanted = forth.cellsOf(row, there[i]!, now[i]!.cells);
    const action = changeOf(there[i]!, copies[i]!.cells, wanted);
    own.add(action);
    const check =
      stamp === undefined
        ? CheckAndMutate.ifNotExists(FENCE_FAMILY, FENCE_QUALIFIER, action)
        : CheckAndMutate.ifEquals(FENCE_FAMILY, FENCE_QUALIFIER, stamp, action);
    changes.push({ row, check });
  }
  if (changes.length === 0) return [];
  const outcomes = await news.batch(changes.map(({ check }) => check));
  return changes.flatMap(({ row }, i) => (isMade(outcomes[i]!) ? [] : [row]));
}

/** @throws the error of a change that was certainly not made, and would not be when it is tried again. */
function isMade(outcome: BatchOutcome): boolean {
  if (outcome.ok) return outcome.success === true;
  if (outcome.error.details['outcome'] === 'unknown') return false;
  throw outcome.error;
}

/** What makes the copy hold these cells and no others, with a new stamp. */
function changeOf(row: Uint8Array, copy: readonly Cell[], wanted: readonly Cell[]): RowMutations {
  const stamp = randomBytes(STAMP_BYTES);
  stamp[0] = COPIED;
  const put = new Put(row).addColumn(FENCE_FAMILY, FENCE_QUALIFIER, stamp);
  const surplus = new Map(copy.map((cell) => [placeOf(cell), cell]));
  for (const cell of wanted) {
    const place = placeOf(cell);
    const there = surplus.get(place);
    surplus.delete(place);
    if (there === undefined || !equalBytes(there.value, cell.value))
      put.addColumn(cell.family, cell.qualifier, cell.value, cell.timestamp);
  }
  const change = new RowMutations(row).add(put);
  if (surplus.size === 0) return change;
  const del = new Delete(row);
  for (const { family, qualifier, timestamp } of surplus.values())
    del.addColumn(family, qualifier, timestamp);
  return change.add(del);
}

function placeOf({ family, qualifier, timestamp }: Cell): string {
  return `${family} ${timestamp} ${toLatin1(qualifier)}`;
}

function overtaken({ to }: RekeyTarget, row: Uint8Array): RowanError {
  return new RowanError(
    'ERR_BUSY',
    `Others copied the row ${toHex(row.subarray(0, 32))} to ${to.name} at each of ${ATTEMPTS} attempts. Let one process change the keys.`,
    { retryable: true, details: { entity: to.name, keyHex: toHex(row) } },
  );
}
