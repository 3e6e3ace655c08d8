import { compareBytes, keyAfter } from '../../bytes/index.js';
import { ClosedError, RowanError, throwIfAborted } from '../../errors.js';
import {
  LATEST_TIMESTAMP,
  type RawRow,
  type Result,
  type ResultScanner,
  type Scan,
  type SyncResultScanner,
} from '../../table/index.js';
import { bytesOf } from '../../table/result.js';
import type { Memstore } from '../memstore/memstore.js';
import { type FamilyStore, type Region, VersionSource } from '../region/region.js';
import { PlainScanner } from '../scan/plain-scanner.js';
import { RegionScanner, type ScanContext } from '../scan/region-scanner.js';
import type { TableState } from '../table-state.js';
import { EmptyRun } from './empty-run.js';
import type { IdleReader, ReaderEnd, ScannerRegistry } from './scanner-registry.js';

/** The parts of the store that scans use. */
export interface ScannerCore {
  readonly commits: { readonly readPoint: number };
  readonly settings: { readonly random: () => number; readonly scannerIdleTimeout: number };
  readonly scanners: ScannerRegistry;
  now(): number;
}

/** The data of a scan that does not read the present state of the store. */
export interface ScanView {
  readonly readPoint: number;
  readonly now: number;
  /** Whether it has writes that may be rolled back. */
  readonly uncommitted?: boolean;
  /** The regions of the table; undefined: the present ones. */
  readonly regions?: readonly Region[];
  /** Called for each read. */
  readonly touch?: () => void;
  hold(store: FamilyStore): VersionSource;
}

/** The store with every write so far, acknowledged or not, also those of a running step. */
export class UncommittedView implements ScanView {
  readonly readPoint = Number.MAX_SAFE_INTEGER;
  readonly uncommitted = true;

  constructor(readonly now: number) {}

  hold(store: FamilyStore): VersionSource {
    return held(store);
  }
}

interface HeldRegion {
  readonly region: Region;
  readonly sources: readonly VersionSource[];
}

/** The resources of a scan, separate from its reader, so that they can be released when the reader is garbage-collected. */
class ScanHold implements IdleReader {
  readonly readPoint: number;
  readonly time: number;
  readonly held: HeldRegion[] = [];
  /** The index of the current region, and the scan in it. */
  position = 0;
  current: RegionScanner | PlainScanner | undefined;
  /** Whether the scan in the region may pass over ranges without visible cells. */
  passes = false;
  /** Why it has ended; undefined while it is open. */
  end: ReaderEnd | 'closed' | undefined;
  slot = -1;
  used = true;
  idle = 0;
  readonly pinsAll = false;

  constructor(
    private readonly registry: ScannerRegistry,
    { readPoint, now }: ScanContext,
    public owner: object | undefined,
  ) {
    this.readPoint = readPoint;
    this.time = now;
  }

  readsFrom(memstore: Memstore): boolean {
    for (let i = this.position; i < this.held.length; i++) {
      if (this.held[i]!.sources.some(({ version }) => version.active === memstore)) return true;
    }
    return false;
  }

  /** Moves to the next region. */
  pass(): void {
    this.current!.close();
    this.current = undefined;
    this.release(this.position++);
  }

  close(end: ReaderEnd | 'closed'): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.current?.close();
    this.current = undefined;
    for (; this.position < this.held.length; this.position++) this.release(this.position);
    this.registry.closed(this);
    this.owner = undefined;
  }

  cutOff(why: ReaderEnd): void {
    this.close(why);
  }

  private release(position: number): void {
    for (const source of this.held[position]!.sources) source.version.release();
  }
}

/**
 * A scan over the regions of a table. It retains what it reads when it is created: the regions, their memstores and files, and the
 * read point. Flushes, compactions, splits and later writes do not change its results (R53).
 */
