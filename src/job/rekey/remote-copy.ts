/**
 * Copies cells from one layout to another on an engine whose one step is a row. What a pass copies are the cells, deletes among
 * them, of a span of time: those that were written meanwhile are for the next one, until the old table takes no writes.
 */

import { LATEST_TIMESTAMP, Put, Result, type Scan, type TableChange } from '../../table/index.js';
import { copyOf } from '../row-cells.js';
import type { JobOutcome, JobRunOptions } from '../types.js';
import { everyCell, nothing, pass, type RekeyTarget, runPasses } from './passes.js';

/** Copies every cell of the old layout with a time from `since` on. An unfinished pass of the same name is gone on with. Counter: `copied`. */
export function copyCells(
  target: RekeyTarget,
  name: string,
  since: number,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { from, to } = target;
  const scan = (): Scan => (since > 0 ? everyCell().setTimeRange(since, LATEST_TIMESTAMP) : everyCell());
  const copying = pass(from, scan, (context) => ({
    async rows(rows) {
      const own = rows.filter(({ row }) => target.mirror.forth.matches(row));
      await writeCopies(target, own);
      context.count('copied', own.length);
    },
  }));
  const signature = `${from.key.signature} > ${to.key.signature} ${since}`;
  return runPasses(target, name, signature, [copying], run);
}

/** Rows of the old layout as they stand, deletes among their cells, under the new one. */
export async function writeCopies(
  { engine, to, mirror: { forth, own } }: RekeyTarget,
  rows: readonly Result[],
): Promise<void> {
  const into = engine.table(to.table.descriptor.name);
  const puts: Put[] = [];
  const others: Exclude<TableChange['change'], Put>[] = [];
  for (const { row, cells } of rows) {
    const there = forth.rowOf(row, nothing)!;
    const change = copyOf(there, forth.cellsOf(row, there, cells));
    if (change === undefined) continue;
    own.add(change);
    if (change instanceof Put) puts.push(change);
    else others.push(change);
  }
  if (puts.length > 0) await into.putAll(puts);
  if (others.length === 0) return;
  for (const outcome of await into.batch(others)) if (!outcome.ok) throw outcome.error;
}

/** Every cell of one row, deletes among them; empty when none is left. */
export async function rawRow(target: RekeyTarget, row: Uint8Array): Promise<Result> {
  const table = target.engine.table(target.from.table.descriptor.name);
  const scanner = table.scan(everyCell().withStartRow(row).withStopRow(row, true));
  try {
    return (await scanner.next()) ?? Result.EMPTY;
  } finally {
    await scanner.close();
  }
}
