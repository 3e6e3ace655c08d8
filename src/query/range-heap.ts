/** The ranges of a merge by their next rows: a binary heap. */

/** What stands at a row, or at none any more. */
export interface HeapSource {
  readonly row: unknown;
}

export class RangeHeap<S extends HeapSource> {
  private readonly sources: S[];

  constructor(
    sources: readonly S[],
    private readonly isBefore: (a: S, b: S) => boolean,
  ) {
    this.sources = sources.filter((source) => source.row !== undefined);
    for (let i = (this.sources.length >> 1) - 1; i >= 0; i--) this.siftDown(i);
  }

  /** The range with the row that comes first. */
  get top(): S | undefined {
    return this.sources[0];
  }

  /** Puts the top in its place after it went on to its next row, or takes it out when it has none. */
  settleTop(): void {
    const { sources } = this;
    if (sources[0]!.row === undefined) {
      const last = sources.pop()!;
      if (sources.length === 0) return;
      sources[0] = last;
    }
    this.siftDown(0);
  }

  private siftDown(start: number): void {
    const { sources } = this;
    const moving = sources[start]!;
    let index = start;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= sources.length) break;
      if (child + 1 < sources.length && this.isBefore(sources[child + 1]!, sources[child]!)) child++;
      if (!this.isBefore(sources[child]!, moving)) break;
      sources[index] = sources[child]!;
      index = child;
    }
    sources[index] = moving;
  }
}
