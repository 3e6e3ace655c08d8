/**
 * How long an entry is to stay in a {@link BlockCache}. `Memory`: families with IN_MEMORY, index and bloom blocks. `Spare`:
 * what can be read in parts, and is there as a whole only as long as there is room.
 */
export const CachePriority = { Normal: 0, Memory: 1, Spare: 2 } as const;
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

/**
 * Blocks in memory, limited by bytes (HBase `LruBlockCache`, with second chances instead of an order by time, so that a
 * hit is one store). Four segments, each a queue:
 *
 * - single: blocks read once so far; the first to go.
 * - multi: blocks that were read again while they were in `single`.
 * - memory: blocks of IN_MEMORY families, and of indexes and blooms.
 * - spare: blocks of which parts can be read alone. They make room before all others, used or not: what is used of them
 *   comes back as parts, and what a scan has read leaves nothing else without room.
 *
 * When room is needed, the segment that is furthest above its share (25, 50 and 25 per cent) gives up its oldest entry,
 * unless that has been used since it was last looked at: then it goes to the end of its queue, from `single` to `multi`.
 *
 * A block that leaves the cache stays as it is for whoever still holds it. The memory of one that nobody holds is used for
 * the next: to get new memory from the system costs as much as to read a block from its cache.
 */

const SINGLE = 0;
const MULTI = 1;
const MEMORY = 2;
const SPARE = 3;
/** Up to this share of its capacity the cache is said to have room. */
const ROOM = 7 / 8;
/** Entries that are remembered after they left, for their memory. */
const MOST_LEFT = 8;

const SEGMENTS = {
  [CachePriority.Normal]: SINGLE,
  [CachePriority.Memory]: MEMORY,
  [CachePriority.Spare]: SPARE,
};
const SHARES: readonly number[] = [0.25, 0.5, 0.25];

export interface BlockCacheStats {
  readonly capacity: number;
  readonly bytes: number;
  readonly entries: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
}

interface Segment {
  oldest: CacheEntry | null;
  newest: CacheEntry | null;
  bytes: number;
  count: number;
}

export class BlockCache {
  /** Counted by the readers. */
  hits = 0;
  misses = 0;
  private evictions = 0;
  /** Of those that made room last, the latest at the end. */
  private readonly left: CacheEntry[] = [];
  private bytes = 0;
  private readonly segments: readonly [Segment, Segment, Segment, Segment] = [
    emptySegment(),
    emptySegment(),
    emptySegment(),
    emptySegment(),
  ];

  /** `capacity`: bytes; 0 keeps nothing. */
  constructor(readonly capacity: number) {}

  /** Keeps `entry` at a free place of `slots`. One that is larger than the whole cache is not kept. */
  insert<Entry extends CacheEntry>(
    slots: CacheSlots<Entry>,
    slot: number,
    entry: Entry,
    priority: CachePriority,
  ): void {
    if (entry.charge > this.capacity) return;
    slots.entries[slot] = entry;
    entry.slots = slots as unknown as CacheSlots<CacheEntry>;
    entry.slot = slot;
    entry.touched = 0;
    this.append(entry, SEGMENTS[priority]);
    this.bytes += entry.charge;
    while (this.bytes > this.capacity) this.giveWay();
  }

  /** Whether `length` bytes more fit in, and others would still. */
  hasRoom(length: number): boolean {
    return this.bytes + length <= this.capacity * ROOM;
  }

  /**
   * The memory of an entry that made room and that nobody holds: at least `length` bytes and at most twice as many.
   * Undefined when there is none. It is the caller's then.
   */
  takeMemory(length: number): Uint8Array | undefined {
    const { left } = this;
    for (let i = left.length - 1; i >= 0; i--) {
      const { memory, holders } = left[i]!;
      if (holders > 0 || memory!.length < length || memory!.length > 2 * length) continue;
      left.splice(i, 1);
      return memory!;
    }
    return undefined;
  }

  /** Takes back the memory of an entry that is not in the cache, for {@link takeMemory}. */
  giveBack(entry: CacheEntry): void {
    if (entry.memory === null) return;
    if (this.left.length === MOST_LEFT) this.left.shift();
    this.left.push(entry);
  }

  /** Takes out everything that is in `slots`. */
  invalidate(slots: CacheSlots<CacheEntry>): void {
    for (const entry of slots.entries) if (entry !== null) this.remove(entry);
  }

  stats(): BlockCacheStats {
    const { capacity, bytes, hits, misses, evictions } = this;
    let entries = 0;
    for (const segment of this.segments) entries += segment.count;
    return { capacity, bytes, entries, hits, misses, evictions };
  }

  private giveWay(): void {
    const fullest = this.segments[SPARE].count > 0 ? SPARE : this.fullest();
    const entry = this.segments[fullest]!.oldest!;
    if (entry.touched === 0 || fullest === SPARE) {
      this.remove(entry);
      this.evictions++;
      this.giveBack(entry);
      return;
    }
    entry.touched = 0;
    this.unlink(entry);
    this.append(entry, fullest === SINGLE ? MULTI : fullest);
  }

  /** The segment that is furthest above its share. */
  private fullest(): number {
    let fullest = SINGLE;
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < SHARES.length; i++) {
      const segment = this.segments[i]!;
      const excess = segment.bytes - SHARES[i]! * this.capacity;
      if (segment.count > 0 && excess > most) {
        most = excess;
        fullest = i;
      }
    }
    return fullest;
  }

  private remove(entry: CacheEntry): void {
    this.unlink(entry);
    this.bytes -= entry.charge;
    entry.slots!.entries[entry.slot] = null;
    entry.slots = null;
  }

  private append(entry: CacheEntry, segmentNumber: number): void {
    const segment = this.segments[segmentNumber]!;
    entry.segment = segmentNumber;
    entry.previous = segment.newest;
    entry.next = null;
    if (segment.newest === null) segment.oldest = entry;
    else segment.newest.next = entry;
    segment.newest = entry;
    segment.bytes += entry.charge;
    segment.count++;
  }

  private unlink(entry: CacheEntry): void {
    const segment = this.segments[entry.segment]!;
    if (entry.previous === null) segment.oldest = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === null) segment.newest = entry.previous;
    else entry.next.previous = entry.previous;
    entry.previous = null;
    entry.next = null;
    segment.bytes -= entry.charge;
    segment.count--;
  }
}

function emptySegment(): Segment {
  return { oldest: null, newest: null, bytes: 0, count: 0 };
}
