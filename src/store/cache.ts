import { ClosedError, errnoOf, RowanError } from '../errors.js';
import type { FileHandle, FileSystem } from './fs/file-system.js';
import { RowCache } from './row-cache.js';

/**
 * The priority of an entry in a {@link BlockCache}. `Memory`: families with IN_MEMORY. `Spare`: blocks that can also be read in parts, and
 * are cached as a whole only while there is room. `Index`: index and bloom blocks, which every read of a file needs.
 */
export const CachePriority = { Normal: 0, Memory: 1, Spare: 2, Index: 3 } as const;
export type CachePriority = (typeof CachePriority)[keyof typeof CachePriority];

/** An entry of the cache. Its contents do not change while a reader uses it. The fields here belong to the cache. */
export abstract class CacheEntry {
  /** Set to 1 by readers: the only cost of a hit. */
  touched = 0;
  /** The slots that hold the entry, null once it is evicted. */
  slots: CacheSlots<CacheEntry> | null = null;
  slot = 0;
  segment = 0;
  previous: CacheEntry | null = null;
  next: CacheEntry | null = null;
  /** Readers that use the entry. While there are any its bytes do not change, whether it is cached or not. */
  holders = 0;
  /** Its own buffer, which may be reused for another entry once this one is evicted and has no holders. */
  memory: Uint8Array | null = null;

  /** `charge`: the bytes of memory that the entry counts for. */
  constructor(readonly charge: number) {}
}

/**
 * The cached entries of one file, with one slot for each of its blocks: finding a block is reading an array. Only the cache writes
 * to it, and a thread that reads blocks of another (`SortedFileReader.lend`).
 */
export class CacheSlots<Entry extends CacheEntry> {
  readonly entries: (Entry | null)[];

  constructor(count: number) {
    this.entries = new Array<Entry | null>(count).fill(null);
  }
}

const SINGLE = 0;
const MULTI = 1;
const MEMORY = 2;
const SPARE = 3;
const INDEX = 4;
/** `hasRoom` is true up to this share of the capacity. */
const ROOM_SHARE = 7 / 8;
/** Evicted entries that are remembered for their buffers. */
const MAX_REUSABLE = 8;
/** The longest of these buffers as a share of the capacity, so that blocks of large cells do not take as much again; blocks of usual size are kept. */
const REUSABLE_SHARE = 1 / 32;
const ALWAYS_REUSABLE = 1 << 17;

const SEGMENTS = {
  [CachePriority.Normal]: SINGLE,
  [CachePriority.Memory]: MEMORY,
  [CachePriority.Spare]: SPARE,
  [CachePriority.Index]: INDEX,
};
const SHARES: readonly number[] = [0.25, 0.5, 0.25];
/** The share of the memory for entries that index and bloom blocks may take. */
const INDEX_SHARE = 3 / 4;
/** The share of the capacity that single rows get once the blocks do not fit, and the least that they keep. */
const ROWS_SHARE = 5 / 8;
const LEAST_ROWS_SHARE = 1 / 8;

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

/**
 * Blocks in memory, limited by bytes (HBase `LruBlockCache`, but with second chances instead of an order by time, so that a hit is
 * one store). There are five segments, each a queue:
 *
 * - single: blocks that were read once; evicted first.
 * - multi: blocks that were read again while they were in `single`.
 * - memory: blocks of IN_MEMORY families.
 * - index: index and bloom blocks. They are evicted only while they take more than three quarters of the memory: to read one again costs
 *   as much as fifty rows.
 * - spare: blocks of which parts can be read alone. They are evicted before all others, used or not: what is needed of them is
 *   then read in parts, and a scan cannot evict anything else.
 *
 * When room is needed, the one of the first three segments that exceeds its share (25, 50 and 25 per cent) most evicts its oldest entry. If
 * that was used since the last time, it moves to the end of its queue instead, from `single` to `multi`.
 *
 * Where the blocks of single rows do not fit, a part of the memory is for the rows themselves: {@link RowCache}. They give half of it back
 * when the index has no room beside them.
 *
 * An evicted block stays valid for readers that use it. The buffer of one that nobody uses is reused for the next block: getting
 * new memory from the system costs as much as reading a block from the system's cache.
 */
export class BlockCache {
  /** Incremented by readers. */
  hits = 0;
  misses = 0;
  private evictions = 0;
  /** Evicted entries with reusable buffers, the latest last. */
  private readonly reusable: CacheEntry[] = [];
  private bytes = 0;
  /** The most bytes of entries: the capacity, without what single rows take. */
  private limit: number;
  /** Single rows; null while all blocks fit. */
  rows: RowCache | null = null;
  private files = 0;
  private readonly segments: readonly [Segment, Segment, Segment, Segment, Segment] = [
    emptySegment(),
    emptySegment(),
    emptySegment(),
    emptySegment(),
    emptySegment(),
  ];

