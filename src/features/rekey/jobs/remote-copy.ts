import { randomBytes } from 'node:crypto';
import { equalBytes, toHex } from '../../../bytes/index.js';
import { RowanError, throwIfAborted } from '../../../errors.js';
import { copyOf } from '../../../job/row-cells.js';
import type { JobOutcome, JobRunOptions } from '../../../job/types.js';
import {
  type BatchOutcome,
  type Cell,
  CheckAndMutate,
  Delete,
  Get,
  LATEST_TIMESTAMP,
  Put,
  Result,
  RowMutations,
  type Scan,
  type TableChange,
} from '../../../table/index.js';
import { FENCE_FAMILY, FENCE_QUALIFIER } from '../../../table/write-fence.js';
import { everyCell, pass, placeOf, type RekeyTarget, type RekeyWork, runPasses } from './passes.js';

// — Copies cells between layouts on engines whose atomic step is one row. A pass copies the cells, deletes included, of
// a span of time. Later writes are copied by the next pass, until the old table refuses writes.

/** Options of a copying pass. */
export interface CopyOptions {
  /** Whether these cells of a row have all been copied already. */
  readonly isCopied?: (row: Result) => boolean;
  /** Called after each batch with the rows that were copied and those that were skipped. */
  readonly whenCopied?: (copied: readonly Result[], left: readonly Result[]) => void | Promise<void>;
}

/**
 * Copies every cell of the old layout with a timestamp from `since` on. Resumes an unfinished pass of the same work.
 * Counter: `copied`.
 */
export async function copyCells(
  target: RekeyTarget,
  work: RekeyWork,
  since: number,
  run: JobRunOptions = {},
  { isCopied = () => false, whenCopied }: CopyOptions = {},
): Promise<JobOutcome> {
  const { from, to } = target;
  const traced = await tracedFamilies(target);
  const scan = (): Scan => {
    const all = everyCell();
    for (const family of traced) all.addFamily(family);
    return since > 0 ? all.setTimeRange(since, LATEST_TIMESTAMP) : all;
  };
  const copying = pass(from, scan, (context) => ({
    async rows(rows) {
      const left: Result[] = [];
      const copied: Result[] = [];
      for (const row of rows)
        if (target.dualWrites.forward.matches(row.row)) (isCopied(row) ? left : copied).push(row);
      await writeCopies(target, copied, context.signal);
      await whenCopied?.(copied, left);
      context.count('copied', copied.length);
    },
  }));
  const signature = `${from.key.signature} > ${to.key.signature} ${since}`;
  return runPasses(target, work, signature, [copying], run);
}

/** The families by which scans find changed rows. Empty: all of them, as a scan finds them without being told. */
async function tracedFamilies({ engine, from }: RekeyTarget): Promise<readonly string[]> {
  if (engine.capabilities.deleteMarkers) return [];
  const { families } = await engine.admin.getDescriptor(from.table.descriptor.name);
  return families.map(({ name }) => name).filter((name) => name !== FENCE_FAMILY);
}

/** The rows of the old layout, deletes included, under keys of the new one. */
export async function writeCopies(
  target: RekeyTarget,
  rows: readonly Result[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { engine, to, dualWrites } = target;
  const { forward, ownChanges } = dualWrites;
  if (!engine.capabilities.deleteMarkers) {
    await copyRows(
      target,
      rows.map(({ row }) => row),
      signal,
    );
    return;
  }
  const into = engine.table(to.table.descriptor.name);
  const puts: Put[] = [];
  const others: Exclude<TableChange['change'], Put>[] = [];
  for (const { row, cells } of rows) {
    if (cells.length === 0) continue;
    const there = forward.rowOf(row)!;
    const change = copyOf(there, forward.cellsOf(row, there, cells));
    if (change === undefined) continue;
    ownChanges.add(change);
    if (change instanceof Put) puts.push(change);
    else others.push(change);
  }
  if (puts.length > 0) await into.putAll(puts);
  if (others.length > 0) for (const outcome of await into.batch(others)) if (!outcome.ok) throw outcome.error;
  const stored = rows.filter(({ cells }) => cells.length > 0);
  const copies = stored.map(({ row }) => forward.rowOf(row)!);
  for (const upkeep of dualWrites.upkeepOf(to)) await upkeep.settle(copies, signal);
}

/** Every cell of one row, deletes and traces of them included. Empty when none is left. */
export async function rawRow(target: RekeyTarget, row: Uint8Array): Promise<Result> {
  const table = target.engine.table(target.from.table.descriptor.name);
  const scan = everyCell().withStartRow(row).withStopRow(row, true);
  for (const family of await tracedFamilies(target)) scan.addFamily(family);
  const scanner = table.scan(scan);
  try {
    return (await scanner.next()) ?? new Result(row, []);
  } finally {
    await scanner.close();
  }
}

// — Copies of whole rows, on engines whose deletes leave no markers: a copy is made equal to its row, whatever has happened to it.
//
// 1. The stamp of the copy is read first, then the copy, then the row. What was read is written on condition that the copy still has
//    that stamp, and gives it another one, also where nothing differs. So of two copiers only the one that has read the row later
//    can succeed last, and a request that arrives late finds another stamp.
// 2. Stamps of copies differ from what other changes write there (table/write-fence.ts). A copy that anybody else has changed is
//    left alone, and found by the comparison.

/** How often a row is copied again that others copy too. */
const ATTEMPTS = 100;
/** The first byte of a stamp of copies, which are shorter than those of other changes. */
const COPIED = 0x63;
const STAMP_BYTES = 8;

/** Makes the copies of these rows of the old layout equal to them. @throws what reading and writing throw. */
async function copyRows(
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
  const { engine, from, to, dualWrites } = target;
  const { forward, ownChanges } = dualWrites;
  const news = engine.table(to.table.descriptor.name);
  const olds = engine.table(from.table.descriptor.name);
  const there = rows.map((row) => forward.rowOf(row)!);
  const stamps = await news.getAll(there.map((row) => new Get(row).addColumn(FENCE_FAMILY, FENCE_QUALIFIER)));
  const copies = await news.getAll(there.map((row) => new Get(row).readAllVersions()));
  const now = await olds.getAll(rows.map((row) => new Get(row).readAllVersions()));
  const changes: { readonly row: Uint8Array; readonly check: CheckAndMutate }[] = [];
  for (const [i, row] of rows.entries()) {
    const stamp = stamps[i]!.getValue(FENCE_FAMILY, FENCE_QUALIFIER);
    if (stamp === undefined ? !copies[i]!.isEmpty : stamp[0] !== COPIED || stamp.length !== STAMP_BYTES)
      continue;
    const wanted = forward.cellsOf(row, there[i]!, now[i]!.cells);
    const action = changeOf(there[i]!, copies[i]!.cells, wanted);
    ownChanges.add(action);
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

/** The mutations after which the copy has these cells and no others, with a new stamp. */
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

function overtaken({ to }: RekeyTarget, row: Uint8Array): RowanError {
  return new RowanError(
    'ERR_BUSY',
    `Others copied the row ${toHex(row.subarray(0, 32))} to ${to.name} at each of ${ATTEMPTS} attempts. Let one process change the keys.`,
    { retryable: true, details: { entity: to.name, keyHex: toHex(row) } },
  );
}
