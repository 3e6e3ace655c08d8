/** The positions of a write's cells in memory, for rolling them back, or dropping older versions once they are visible. */

import type { CellRef } from '../memstore/arena.js';
import type { Memstore } from '../memstore/memstore.js';

/** Cells that a split or merge of regions has copied to other memstores. */
export type MovedCells = Map<Memstore, Map<CellRef, { readonly memstore: Memstore; readonly ref: CellRef }>>;

/** Cells in the order in which they were added, grouped into runs of one memstore. */
export class WrittenCells {
  private memstores: Memstore[] = [];
  /** The index in `refs` at which the run of each memstore begins. */
  private starts: number[] = [];
  private refs: CellRef[] = [];

  add(memstore: Memstore, ref: CellRef): void {
    if (this.refs.length === 0) {
      // Most writes have one cell; a growing array would reserve space for many.
      this.memstores = [memstore];
      this.starts = [0];
      this.refs = [ref];
      return;
    }
    if (memstore !== this.memstores[this.memstores.length - 1]) {
      this.memstores.push(memstore);
      this.starts.push(this.refs.length);
    }
    this.refs.push(ref);
  }

  get count(): number {
    return this.refs.length;
  }

  /** Removes all cells from memory, the newest first. Memstores of dropped tables and families are freed and skipped. */
  rollback(): void {
    this.backwards((memstore, ref) => memstore.rollback(ref));
  }

  /** Removes the cells after the first `count` from memory, the newest first: the cells of writes after `lastSeq`. */
  rollbackTo(count: number, lastSeq: number): void {
    while (this.refs.length > count) {
      const run = this.memstores.length - 1;
      const memstore = this.memstores[run]!;
      const from = Math.max(count, this.starts[run]!);
      if (!memstore.freed) {
        for (let i = this.refs.length - 1; i >= from; i--) memstore.rollback(this.refs[i]!);
        memstore.endAt(lastSeq);
      }
      this.refs.length = from;
      if (from > this.starts[run]!) return;
      this.memstores.pop();
      this.starts.pop();
    }
  }

  /** Removes the entries after the first `count`, not their cells. */
  forgetTo(count: number): void {
    this.refs.length = count;
    while (this.starts.length > 0 && this.starts[this.starts.length - 1]! >= count) {
      this.memstores.pop();
      this.starts.pop();
    }
  }

  /**
   * Drops the older versions that each cell has superseded (R70), where its memstore is still active.
   * @param smallestIn the smallest read point among the open reads of a memstore
   */
  dropOlder(smallestIn: (memstore: Memstore) => number): void {
    this.backwards((memstore, ref) => {
      if (!memstore.frozen) memstore.dropOlderVersions(ref, smallestIn(memstore));
    });
  }

  /** Replaces the positions of cells that a split or merge has moved. */
  relocate(moved: MovedCells): void {
    if (!this.memstores.some((memstore) => moved.has(memstore))) return;
    const { memstores, starts, refs } = this;
    this.memstores = [];
    this.starts = [];
    this.refs = [];
    let run = -1;
    for (let i = 0; i < refs.length; i++) {
      if (starts[run + 1] === i) run++;
      const before = memstores[run]!;
      const place = moved.get(before)?.get(refs[i]!);
      this.add(place?.memstore ?? before, place?.ref ?? refs[i]!);
    }
  }

  private backwards(each: (memstore: Memstore, ref: CellRef) => void): void {
    let end = this.refs.length;
    for (let run = this.memstores.length - 1; run >= 0; run--) {
      const memstore = this.memstores[run]!;
      const start = this.starts[run]!;
      if (!memstore.freed) for (let i = end - 1; i >= start; i--) each(memstore, this.refs[i]!);
      end = start;
    }
  }
}