export class TableScanner implements SyncResultScanner {
  private readonly hold: ScanHold;
  private readonly context: ScanContext;
  /** A copy: the caller may reuse the scan object. */
  private readonly scan: Scan;
  private readonly filter: ReturnType<typeof RegionScanner.filterOf>;
  private remaining: number | undefined;
  /**
   * How many rows without visible cells `next` may still skip. At 0 it returns undefined though there may be more rows, so that
   * the caller can serve others, set it again and continue.
   */
  maxSkipped = Number.MAX_SAFE_INTEGER;
  /** The row at which `maxSkipped` was used up. */
  pausedAt: Uint8Array | undefined;
  private seenEnough = false;
  private readonly emptyRun: EmptyRun;
  /** Whether rows without visible cells have no results in this scan. */
  private readonly passesEmpty: boolean;

  constructor(
    private readonly core: ScannerCore,
    private readonly state: TableState,
    scan: Scan,
    private readonly view?: ScanView,
    /** If given, only this region of the table is read. */
    only?: Region,
  ) {
    state.checkQuery(scan);
    this.scan = scan.copy();
    this.remaining = scan.limit;
    this.context = {
      readPoint: view?.readPoint ?? core.commits.readPoint,
      now: view?.now ?? core.now(),
      random: core.settings.random,
    };
    this.filter = RegionScanner.filterOf(scan, this.context, scan.reversed);
    const { reversed, filter } = scan;
    this.emptyRun = new EmptyRun(reversed, filter !== undefined, this.context, view?.uncommitted !== true);
    this.passesEmpty = !scan.raw && readsPresent(scan);
    this.hold = new ScanHold(core.scanners, this.context, this);
    const regions = only === undefined ? (view?.regions ?? state.regions) : [only];
    const range = boundsOf(scan);
    for (let i = 0; i < regions.length; i++) {
      const region = regions[scan.reversed ? regions.length - 1 - i : i]!;
      if (overlaps(region, range)) this.hold.held.push({ region, sources: sourcesOf(region, scan, view) });
    }
    core.scanners.opened(this.hold);
  }

  /** The sequence number up to which it sees writes. */
  get readPoint(): number {
    return this.context.readPoint;
  }

  /** Whether it has returned as many rows as its limit. */
  get isFull(): boolean {
    return this.remaining === 0;
  }

  /** Whether a filter has ended the scan: other regions have no results either. */
  get filterDone(): boolean {
    return this.seenEnough;
  }

  /** A scan that fails is closed; otherwise it would retain what it reads for ever. */
  next(): Result | undefined {
    return this.step(null);
  }

  nextRaw(into: RawRow): boolean {
    return this.step(into) !== undefined;
  }

