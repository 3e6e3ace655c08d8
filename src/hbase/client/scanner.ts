import { compareBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { ClosedError, type RowanError, TimeoutError, throwIfAborted } from '../../errors.js';
import type { Cell } from '../../table/checks.js';
import type { Scan } from '../../table/get-and-scan.js';
import { bytesOf, type Result } from '../../table/result.js';
import type { OperationOptions, ResultScanner } from '../../table/table.js';
import type { Observer } from '../observe/observer.js';
import type { TableStatistics } from '../observe/table-figures.js';
import type { HBaseSettings } from '../options.js';
import type { RegionFinder } from '../region/locator.js';
import { compareMetaRows, META_TABLE, type Region } from '../region/region.js';
import { asRowanError } from '../rpc/call.js';
import type { ConnectionPool } from '../rpc/connection-pool.js';
import { RemoteError } from '../rpc/errors.js';
import type { RequestAttributes } from '../rpc/request-attributes.js';
import { ReadType } from '../wire/encode-query.js';
import { type BlockRows, type FetchedRows, MadeRows, outOfOrder, RowAssembler } from './fetched-rows.js';
import { type OpenScanners, RegionScanner, type ScannerSlot } from './open-scanners.js';
import { exhaustedError, orAborted, pauseBefore, sleep, suggestsStaleLocation } from './retry.js';
import type { ScanAnswer } from './scan-call.js';

const NO_ROWS: FetchedRows = new MadeRows([]);

/** Scans limited to at most this many rows use `PREAD`, without the server's read-ahead. */
const SHORT_SCAN = 100;

/** The parts of the client that a scanner uses. */
export interface ScannerContext {
  readonly settings: HBaseSettings;
  readonly pool: Pick<ConnectionPool, 'get'>;
  readonly locator: RegionFinder;
  /** Updates the region cache after an error. */
  regionFailed(region: Region, error: RowanError): void;
  readonly isClosed: boolean;
  readonly observer: Observer;
  readonly scanners: OpenScanners;
  /** Milliseconds; default: limited by the attempts. */
  readonly longestPause?: number;
}

/**
 * A scan over the regions of a table, one after the other. It holds the rows of one answer and prefetches the next, never more. When
 * a region moves or splits, or its server is lost, the scan continues after the last complete row.
 *
 * The `timeout` of its options limits each wait for rows, not the whole scan.
 */
export class HBaseScanner implements ResultScanner {
  /** Called once when the scan has ended, with its error if it failed. */
  onEnd: ((error?: RowanError) => void) | undefined;
  /** Attributes of each of its requests. */
  attributes: RequestAttributes | undefined;
  private ready: FetchedRows = NO_ROWS;
  /** The rows of the next answer: lazily decoded when they came whole, assembled otherwise. */
  private block: BlockRows | undefined;
  private fetched: Result[] = [];
  private fetching: Promise<void> | undefined;
  private failure: RowanError | undefined;
  private finished = false;
  private closed = false;
  private answers = 0;
  /** Number of region scanners that have answered. */
  moments = 0;
  /** The last request. */
  private asked: { readonly region: Region; readonly at: number } | undefined;
  /** Failures since the scan last progressed, to a complete row or another region. */
  private attempts = 0;
  private readonly assembler: RowAssembler;
  private readonly slot: ScannerSlot;
  private start: Uint8Array;
  private includeStart: boolean;
  /** Rows returned or fetched, counted against the limit. */
  private rows = 0;
  /** The mvcc read point of the current region's first scanner. */
  private readPoint: bigint | undefined;
  private readonly timeout: number;
  private readonly statistics: TableStatistics;
  private readonly signal: AbortSignal | undefined;
  /** The order of the table's rows. */
  private readonly compare: (a: Uint8Array, b: Uint8Array) => number;

  constructor(
    private readonly context: ScannerContext,
    private readonly table: string,
    private readonly scan: Scan,
    options: OperationOptions = {},
    /** The replica that is read; 0: the primary, subject to the scan's consistency. */
    private readonly replicaId = 0,
  ) {
    this.assembler = new RowAssembler(scan.batch, this.fetched);
    this.compare = table === META_TABLE ? compareMetaRows : compareBytes;
    this.start = scan.startRow;
    this.includeStart = scan.includeStartRow || scan.startRow.length === 0;
    this.timeout = options.timeout ?? context.settings.operationTimeout;
    this.signal = options.signal;
    this.slot = context.scanners.slotFor(this, options.signal);
    this.statistics = context.observer.tables.table(table);
  }

  next(): Promise<Result | undefined> {
    return this.ready.left > 0 ? Promise.resolve(this.take()) : this.nextOfRefill();
  }

  private async nextOfRefill(): Promise<Result | undefined> {
    return (await this.refill()) ? this.take() : undefined;
  }

  async nextBatch(count: number, bytes = Number.POSITIVE_INFINITY): Promise<Result[]> {
    const out: Result[] = [];
    let size = 0;
    while (out.length < count) {
      if (this.ready.left === 0) {
        if ((size >= bytes && out.length > 0) || !(await this.refill())) break;
        if (bytes !== Number.POSITIVE_INFINITY) size += this.ready.bytes;
      }
      out.push(this.take());
    }
    return out;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.ready = NO_ROWS;
    const closing = this.end();
    // An answer under way is not awaited: it may take long, and is not needed.
    if (this.fetching === undefined) await closing;
  }

  [Symbol.asyncIterator](): AsyncIterator<Result> {
    return {
      next: () =>
        // Fast path: a scan spends much of its time here.
        this.ready.left > 0 ? Promise.resolve({ done: false, value: this.take() }) : this.iterateOn(),
      return: async () => {
        await this.close();
        return { done: true, value: undefined };
      },
    };
  }

  private async iterateOn(): Promise<IteratorResult<Result>> {
    const value = await this.next();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  private take(): Result {
    const result = this.ready.take();
    // The first answer may be all that is wanted, so the second is prefetched only when half of it was read.
    const early = this.answers > 1 || this.ready.taken >= this.ready.left;
    if (early && !this.hasFetched && this.fetching === undefined) this.fetchAhead();
    return result;
  }

  private fetchAhead(): void {
    if (!this.finished && !this.closed && this.failure === undefined) this.startFetch();
  }

  /** Waits for rows. @returns false at the end of the scan. */
  private async refill(): Promise<boolean> {
    this.check();
    while (!this.hasFetched) {
      if (this.failure !== undefined) throw this.failure;
      if (this.finished) return false;
      await orAborted(this.startFetch(), this.signal);
      this.check();
    }
    this.answers++;
    this.ready = this.block ?? new MadeRows(this.fetched.splice(0));
    this.block = undefined;
    return true;
  }

  private get hasFetched(): boolean {
    return this.block !== undefined || this.fetched.length > 0;
  }

  /** Ends the scan and closes its scanner on the server. */
  private end(error?: RowanError): Promise<void> {
    this.onEnd?.(error);
    this.onEnd = undefined;
    return this.context.scanners.forget(this.slot);
  }

  private check(): void {
    if (this.closed) throw new ClosedError('The scanner was closed. Open another one.');
    if (this.context.isClosed) throw new ClosedError('The connection to HBase was closed.');
    throwIfAborted(this.signal);
  }

  /** Prefetches. Never rejects: an error is kept until rows are requested. */
  private startFetch(): Promise<void> {
    this.fetching ??= this.fetch()
      .catch((error: unknown) => {
        this.failure = asRowanError(error);
        const { asked } = this;
        this.statistics.failed(asked?.region, asked === undefined ? 0 : performance.now() - asked.at);
        void this.end(this.failure);
      })
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  /** Sends requests until rows arrive or the scan ends. Failures are retried as HBase's client does. */
  private async fetch(): Promise<void> {
    this.attempts = 0;
    let reason: RowanError | undefined;
    let end = performance.now() + this.timeout;
    while (!this.hasFetched && !this.finished && !this.closed) {
      try {
        const progress = await this.step(end - performance.now());
        if (progress) end = performance.now() + this.timeout;
        else if (performance.now() >= end) throw this.noRows();
      } catch (thrown) {
        const error = asRowanError(thrown);
        const attempts = ++this.attempts;
        await this.recover(error);
        // The rest of the time was too short for its request: that says nothing of what the scan has waited for.
        if (reason === undefined || !(error instanceof TimeoutError)) reason = error;
        this.giveUpIfHopeless(error, attempts, end, reason);
        const { settings, longestPause = Number.POSITIVE_INFINITY } = this.context;
        const pause = Math.min(longestPause, pauseBefore(attempts, settings.pause, error));
        this.context.observer.retried(this.table, 1, attempts, pause, error);
        this.statistics.retried(this.asked?.region);
        await sleep(Math.min(pause, Math.max(0, end - performance.now())), this.signal);
      }
      throwIfAborted(this.signal);
    }
  }

  private giveUpIfHopeless(error: RowanError, attempts: number, end: number, reason: RowanError): void {
    const what = `The scan of table ${this.table}`;
    const isScannerLoss = error instanceof RemoteError && error.retryClass === 'scanner';
    if (this.context.isClosed || (!error.retryable && !isScannerLoss)) throw error;
    if (performance.now() >= end) throw this.noRows(reason);
    if (attempts > this.context.settings.retries)
      throw exhaustedError(error, what, attempts, 'no retries left');
  }

  private noRows(cause?: RowanError): RowanError {
    const last = cause === undefined ? '' : ` Last error: ${cause.message}`;
    return new TimeoutError(`The scan of table ${this.table} had no rows within ${this.timeout} ms.${last}`, {
      cause,
      details: { table: this.table },
    });
  }

  /**
   * Sends one request: the next of the open scanner, or the opening of one at the scan's position.
   * @returns whether it made progress: rows, another region, or a heartbeat.
   */
  private async step(timeLeft: number): Promise<boolean> {
    const { settings } = this.context;
    const limit = this.scan.limit === undefined ? 0 : this.scan.limit - this.rows;
    const caching = this.scan.caching ?? settings.scannerCaching;
    const rowsAtOnce = limit > 0 ? Math.min(limit, caching) : caching;
    const { scanner: present } = this.slot;
    if (present?.isOpen) {
      this.asked = { region: present.region, at: performance.now() };
      return this.accept(await present.next(rowsAtOnce, limit), present.region);
    }
    // It was closed because it was idle for too long.
    if (present !== undefined) this.resumeAfterLastRow();
    const region = this.replicaOf(await this.locate(timeLeft));
    if (this.slot.isReleased) throw new ClosedError('The scanner was closed. Open another one.');
    const scanner = new RegionScanner(
      this.context.pool,
      settings,
      this.scan,
      region,
      Math.max(1, Math.min(settings.scannerTimeout, timeLeft)),
      this.attributes,
    );
    this.slot.put(scanner);
    const position = {
      // The rest of a row must be read at the read point of its beginning. Other rows need not be, and compactions may have dropped their old versions.
      readPoint: this.assembler.openRow === undefined || region.replicaId > 0 ? undefined : this.readPoint,
      startRow: this.start,
      includeStartRow: this.includeStart,
      maxResultSize: this.scan.maxResultSize ?? settings.scannerMaxResultSize,
      caching: rowsAtOnce,
      readType:
        (this.scan.limit ?? Number.POSITIVE_INFINITY) <= SHORT_SCAN ? ReadType.Pread : ReadType.Default,
    };
    this.asked = { region, at: performance.now() };
    const answer = await scanner.open(position, rowsAtOnce, limit);
    this.moments++;
    if (region.replicaId === 0 && answer.readPoint !== 0n) this.readPoint ??= answer.readPoint;
    return this.accept(answer, region);
  }

  /** Moves a TIMELINE scan whose primary failed to the replicas, one after the other. */
  private replicaOf(region: Region): Region {
    if (this.replicaId > 0) return region.replicas[this.replicaId] ?? region;
    if (this.scan.consistency !== 'TIMELINE' || this.attempts === 0) return region;
    const replicas = region.replicas.filter((replica) => replica !== undefined);
    return replicas[this.attempts % replicas.length] ?? region;
  }

  private locate(timeLeft: number): Promise<Region> {
    const before = this.scan.reversed && (this.start.length === 0 || !this.includeStart);
    return this.context.locator.locate(this.table, this.start, before, Math.max(1, timeLeft));
  }

  /** Handles a region's answer. The slot is empty when the scan was aborted meanwhile. */
  private accept(answer: ScanAnswer, region: Region): boolean {
    const { assembler, fetched } = this;
    this.count(answer, region);
    const before = fetched.length;
    this.checkOrder(answer);
    assembler.isStale = answer.stale;
    const got = this.takeRows(answer.rows) || answer.pieces.length > 0;
    for (let i = 0; i < answer.pieces.length; i++) {
      const piece: Cell[] = answer.pieces[i]!;
      if (piece.length > 0) assembler.add(piece, answer.partial[i]!);
    }
    // An empty answer other than a heartbeat completes a held row, as does the region's end.
    const regionDone = !answer.moreResultsInRegion || !answer.moreResults;
    if (regionDone || (!got && !answer.heartbeat)) assembler.completeHeld();
    this.countRows(before);
    if (!answer.moreResults || this.finished) {
      this.finish();
    } else if (!answer.moreResultsInRegion) {
      this.leaveRegion(region);
    }
    return got || answer.heartbeat || !answer.moreResultsInRegion;
  }

  private count({ rows, pieces, partial }: ScanAnswer, region: Region): void {
    let found = rows?.left ?? 0;
    let bytes = rows?.bytes ?? 0;
    for (let i = 0; i < pieces.length; i++) {
      // A row that goes on counts with its last piece.
      if (partial[i] !== true) found++;
      bytes += bytesOf(pieces[i]!);
    }
    this.statistics.succeeded(region, performance.now() - this.asked!.at, found, bytes);
  }

  /** Keeps whole rows undecoded, unless the first continues a row that came in pieces. @returns false when there are none. */
  private takeRows(rows: BlockRows | undefined): boolean {
    if (rows === undefined) return false;
    const { assembler } = this;
    if (!assembler.takesWholeRows || this.hasFetched) {
      while (rows.left > 0) assembler.add([...rows.take().cells], false);
      return true;
    }
    assembler.lastCompleteRow = rows.lastRow;
    this.block = rows;
    if (this.scan.limit === undefined) return true;
    rows.truncate(this.scan.limit - this.rows);
    this.rows += rows.left;
    this.finished = this.rows >= this.scan.limit;
    return true;
  }

  /** Checks the order of rows once an answer, so that a server that repeats itself cannot keep a scan running for ever. */
  private checkOrder({ rows, pieces }: ScanAnswer): void {
    const { lastCompleteRow } = this.assembler;
    const row = rows?.firstRow ?? pieces[0]?.[0]?.row;
    if (row === undefined || lastCompleteRow === undefined || this.assembler.goesOnWith(row)) return;
    const order = this.compare(row, lastCompleteRow);
    if (this.scan.reversed ? order >= 0 : order <= 0) throw outOfOrder(row);
  }

  /** Enforces the limit, whatever the server sends. */
  private countRows(from: number): void {
    const { limit } = this.scan;
    if (limit === undefined) return;
    for (let i = from; i < this.fetched.length; i++) {
      if (this.fetched[i]!.partial) continue;
      if (++this.rows >= limit) {
        this.fetched.length = i + 1;
        this.finished = true;
        return;
      }
    }
  }

  private finish(): void {
    this.finished = true;
    void this.end();
  }

  private leaveRegion(region: Region): void {
    const { stopRow, includeStopRow, reversed } = this.scan;
    // The server has closed the scanner.
    void this.slot.drop();
    this.attempts = 0;
    const edge = reversed ? region.startKey : region.endKey;
    const beyond = stopRow.length === 0 ? 0 : compareBytes(edge, stopRow);
    const reached = reversed ? beyond <= 0 : beyond > 0 || (beyond === 0 && !includeStopRow);
    if (edge.length === 0 || (stopRow.length > 0 && reached)) {
      this.finish();
      return;
    }
    this.start = edge;
    this.readPoint = undefined;
    this.includeStart = !reversed;
  }

  /** After a failure: drops the scanner if it cannot be used again, and resumes after the last complete row. */
  private async recover(error: RowanError): Promise<void> {
    const { scanner } = this.slot;
    if (scanner === undefined) return;
    const isUntouched = error instanceof RemoteError && error.retryClass === 'busy';
    if (isUntouched && scanner.isOpen) return;
    const closing = this.slot.drop();
    if (suggestsStaleLocation(error)) this.context.regionFailed(scanner.region, error);
    // A dead server may never answer the close; a live one must have closed the scanner before another is opened.
    else await closing;
    this.resumeAfterLastRow();
  }

  private resumeAfterLastRow(): void {
    const { assembler } = this;
    assembler.restart();
    if (assembler.openRow !== undefined) {
      this.start = assembler.openRow;
      this.includeStart = true;
    } else if (assembler.lastCompleteRow !== undefined && this.isAtOrAfterStart(assembler.lastCompleteRow)) {
      this.start = assembler.lastCompleteRow;
      this.includeStart = false;
    }
  }

  /** Whether `row` is at or after the start of the current region's scanner. */
  private isAtOrAfterStart(row: Uint8Array): boolean {
    if (this.start === EMPTY_BYTES || this.start.length === 0) return true;
    const order = this.compare(row, this.start);
    return this.scan.reversed ? order <= 0 : order >= 0;
  }
}
