/**
 * A scan by several threads, each of which reads parts of the table.
 *
 * 1. All threads read the table as it is when the scan is created: the files and memstores of that moment, up to its read point. This
 *    thread retains them until every thread has said that it reads no more. Files and the cells of memstores do not change; of a
 *    memstore that is still written the order of its cells is copied.
 * 2. Rows are given in the order of the ranges and keys: the parts are read out of order, but given in order.
 * 3. A part comes with the blocks that are in the cache. They are held, so that their memory is not used again, until the thread has said
 *    that it has read the part, or that it reads no more.
 * 4. At most `threads` * `PARTS_AHEAD` parts have begun that are not given, each with at most `PACKETS_AHEAD` packets in memory
 *    (`PACKETS_OF_PUTS_AHEAD`).
 */

import { abortError, fromWire, type RowanError } from '../../errors.js';
import type {
  DerivedPuts,
  Filter,
  GroupedColumns,
  PackedDerivedPuts,
  PackedGroups,
  RawRow,
  Scan,
  ScannedRange,
  ThreadedScanner,
  ThreadedScanOptions,
} from '../../table/index.js';
import type { DataBlock } from '../encoding/index.js';
import type { IdleReader, ReaderEnd } from '../read/scanner-registry.js';
import { endedReader, held, overlaps, type ScannerCore } from '../read/table-scanner.js';
import type { Region, VersionSource } from '../region/region.js';
import type { TableState } from '../table-state.js';
import { type PackedRows, RowUnpacker } from './packed-rows.js';
import type { Asked, Counted, HeldBlock, Packet, ScanPart, ScanReply, SharedFamily } from './protocol.js';
import type { ReaderThread, ReaderThreads, ThreadedWork } from './reader-threads.js';
import { scanParts } from './scan-parts.js';

const PARTS_AHEAD = 2;
const PACKETS_AHEAD = 16;
/** Packets of puts are larger. */
const PACKETS_OF_PUTS_AHEAD = 2;

/** Whether threads return the rows of a scan that one thread would. Filters that count rows, or end the scan, need all of them. */
export function isForThreads({ reversed, raw, limit, batch, filter }: Scan): boolean {
  return (
    !reversed &&
    !raw &&
    limit === undefined &&
    batch === undefined &&
    (filter === undefined || decidesByRow(filter))
  );
}

function decidesByRow(filter: Filter): boolean {
  switch (filter.kind) {
    case 'page':
    case 'while':
    case 'random':
      return false;
    case 'list':
      return filter.filters.every(decidesByRow);
    case 'skip':
      return decidesByRow(filter.filter);
    default:
      return true;
  }
}

interface HeldRegion {
  readonly region: Region;
  readonly sources: readonly VersionSource[];
}

/** A part that was given to a thread. */
interface RunningPart {
  readonly thread: ReaderThread;
  readonly packets: Packet[];
  done: boolean;
}

export class ThreadedScan implements ThreadedScanner, ThreadedWork, IdleReader {
  // Of a reader in the registry.
  readonly readPoint: number;
  readonly time: number;
  readonly pinsAll = false;
  readonly owner = undefined;
  slot = -1;
  used = true;
  idle = 0;

  private readonly number: number;
  private readonly held: HeldRegion[] = [];
  private parts: readonly ScanPart[] = [];
  private threads: readonly ReaderThread[] = [];
  /** The threads that may still read. */
  private readonly attached = new Set<ReaderThread>();
  private readonly running = new Map<number, RunningPart>();
  /** The blocks that are held for the parts that threads may still read. */
  private readonly lent = new Map<number, { readonly thread: ReaderThread; readonly blocks: DataBlock[] }>();
  private begun = 0;
  /** The part whose rows are given. */
  private current = 0;
  private unpacker: RowUnpacker | undefined;
  /** The number of a part whose packet was given. */
  private given: number | undefined;
  /** Set in {@link groups} and {@link nextPuts}. */
  private asked: Asked | undefined;
  private counting = false;
  /** What the parts that are read have. */
  private readonly read = { rows: 0, bytes: 0, parts: 0 };
  private error: RowanError | undefined;
  private ended = false;
  private wake: (() => void) | undefined;

