/** Copies the rows that were written before writes went to both layouts. */

import { compareBytes, toLatin1 } from '../../../bytes/index.js';
import { copyOf } from '../../../job/row-cells.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../../../job/types.js';
import {
  type AtomicStep,
  type Cell,
  CellType,
  type Durability,
  Get,
  type Result,
  type RowRead,
  type StepTable,
} from '../../../table/index.js';
import {
  everyCell,
  inShortSteps,
  PassWork,
  pass,
  placeOf,
  type RekeyTarget,
  rowsAlone,
  runPasses,
  tableOf,
} from './passes.js';
import type { RowEffects } from './row-effects.js';

/** Seldom, since a checkpoint flushes the table of the new layout. */
const FLUSHED_SELDOM = { checkpointRows: 1_000_000, checkpointMs: 20_000 };

/** Rows counted between turns of the event loop. */
const COUNTED_AT_ONCE = 256;

/** Counts the rows of the layout by their keys alone: rows may be wide. */
async function countRows(target: RekeyTarget): Promise<number> {
  const { from } = target;
  const scanner = tableOf(target, from).scan(rowsAlone());
  let count = 0;
  try {
    for (;;) {
      const rows = await scanner.nextBatch(COUNTED_AT_ONCE);
      for (const { row } of rows) if (from.key.matches(row)) count++;
      if (rows.length < COUNTED_AT_ONCE) return count;
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    await scanner.close();
  }
}

/** Reports progress by rows, since keys are seldom spread evenly over the key space. */
function byRows(run: JobRunOptions, total: number): JobRunOptions {
  const { onProgress } = run;
  if (onProgress === undefined) return run;
  const began = performance.now();
  let first: number | undefined;
  return {
    ...run,
    onProgress: (progress) => {
      const { rows } = progress;
      first ??= rows;
      const rate = (rows - first) / (performance.now() - began);
      onProgress({
        ...progress,
        fraction: total === 0 ? 1 : Math.min(rows / total, 1),
        remainingMs: rate > 0 ? Math.max(total - rows, 0) / rate : undefined,
      });
    },
  };
}

/** Copies every row of the old layout. Resumes an unfinished run. Counters: `copied`, `unkeyed`. */
export async function backfill(target: RekeyTarget, run: JobRunOptions = {}): Promise<JobOutcome> {
  const { from, to, dualWrites } = target;
  const watched = dualWrites.watch();
  const table = tableOf(target, from);
  try {
    // Wait until writes from before the watch are visible to scans.
    await table.atomic(() => undefined);
    const copying = pass(from, everyCell, (context) => new CopyWork(target, table, watched.touched, context));
    const options = byRows(run, await countRows(target));
    const signature = `${from.key.signature} > ${to.key.signature}`;
    return await runPasses(target, 'copy', signature, [copying], {
      ...FLUSHED_SELDOM,
      ...inShortSteps(options),
    });
  } finally {
    watched.end();
  }
}

class CopyWork extends PassWork {
  private unflushed = false;
  private readonly into: string;
  /** Undefined where the new layout has neither indexes nor summaries. */
  private readonly effects: RowEffects | undefined;
  /** Of copies without effects. */
  private readonly durability: Durability;
  /** Families with KEEP_DELETED_CELLS, which show deleted cells to reads of the past. */
  private readonly keeping: ReadonlySet<string>;

  constructor(
    private readonly target: RekeyTarget,
    private readonly table: StepTable,
    private readonly touched: ReadonlySet<string>,
    private readonly context: SplitContext,
  ) {
    super();
    const { families } = target.from.table.descriptor;
    this.into = target.to.table.descriptor.name;
    this.effects = target.dualWrites.effectsOf(target.to);
    // A restore from an archived log could not copy again: it has the checkpoints, and the removal of the old rows.
    this.durability = target.engine.archivesLog === true ? 'ASYNC_WAL' : 'SKIP_WAL';
    this.keeping = new Set(
      families.filter(({ keepDeletedCells }) => keepDeletedCells !== 'FALSE').map(({ name }) => name),
    );
  }

  /** Without waiting for the WAL: copies are lost only together with the checkpoint, and made again then. */
  override async commit(): Promise<undefined> {
    await super.commit();
    if (!this.unflushed) return;
    this.unflushed = false;
    await this.target.engine.admin.flush(this.into);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const { dualWrites } = this.target;
    const own = rows.filter(({ row }) => dualWrites.forward.matches(row));
    const unkeyed = await this.table.atomic((step) =>
      dualWrites.inOneLayout(() => {
        const { copies, without } = this.copiesOf(own, step.read);
        for (const copy of copies) this.write(copy, step);
        return without;
      }),
    );
    this.context.count('copied', own.length);
    if (unkeyed > 0) this.context.count('unkeyed', unkeyed);
  }

  /**
   * The copies in the order of their new rows, which is fastest for a memstore; and the number of rows without a key
   * yet.
   */
  private copiesOf(rows: readonly Result[], read: RowRead): { copies: RowCopy[]; without: number } {
    const { forward } = this.target.dualWrites;
    const copies: RowCopy[] = [];
    let without = 0;
    for (const { row, cells } of rows) {
      const now = this.isAsScanned(row, cells) ? undefined : read(new Get(row).readAllVersions());
      const to = forward.rowOf(row, now && (({ family, qualifier }) => now.getValue(family, qualifier)));
      if (to !== undefined) copies.push({ to, row, cells, now });
      else if (!now!.isEmpty) without++;
    }
    copies.sort((a, b) => compareBytes(a.to, b.to));
    return { copies, without };
  }

  /** Whether the row is what was scanned: puts, none of which was changed since. */
  private isAsScanned(row: Uint8Array, cells: readonly Cell[]): boolean {
    if (this.target.dualWrites.forward.needed.length > 0) return false;
    if (this.touched.size > 0 && this.touched.has(toLatin1(row))) return false;
    for (const { type } of cells) if (type !== CellType.Put) return false;
    return true;
  }

  private write(copy: RowCopy, step: AtomicStep): void {
    const { effects } = this;
    const { to } = copy;
    if (effects === undefined) {
      this.put(copy, this.durability, step);
      return;
    }
    // Row and effects are one WAL record. Without the WAL a crash could lose one of them, and what is stored about the
    // row would be unknown.
    const before = effects.imageOf(to, step.read);
    this.put(copy, 'ASYNC_WAL', step);
    for (const change of effects.changed(to, before, 'ASYNC_WAL', step.read)) step.apply(change);
  }

  private put({ to, row, cells, now }: RowCopy, durability: Durability, step: AtomicStep): void {
    const { forward } = this.target.dualWrites;
    const lasting = now === undefined ? cells : this.lastingCells(cells, now, to, step.read);
    const change = copyOf(to, forward.cellsOf(row, to, lasting), durability);
    if (change === undefined) return;
    this.unflushed ||= durability === 'SKIP_WAL';
    step.apply({ table: this.into, change, timestampsAssigned: true, unrecorded: true });
  }

  /**
   * The deletes, and those puts that still exist: others may have been deleted since the scan. Cells that exist in
   * the new layout already came by dual writes.
   */
  private lastingCells(cells: readonly Cell[], now: Result, to: Uint8Array, read: RowRead): Cell[] {
    const there = read(new Get(to).readAllVersions(), this.into);
    const counts = new Set(now.cells.map(placeOf));
    const known = new Set(there.cells.map(placeOf));
    return cells.filter((cell) => {
      if (cell.type !== CellType.Put) return true;
      const place = placeOf(cell);
      return (counts.has(place) || this.keeping.has(cell.family)) && !known.has(place);
    });
  }
}

/** A row to be copied. */
interface RowCopy {
  readonly to: Uint8Array;
  readonly row: Uint8Array;
  /** The cells as they were scanned. */
  readonly cells: readonly Cell[];
  /** The row as it is now. Undefined: unchanged since the scan. */
  readonly now: Result | undefined;
}
