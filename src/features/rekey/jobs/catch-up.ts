import { createHash } from 'node:crypto';
import { toLatin1 } from '../../../bytes/index.js';
import type { JobRunOptions } from '../../../job/types.js';
import type { Cell, Result } from '../../../table/index.js';
import type { RekeyRun } from '../strategy.js';
import { type CopyOptions, copyCells } from './remote-copy.js';

/**
 * Milliseconds allowed for clock differences between servers and for the time from a write's timestamp to its
 * visibility.
 */
export const MARGIN = 120_000;

/** The most rows remembered, about 150 bytes each. Others are copied again. */
const MAX_ROWS = 500_000;
const DIGEST_BYTES = 16;

/** The rows whose cells from a timestamp on have all been copied. */
class CopiedRows {
  private readonly digests = new Map<string, string>();

  constructor(readonly since: number) {}

  has({ row, cells }: Result): boolean {
    const known = this.digests.get(toLatin1(row));
    return known !== undefined && known === digestOf(this.newest(cells));
  }

  add({ row, cells }: Result): void {
    const newest = this.newest(cells);
    if (newest.length === 0 || this.digests.size >= MAX_ROWS) return;
    this.digests.set(toLatin1(row), digestOf(newest));
  }

  private newest(cells: readonly Cell[]): readonly Cell[] {
    return cells.filter(({ timestamp }) => timestamp >= this.since);
  }
}

function digestOf(cells: readonly Cell[]): string {
  const digest = createHash('sha256');
  for (const { family, qualifier, timestamp, type, value } of cells)
    digest
      .update(`${family} ${qualifier.length} ${timestamp} ${type} ${value.length} `)
      .update(qualifier)
      .update(value);
  return toLatin1(digest.digest(), 0, DIGEST_BYTES);
}

/**
 * Keeps the new layout up to date with the old one, by passes over recent writes while writers continue (HBase).
 *
 * 1. A pass reads the cells with timestamps from `since` on: the time at which the previous pass began, less a margin
 *   for clock differences and slow writes. So each pass reads the writes of the last two minutes again.
 * 2. It copies only the rows among them that have changed since the pass before, whose cells are remembered by a
 *   digest. So the last pass, for which writes rest, copies what was written since the one before it.
 */
export class CatchUp {
  private copied: CopiedRows;

  constructor(private readonly run: RekeyRun) {
    this.copied = new CopiedRows(run.record.since ?? 0);
  }

  /** Copies what was written since the last pass. `whenCopied` receives the copied rows. */
  async pass(options: JobRunOptions, whenCopied?: CopyOptions['whenCopied']): Promise<void> {
    const { target, set, time } = this.run;
    const { copied } = this;
    const next = new CopiedRows((await time()) - MARGIN);
    await copyCells(
      target,
      'catch-up',
      copied.since,
      { ...options, restart: true },
      {
        isCopied: (row) => copied.has(row),
        async whenCopied(fresh, left) {
          for (const row of fresh) next.add(row);
          for (const row of left) next.add(row);
          await whenCopied?.(fresh, left);
        },
      },
    );
    this.copied = next;
    await set({ since: next.since });
  }
}
