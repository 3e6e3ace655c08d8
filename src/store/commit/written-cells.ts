/** Where the cells of one write stand in memory, so that they can be taken back, or seen to once they are visible. */

import type { CellRef } from '../memstore/arena.js';
import type { Memstore } from '../memstore/memstore.js';

/** Cells that a split or merge of regions has copied to the memstores of others. */
export type MovedCells = Map<Memstore, Map<CellRef, { readonly memstore: Memstore; readonly ref: CellRef }>>;

/** Cells in the order in which they were put in: runs of places, each run of one memstore. */
export class WrittenCells {
  private memstores: Memstore[] = [];
  /** Where the run of each memstore begins. */
  private starts: number[] = [];
  private refs: CellRef[] = [];

  add(memstore: Memstore, ref: CellRef): void {
    if (this.refs.length === 0) {
      // Most writes have one cell: arrays that grow would take room for many at once, for each of them.
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

  /** Takes all of them out of memory, the last first; of memstores whose table or family was dropped nothing is left. */
  rollback(): void {
    this.backwards((memstore, ref) => memstore.rollback(ref));
  }

  /** Takes those behind the first `count` out of memory, the last first: the cells of writes behind `lastSeq`. */
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

  /** Forgets those behind the first `count`. */
  forgetTo(count: number): void {
    this.refs.length = count;
    while (this.starts.length > 0 && this.starts[this.starts.length - 1]! >= count) {
      this.memstores.pop();
      this.starts.pop();
    }
  }

  /**
   * Drops what each of them has made superfluous (R70), where its memstore is still written to.
   * @param smallestIn the oldest read point of those that read a memstore
   */
  dropOlder(smallestIn: (memstore: Memstore) => number): void {
    this.backwards((memstore, ref) => {
      if (!memstore.frozen) memstore.dropOlderVersions(ref, smallestIn(memstore));
    });
  }

  /** Takes the places that a split or merge has given to some of them. */
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
