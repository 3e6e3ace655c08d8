/** How long an entry is to stay in a {@link BlockCache}. `MEMORY`: families with IN_MEMORY, index and bloom blocks. */
export const CachePriority = { Normal: 0, Memory: 1 } as const;
export type CachePriority = (typeof CachePriority)[keyof typeof CachePriority];

/** Something that a file has in the cache. Immutable while anybody holds it, but for the bookkeeping here,
 * which is the cache's own. */
export abstract class CacheEntry {
  /** Set to 1 by whoever uses the entry: a hit costs no more than this. */
  touched = 0;
  /** Where the entry is found, null once it has left the cache. */
  slots: CacheSlots<CacheEntry> | null = null;
  slot = 0;
  segment = 0;
  previous: CacheEntry | null = null;
  next: CacheEntry | null = null;
  /** Readers that stand in it: while there are any its bytes stay as they are, whether it is in the cache or not. */
  holders = 0;
  /** Memory of its own, which may serve another entry once this one has left the cache and has no holders. */
  memory: Uint8Array | null = null;

  /** `charge`: the bytes of memory that the entry stands for. */
  constructor(readonly charge: number) {}
}

/**
 * The entries that one file has in the cache, one place for each of its blocks: to find a block is to read an array.
 * Only the cache writes to it.
 */
export class CacheSlots<Entry extends CacheEntry> {
  readonly entries: (Entry | null)[];

  constructor(count: number) {
    this.entries = new Array<Entry | null>(count).fill(null);
  }
}