  /** `capacity`: bytes; 0 caches nothing. */
  constructor(readonly capacity: number) {
    this.limit = capacity;
  }

  /** A number by which {@link rows} knows a file. */
  nextFile(): number {
    return ++this.files;
  }

  /**
   * From now on single rows have a share of the memory: called when a block of which one row is read has no room. Null for a cache that
   * is too small.
   */
  beginRows(): RowCache | null {
    const share = this.capacity * ROWS_SHARE;
    if (this.rows === null && RowCache.fits(share)) {
      this.makeRows(share);
      this.makeRoom();
    }
    return this.rows;
  }

  private makeRows(bytes: number): void {
    this.rows = new RowCache(bytes);
    this.limit = this.capacity - this.rows.bytes;
  }

  /** Evicts entries beyond the limit, after single rows have given way to the index. */
  private makeRoom(): void {
    const index = this.segments[INDEX];
    while (this.bytes > this.limit && this.rows !== null && index.bytes > INDEX_SHARE * this.limit) {
      const share = this.rows.bytes / 2;
      if (share < this.capacity * LEAST_ROWS_SHARE || !RowCache.fits(share)) break;
      this.makeRows(share);
    }
    while (this.bytes > this.limit) this.evictOne();
  }

  /** Inserts `entry` at a free slot. An entry larger than the whole cache is not inserted. */
  insert<Entry extends CacheEntry>(
    slots: CacheSlots<Entry>,
    slot: number,
    entry: Entry,
    priority: CachePriority,
  ): void {
    if (entry.charge > this.limit) return;
    slots.entries[slot] = entry;
    entry.slots = slots as unknown as CacheSlots<CacheEntry>;
    entry.slot = slot;
    entry.touched = 0;
    this.append(entry, SEGMENTS[priority]);
    this.bytes += entry.charge;
    if (this.bytes > this.limit) this.makeRoom();
  }

  /** Whether `length` more bytes fit, and leave some room. */
  hasRoom(length: number): boolean {
    return this.rows === null && this.bytes + length <= this.capacity * ROOM_SHARE;
  }

  /**
   * A reusable buffer of an evicted entry that nobody uses: at least `length` bytes and at most twice as many. It belongs to the caller.
   * Undefined when there is none.
   */
  takeMemory(length: number): Uint8Array | undefined {
    const { reusable: left } = this;
    for (let i = left.length - 1; i >= 0; i--) {
      const { memory, holders } = left[i]!;
      if (holders > 0 || memory!.length < length || memory!.length > 2 * length) continue;
      left.splice(i, 1);
      return memory!;
    }
    return undefined;
  }

  /** Makes the buffer of an entry that is not cached available to {@link takeMemory}. */
  release(entry: CacheEntry): void {
    if (entry.memory === null) return;
    if (entry.memory.length > Math.max(ALWAYS_REUSABLE, REUSABLE_SHARE * this.capacity)) return;
    if (this.reusable.length === MAX_REUSABLE) this.reusable.shift();
    this.reusable.push(entry);
  }

  /** Removes all entries of `slots`. */
  invalidate(slots: CacheSlots<CacheEntry>): void {
    for (const entry of slots.entries) if (entry !== null) this.remove(entry);
  }

  /** Frees memory that is for later entries, and single rows. Nothing is read any more. */
  end(): void {
    this.reusable.length = 0;
    this.rows = null;
  }

  stats(): BlockCacheStats {
    const { capacity, hits, misses, evictions } = this;
    const bytes = this.bytes + (this.rows?.bytes ?? 0);
    let entries = 0;
    for (const segment of this.segments) entries += segment.count;
    return { capacity, bytes, entries, hits, misses, evictions };
  }

  private evictOne(): void {
    const fullest = this.segments[SPARE].count > 0 ? SPARE : this.fullest();
    const entry = this.segments[fullest]!.oldest!;
    if (entry.touched === 0 || fullest === SPARE) {
      this.remove(entry);
      this.evictions++;
      this.release(entry);
      return;
    }
    entry.touched = 0;
    this.unlink(entry);
    this.append(entry, fullest === SINGLE ? MULTI : fullest);
  }

