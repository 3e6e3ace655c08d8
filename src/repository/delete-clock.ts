/**
 * Keeps a write from landing in the same millisecond as a delete of the same row: HBase's rule is that the delete wins
 * ties, whatever came first (R32), so such a write would vanish without a word.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { toLatin1 } from '../bytes/index.js';

/** Remembers the rows deleted in the last milliseconds; costs nothing while there are none. */
export class DeleteClock {
  private readonly rows = new Set<string>();
  /** From this time on writes are safe. */
  private safeFrom = 0;

  constructor(
    private readonly now: () => number = Date.now,
    /** Milliseconds that must pass. 1 where engine and caller share a clock; 2 where they do not. */
    private readonly margin = 1,
  ) {}

  /** To be called when the delete was acknowledged. */
  noteDelete(row: Uint8Array): void {
    const now = this.now();
    if (now >= this.safeFrom) this.rows.clear();
    this.safeFrom = Math.max(this.safeFrom, now + this.margin);
    this.rows.add(toLatin1(row));
  }

  /** A promise to await before a write of the row; undefined when the write may go at once. */
  beforeWrite(row: Uint8Array): Promise<void> | undefined {
    if (this.rows.size === 0) return undefined;
    if (this.now() >= this.safeFrom) {
      this.rows.clear();
      return undefined;
    }
    return this.rows.has(toLatin1(row)) ? this.wait() : undefined;
  }

  /** Until every remembered delete is in the past. */
  async wait(): Promise<void> {
    while (this.now() < this.safeFrom) await sleep(1);
  }
}