  constructor(
    private readonly pool: ReaderThreads,
    private readonly core: ScannerCore,
    private readonly state: TableState,
    scan: Scan,
    ranges: readonly ScannedRange[],
    private readonly options: ThreadedScanOptions,
  ) {
    state.checkQuery(scan);
    this.number = pool.nextNumber();
    this.readPoint = core.commits.readPoint;
    this.time = core.now();
    this.threads = pool.take(options.threads);
    for (const region of state.regions) {
      if (ranges.some((range) => overlaps(region, boundsOf(range)))) {
        const asked = region.stores.filter(
          ({ descriptor }) => scan.asksForAll || scan.families.has(descriptor.name),
        );
        region.readRequests++;
        this.held.push({ region, sources: asked.map(held) });
      }
    }
    core.scanners.opened(this);
    options.signal?.addEventListener('abort', this.onAbort);
    try {
      this.begin(scan, ranges);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private readonly onAbort = (): void => this.fail(abortError(this.options.signal!));

  private begin(scan: Scan, ranges: readonly ScannedRange[]): void {
    const regions = this.held.map(({ sources }) => sources.map(sharedFamily));
    const contents = this.held.map(({ region: { startKey, endKey }, sources }, i) => ({
      startKey,
      endKey,
      files: sources.flatMap(({ version }) => version.files),
      memstores: regions[i]!.flatMap(({ memstores }) => memstores),
    }));
    this.parts = scanParts(contents, ranges, this.threads.length);
    const open = { regions, readPoint: this.readPoint, now: this.time, scan };
    for (const thread of this.threads) {
      thread.scans.set(this.number, this);
      this.attached.add(thread);
      thread.send({ scan: this.number, open });
    }
  }

  next(into: RawRow): boolean | Promise<boolean> {
    this.used = true;
    return this.step(into) ?? this.later(into);
  }

  async count(): Promise<Counted> {
    this.counting = true;
    try {
      for (this.dispatch(); this.read.parts < this.parts.length; ) {
        if (this.error !== undefined) throw this.error;
        await this.message();
      }
    } finally {
      this.close();
    }
    return this.read;
  }

  async groups(columns: GroupedColumns, take: (packed: PackedGroups) => void): Promise<Counted> {
    this.asked = columns;
    try {
      for (;;) {
        const packet = this.nextPacket();
        if (packet === null) break;
        if (packet === undefined) await this.message();
        else take(packet as PackedGroups);
      }
    } finally {
      this.close();
    }
    return this.read;
  }

  async nextPuts(made: DerivedPuts): Promise<PackedDerivedPuts | undefined> {
    this.used = true;
    this.asked = made;
    for (;;) {
      const packet = this.nextPacket();
      if (packet) return packet as PackedDerivedPuts;
      if (packet === null) {
        this.close();
        return undefined;
      }
      await this.message();
    }
  }

  /** Undefined: a message must be awaited. */
  private step(into: RawRow): boolean | undefined {
    for (;;) {
      if (this.unpacker?.next(into)) return true;
      const packet = this.nextPacket();
      this.unpacker = packet ? new RowUnpacker(packet as PackedRows) : undefined;
      if (packet) continue;
      if (packet === undefined) return undefined;
      this.close();
      return false;
    }
  }

  /** The next packet in order; the one before is used up. Null at the end; undefined: a message must be awaited. */
  private nextPacket(): Packet | null | undefined {
    const { given } = this;
    if (given !== undefined) this.running.get(given)?.thread.send({ scan: this.number, more: given });
    this.given = undefined;
    for (;;) {
      if (this.error !== undefined) throw this.error;
      if (this.ended || this.current === this.parts.length) return null;
      this.dispatch();
      const part = this.running.get(this.current)!;
      const packet = part.packets.shift();
      if (packet !== undefined) {
        this.given = this.current;
        return packet;
      }
      if (!part.done) return undefined;
      this.running.delete(this.current++);
    }
  }

  private async later(into: RawRow): Promise<boolean> {
    for (;;) {
      await this.message();
      const more = this.step(into);
      if (more !== undefined) return more;
    }
  }

  /** Resolves with the next message, or the end. */
  private async message(): Promise<void> {
    const { threads } = this;
    for (const thread of threads) thread.ref();
    try {
      await new Promise<void>((resolve) => (this.wake = resolve));
    } finally {
      for (const thread of threads) thread.unref();
    }
  }

  /**
   * Gives parts to threads, as many as may be ahead: each to the thread with the fewest that it has not read, and of those with equally
   * few to the one that was given its last part earliest. Threads that are faster than the consumer would otherwise all be idle at each
   * part, and the first would get them all.
   */
  private dispatch(): void {
    const { asked } = this;
    const counting = this.counting;
    while (this.begun < this.parts.length && this.running.size < this.threads.length * PARTS_AHEAD) {
      const open = (thread: ReaderThread): number => {
        let parts = 0;
        for (const part of this.running.values()) if (part.thread === thread && !part.done) parts++;
        return parts;
      };
      const thread = this.threads.reduce((least, other) => (open(other) < open(least) ? other : least));
      this.threads = [...this.threads.filter((other) => other !== thread), thread];
      this.running.set(this.begun, { thread, packets: [], done: false });
      const packets = counting
        ? 0
        : asked !== undefined && 'row' in asked
          ? PACKETS_OF_PUTS_AHEAD
          : PACKETS_AHEAD;
      const of = this.parts[this.begun]!;
      thread.send({
        scan: this.number,
        part: this.begun,
        of,
        packets,
        asked,
        blocks: this.lend(this.begun, of, thread),
      });
      this.begun++;
    }
  }

  /** Holds and shares the blocks of a part that are in the cache. */
  private lend(number: number, { region, start, stop }: ScanPart, thread: ReaderThread): HeldBlock[] {
    const blocks: DataBlock[] = [];
    const shared: HeldBlock[] = [];
    this.held[region]!.sources.forEach(({ version }, family) => {
      version.files.forEach(({ reader }, file) => {
        for (const [inFile, block] of reader.cachedBlocks(start, stop)) {
          block.holders++;
          blocks.push(block);
          shared.push({ ...block.share(), family, file, number: inFile });
        }
      });
    });
    this.lent.set(number, { thread, blocks });
    return shared;
  }

  /** Called when the thread no longer reads the part. */
  private takeBack(number: number): void {
    for (const block of this.lent.get(number)?.blocks ?? []) block.holders--;
    this.lent.delete(number);
  }

  receive(thread: ReaderThread, reply: ScanReply): void {
    if ('closed' in reply) {
      this.detach(thread);
      return;
    }
    if (!('part' in reply)) return;
    if ('counted' in reply || 'error' in reply) this.takeBack(reply.part);
    if (this.ended) return;
    this.used = true;
    const part = this.running.get(reply.part)!;
    if ('error' in reply) this.fail(fromWire(reply.error));
    else if ('packed' in reply) part.packets.push(reply.packed);
    else {
      part.done = true;
      this.read.rows += reply.counted.rows;
      this.read.bytes += reply.counted.bytes;
      this.read.parts++;
      if (this.counting) {
        this.running.delete(reply.part);
        this.dispatch();
        if (this.read.parts < this.parts.length) return;
      }
    }
    this.wake?.();
  }

  lost(thread: ReaderThread, error: RowanError): void {
    this.detach(thread);
    this.fail(error);
  }

  cutOff(why: ReaderEnd): void {
    this.fail(endedReader(why, this.core, this.state));
  }

  private fail(error: RowanError): void {
    if (this.ended) return;
    this.error = error;
    this.close();
    this.wake?.();
  }

  close(): void {
    if (this.ended) return;
    this.ended = true;
    this.unpacker = undefined;
    this.running.clear();
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.core.scanners.closed(this);
    for (const thread of this.attached) thread.send({ scan: this.number, close: true });
    this.releaseIfUnread();
  }

  private detach(thread: ReaderThread): void {
    this.attached.delete(thread);
    for (const [number, lent] of this.lent) if (lent.thread === thread) this.takeBack(number);
    thread.scans.delete(this.number);
    this.pool.detached();
    this.releaseIfUnread();
  }

  private releaseIfUnread(): void {
    if (!this.ended || this.attached.size > 0) return;
    for (const { sources } of this.held) for (const { version } of sources) version.release();
    this.held.length = 0;
  }

  readsFrom(): boolean {
    return false;
  }
}

function sharedFamily({ descriptor, version }: VersionSource): SharedFamily {
  const memstores = [...version.frozen].reverse();
  if (version.active.size > 0) memstores.push(version.active);
  return {
    descriptor,
    files: version.files.map(({ path, fileNo, seq, size }) => ({ path, fileNo, seq, size })),
    memstores: memstores.map((memstore) => memstore.share()),
  };
}

function boundsOf({ start, stop }: ScannedRange): Parameters<typeof overlaps>[1] {
  return { low: start, includeLow: true, high: stop, includeHigh: false };
}
