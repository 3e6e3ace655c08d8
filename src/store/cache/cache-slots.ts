import type { CacheEntry } from './cache-entry.js';

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