  private step(raw: RawRow | null): Result | undefined {
    try {
      return this.advance(raw);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private advance(raw: RawRow | null): Result | undefined {
    const { hold } = this;
    if (hold.end !== undefined) return this.ended(hold.end);
    hold.used = true;
    this.view?.touch?.();
    const { held } = hold;
    while (this.remaining !== 0 && hold.position < held.length) {
      if (hold.current === undefined) {
        const { region } = held[hold.position]!;
        region.readRequests++;
        this.open(within(this.scan, region, this.remaining));
      }
      const current = hold.current!;
      const skipped = this.skippable();
      current.maxSkipped = skipped;
      const result = raw === null ? current.next() : current.nextRaw(raw);
      this.maxSkipped -= skipped - current.maxSkipped;
      if (result) {
        this.emptyRun.end();
        if (this.remaining !== undefined && !result.partial) this.remaining--;
        return result;
      }
      if (this.maxSkipped <= 0) {
        this.pausedAt = current.pausedAt;
        return undefined;
      }
      if (current.maxSkipped <= 0 && this.passEmptyRows(current.pausedAt!, skipped)) continue;
      this.seenEnough = current.filterDone;
      hold.pass();
      this.emptyRun.end();
      // A filter that is done ends the whole scan, not only its part in this region.
      if (this.seenEnough) break;
    }
    this.close();
    return undefined;
  }

  /** Begins to read a part of the region at the position. */
  private open(part: Scan): void {
    const { hold } = this;
    const { sources } = hold.held[hold.position]!;
    hold.current =
      PlainScanner.open(sources, part, this.context) ??
      RegionScanner.forScan(sources, part, this.context, this.filter);
    hold.passes = this.passesEmpty && sources.every(({ emptyRanges }) => emptyRanges !== undefined);
  }

  /** How many rows without results the scan in the region may skip at once. */
  private skippable(): number {
    const { hold, maxSkipped } = this;
    if (!hold.passes) return maxSkipped;
    return Math.min(maxSkipped, this.emptyRun.allowance(hold.held[hold.position]!.sources));
  }

  /** Continues behind a range of rows without visible cells; false: there are no rows behind it in the region. */
  private passEmptyRows(row: Uint8Array, rows: number): boolean {
    const { hold, scan } = this;
    const { region, sources } = hold.held[hold.position]!;
    const end = (): Uint8Array => endOf(within(scan, region, this.remaining));
    const next = this.emptyRun.pass(sources, end, row, rows);
    if (next === undefined) return true;
    const part = within(scan, region, this.remaining);
    if (scan.reversed ? compareBytes(next, endOf(part)) <= 0 : isAtEnd(next, endOf(part))) return false;
    hold.current!.close();
    this.open((part === scan ? part.copy() : part).withStartRow(next, !scan.reversed));
    return true;
  }

  /** A scan that the store ended has more rows, so reading on throws. */
  private ended(end: ReaderEnd | 'closed'): undefined {
    if (end === 'closed') return undefined;
    throw endedReader(end, this.core, this.state);
  }

  nextBatch(count: number, bytes?: number): Result[] {
    return takeBatch(this, count, bytes);
  }

  close(): void {
    this.hold.close('closed');
  }

  *[Symbol.iterator](): Iterator<Result> {
    try {
      for (let result = this.next(); result; result = this.next()) yield result;
    } finally {
      this.close();
    }
  }
}

/** As {@link SyncResultScanner.nextBatch}. */
export function takeBatch(
  scanner: Pick<SyncResultScanner, 'next'>,
  count: number,
  bytes = Number.POSITIVE_INFINITY,
): Result[] {
  const results: Result[] = [];
  let left = bytes;
  while (results.length < count && (left > 0 || results.length === 0)) {
    const result = scanner.next();
    if (!result) break;
    results.push(result);
    if (bytes !== Number.POSITIVE_INFINITY) left -= bytesOf(result.cells);
  }
  return results;
}

/** The error for reading on after the store ended the reader. */
export function endedReader(end: ReaderEnd, core: ScannerCore, { name }: TableState): RowanError {
  if (end === 'store closed') {
    return new ClosedError('The store was closed while this scan was open: it has more rows.');
  }
  return new RowanError(
    'ERR_SCANNER_EXPIRED',
    `This scan of "${name}" was not used for ${core.settings.scannerIdleTimeout} ms, so it was ended: it has more rows. ` +
      'Start a new one after the last row, read in pages, or set scannerIdleTimeout.',
    { details: { table: name } },
  );
}

function sourcesOf(region: Region, scan: Scan, view: ScanView | undefined): VersionSource[] {
  const all = scan.asksForAll;
  const sources: VersionSource[] = [];
  const { stores } = region;
  for (let i = 0; i < stores.length; i++) {
    const store = stores[i]!;
    if (!all && !scan.families.has(store.descriptor.name)) continue;
    sources.push(view?.hold(store) ?? held(store));
  }
  return sources;
}

export function held({ descriptor, version, known }: FamilyStore): VersionSource {
  return new VersionSource(descriptor, version.retain(), known);
}

/** Where the rows of a scan end: forward exclusive, in reverse inclusive. Empty: at the end of the table. */
function endOf(scan: Scan): Uint8Array {
  const { low, high, includeHigh } = boundsOf(scan);
  if (scan.reversed) return low;
  return high.length > 0 && includeHigh ? keyAfter(high) : high;
}

/** Whether a row that begins at `key` is not before `end`. Both are ends of ranges: an empty one is that of the table. */
function isAtEnd(key: Uint8Array, end: Uint8Array): boolean {
  return key.length === 0 || (end.length > 0 && compareBytes(key, end) >= 0);
}

/** Whether a scan sees cells of the newest timestamps, and so every marker that hides others. */
function readsPresent({ timeRange, familyTimeRanges }: Scan): boolean {
  if (timeRange.max !== LATEST_TIMESTAMP) return false;
  for (const { max } of familyTimeRanges.values()) if (max !== LATEST_TIMESTAMP) return false;
  return true;
}

/** The row range of a scan, whatever its direction. */
interface Bounds {
  readonly low: Uint8Array;
  readonly includeLow: boolean;
  readonly high: Uint8Array;
  readonly includeHigh: boolean;
}

export function overlaps(region: Region, { low, includeLow, high, includeHigh }: Bounds): boolean {
  if (low.length > 0 && region.endKey.length > 0 && compareBytes(region.endKey, low) <= 0) return false;
  if (high.length > 0) {
    const difference = compareBytes(region.startKey, high);
    if (difference > 0 || (difference === 0 && !includeHigh)) return false;
  }
  // A scan of one row that excludes it, and an inverted range, find nothing.
  if (low.length > 0 && high.length > 0) {
    const difference = compareBytes(low, high);
    if (difference > 0 || (difference === 0 && !(includeLow && includeHigh))) return false;
  }
  return true;
}

export function boundsOf(scan: Scan): Bounds {
  const { startRow, includeStartRow, stopRow, includeStopRow } = scan;
  return scan.reversed
    ? { low: stopRow, includeLow: includeStopRow, high: startRow, includeHigh: includeStartRow }
    : { low: startRow, includeLow: includeStartRow, high: stopRow, includeHigh: includeStopRow };
}

/** The part of a scan within a region. */
function within(scan: Scan, region: Region, limit: number | undefined): Scan {
  // The usual table has one region, and its scan needs no bounds.
  if (region.startKey.length === 0 && region.endKey.length === 0 && limit === scan.limit) return scan;
  const part = scan.copy();
  part.limit = limit;
  const { startKey, endKey } = region;
  const { low, high } = boundsOf(scan);
  if (startKey.length > 0 && compareBytes(startKey, low) > 0) {
    if (scan.reversed) part.withStopRow(startKey, true);
    else part.withStartRow(startKey, true);
  }
  if (endKey.length > 0 && (high.length === 0 || compareBytes(endKey, high) <= 0)) {
    if (scan.reversed) part.withStartRow(endKey, false);
    else part.withStopRow(endKey, false);
  }
  return part;
}

/** Results after which other events may run. */
const RESULTS_PER_TURN = 4096;

/** Results that an iteration gives before it looks at its signal. */
const RESULTS_BETWEEN_PAUSES = 256;

/** Wraps a synchronous scanner in the interface of all engines. */
export class AsyncScanner implements ResultScanner {
  readonly moments = 1;
  private given = 0;
  private closed = false;

  constructor(
    private readonly scanner: SyncResultScanner,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async next(): Promise<Result | undefined> {
    await this.pause(1);
    return this.scanner.next();
  }

  async nextBatch(count: number, bytes?: number): Promise<Result[]> {
    await this.pause(count);
    return this.scanner.nextBatch(count, bytes);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.scanner.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Result> {
    try {
      for (let given = 0; ; given++) {
        if (given % RESULTS_BETWEEN_PAUSES === 0) await this.pause(RESULTS_BETWEEN_PAUSES);
        const result = this.scanner.next();
        if (result === undefined) return;
        yield result;
      }
    } finally {
      await this.close();
    }
  }

  private async pause(count: number): Promise<void> {
    if (this.signal?.aborted) {
      this.scanner.close();
      throwIfAborted(this.signal);
    }
    this.given += count;
    if (this.given < RESULTS_PER_TURN || this.closed) return;
    this.given = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