  /** The segment that exceeds its share most. */
  private fullest(): number {
    if (this.segments[INDEX].bytes > INDEX_SHARE * this.limit) return INDEX;
    let fullest = INDEX;
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < SHARES.length; i++) {
      const segment = this.segments[i]!;
      const excess = segment.bytes - SHARES[i]! * this.limit;
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

// — Files open for reading, at most a given number at once. The least recently read file is closed, and opened again when it is next
// read. Reads are synchronous, so no file is closed during a read.

/** A file that may or may not be open at the moment. */
export class CachedFile {
  /** Used by the cache. */
  handle: FileHandle | undefined;
  readonly size: number;
  private closed = false;

  constructor(
    private readonly cache: FileHandleCache,
    readonly path: string,
  ) {
    this.size = cache.use(this).size;
  }

  /** As `FileHandle.read`. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    if (this.closed) {
      throw new ClosedError(`"${this.path}" was closed; read it through a reader that is still open.`, {
        details: { file: this.path },
      });
    }
    const { cache } = this;
    const handle = cache.use(this);
    if (!cache.disk.timesNext()) return handle.read(buffer, offset, length, position);
    const begun = performance.now();
    const count = handle.read(buffer, offset, length, position);
    cache.disk.took(performance.now() - begun);
    return count;
  }

  /** As `FileHandle.readAhead`; does nothing for a file that is closed, or whose reads do not wait. What fails is left to the read. */
  async readAhead(position: number, length: number): Promise<void> {
    if (this.closed) return;
    try {
      await this.cache.use(this).readAhead?.(position, length);
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
  }

  /** Closes the file for good; further reads fail. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.cache.forget(this);
  }
}

/** One of this many reads is timed. */
const TIMED_READS = 16;
/** Milliseconds from which a read has waited for the disk. A read of memory takes a tenth of this, one of a disk at least twice as much. */
const LONG_READ = 0.05;
/** A timed read that has waited adds this to the score; any other subtracts 1. So single reads that another program delays do not count. */
const WAIT_SCORE = 8;
const ENOUGH_SCORE = 16;
const MAX_SCORE = 64;

/**
 * Tells by timed reads whether reads of files wait for the disk, or are answered from the system's memory. What was read ahead does not
 * wait, so the score falls: after some hundreds of such reads nothing is read ahead for a while, and reads are measured again. It also falls
 * with each batch of gets that finds all it needs in memory: no read would be timed there, and looking costs such a batch a fifth more.
 */
export class DiskWaits {
  private reads = 0;
  private score = 0;

  /** Whether the timed reads have mostly waited. */
  get waitsAreLong(): boolean {
    return this.score >= ENOUGH_SCORE;
  }

  /** Whether the next read is to be timed. */
  timesNext(): boolean {
    return ++this.reads % TIMED_READS === 0;
  }

  /** Called with the milliseconds of a timed read. */
  took(milliseconds: number): void {
    this.score =
      milliseconds >= LONG_READ ? Math.min(MAX_SCORE, this.score + WAIT_SCORE) : Math.max(0, this.score - 1);
  }

  /** Called when a batch of gets has looked for places to read, and has found almost all in memory. */
  waitedForNothing(): void {
    this.took(0);
  }
}

export class FileHandleCache {
  readonly disk = new DiskWaits();
  /** In the order of their last reads, the latest last. */
  private readonly open = new Set<CachedFile>();
  /** How many times files were opened. */
  opens = 0;
  private latest: CachedFile | undefined;

  constructor(
    readonly fileSystem: FileSystem,
    /** The most files open at once, at least 1. */
    readonly budget: number,
  ) {}

  get openFiles(): number {
    return this.open.size;
  }

  /**
   * Opens a file for reading.
   * @throws RowanError `ERR_IO` when it cannot be opened.
   */
  file(path: string): CachedFile {
    return new CachedFile(this, path);
  }

  /** The open handle of `file`. */
  use(file: CachedFile): FileHandle {
    if (file.handle !== undefined) {
      if (file !== this.latest) {
        this.open.delete(file);
        this.open.add(file);
        this.latest = file;
      }
      return file.handle;
    }
    while (this.open.size >= this.budget && this.open.size > 0) {
      const [oldest] = this.open;
      this.forget(oldest!);
    }
    file.handle = this.openRead(file.path);
    this.opens++;
    this.open.add(file);
    this.latest = file;
    return file.handle;
  }

  /** Opens a file. When the process has no descriptors left, closes other files first: the rest of the program may need many. */
  private openRead(path: string): FileHandle {
    for (;;) {
      try {
        return this.fileSystem.openRead(path);
      } catch (error) {
        const errno = errnoOf(error);
        const [oldest] = this.open;
        if ((errno !== 'EMFILE' && errno !== 'ENFILE') || oldest === undefined) throw error;
        this.forget(oldest);
      }
    }
  }

  /** Closes the handle of `file`, if it is open. */
  forget(file: CachedFile): void {
    if (file === this.latest) this.latest = undefined;
    this.open.delete(file);
    file.handle?.close();
    file.handle = undefined;
  }

  /** Closes every handle. A file that is read later is opened again. */
  closeAll(): void {
    for (const file of [...this.open]) this.forget(file);
  }
}
