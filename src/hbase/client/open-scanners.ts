import { ClosedError, type RowanError } from '../../errors.js';
import type { Scan } from '../../table/get-and-scan.js';
import type { HBaseSettings } from '../options.js';
import type { Region } from '../region/region.js';
import { asRowanError } from '../rpc/call.js';
import type { ConnectionPool } from '../rpc/connection-pool.js';
import { ConnectionError, RemoteError } from '../rpc/errors.js';
import type { RequestAttributes } from '../rpc/request-attributes.js';
import type { ScanPosition } from '../wire/encode-query.js';
import { offAbort, onAbort, pauseBefore, sleep } from './retry.js';
import { type ScanAnswer, ScanCall, type ScanStep } from './scan-call.js';

/**
 * Holds the region scanner that a scan has open. It belongs to the client, not to the scan, so that a scan that is aborted, fails
 * or is garbage-collected leaves no scanner open on a server.
 */
export class ScannerSlot {
  private current: RegionScanner | undefined;
  private released = false;

  constructor(
    private readonly all: Set<ScannerSlot>,
    private readonly signal: AbortSignal | undefined,
  ) {
    if (signal !== undefined) onAbort(signal, this.onAbort);
  }

  get scanner(): RegionScanner | undefined {
    return this.current;
  }

  /** Whether the scan has ended: no scanner may be opened for it. */
  get isReleased(): boolean {
    return this.released;
  }

  put(scanner: RegionScanner): void {
    this.current = scanner;
    this.all.add(this);
  }

  /** Removes the scanner from the slot and closes it on the server. Never rejects. */
  drop(): Promise<void> {
    const scanner = this.current;
    this.current = undefined;
    this.all.delete(this);
    return scanner === undefined ? Promise.resolve() : scanner.close();
  }

  /** Ends the scan. */
  release(): Promise<void> {
    this.released = true;
    if (this.signal !== undefined) offAbort(this.signal, this.onAbort);
    return this.drop();
  }

  private readonly onAbort = (): void => {
    void this.release();
  };
}

/** All scanners that a client has open on servers. */
export class OpenScanners {
  private readonly slots = new Set<ScannerSlot>();
  private readonly forgotten = new FinalizationRegistry<ScannerSlot>((slot) => void slot.release());

  get size(): number {
    return this.slots.size;
  }

  /** A slot for the scanners of `scan`, released when `scan` is garbage-collected. */
  slotFor(scan: object, signal: AbortSignal | undefined): ScannerSlot {
    const slot = new ScannerSlot(this.slots, signal);
    this.forgotten.register(scan, slot, slot);
    return slot;
  }

  /** Stops tracking a scan that has ended. */
  forget(slot: ScannerSlot): Promise<void> {
    this.forgotten.unregister(slot);
    return slot.release();
  }

  /** Closes every scanner. Resolves when the servers have answered. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.slots].map((slot) => slot.release()));
  }
}

const MIN_RENEWAL = 100;
/** How long closing a scanner is awaited, ms. The request itself may take longer. */
const CLOSE_TIMEOUT = 2000;
/** The server's error for closing a scanner that another request is reading. */
const BEING_READ = 'LeaseException';
/** How often the close of a scanner is tried. */
const CLOSE_ATTEMPTS = 6;

/**
 * A scanner on one region, open on its server until it is closed or exhausted. Between requests it renews its lease, never while a
 * request is under way, because renewals count in the sequence number that the server checks.
 *
 * Closing leaves nothing open on the server. A server refuses to close a scanner while a request reads it, so the answer of a request
 * under way, even of one that was given up, is awaited in the background, and its scanner is closed then.
 */
export class RegionScanner {
  private scannerId: bigint | undefined;
  private nextCallSeq = 0;
  private ttl = 0;
  /** The request that is under way; never rejects. */
  private asking: Promise<unknown> | undefined;
  private closed = false;
  private askedAt = 0;
  private renewal: Promise<unknown> | undefined;
  private renewTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: Pick<ConnectionPool, 'get'>,
    private readonly settings: Pick<HBaseSettings, 'scannerIdleTimeout' | 'scannerTimeout' | 'pause'>,
    private readonly scan: Scan,
    readonly region: Region,
    private readonly timeout: number,
    private readonly attributes?: RequestAttributes | undefined,
  ) {}

  /** Whether the scanner is open on the server. */
  get isOpen(): boolean {
    return this.scannerId !== undefined && !this.closed;
  }

  open(position: ScanPosition, numberOfRows: number, limitOfRows: number): Promise<ScanAnswer> {
    return this.ask({ kind: 'open', region: this.region, position, numberOfRows, limitOfRows });
  }

  async next(numberOfRows: number, limitOfRows: number): Promise<ScanAnswer> {
    clearTimeout(this.renewTimer);
    if (this.renewal !== undefined) await this.renewal;
    const { region, scannerId, nextCallSeq } = this;
    if (scannerId === undefined || this.closed)
      throw new ClosedError('The scanner was closed. Open another one.');
    const answer = await this.ask({
      kind: 'next',
      region,
      scannerId,
      nextCallSeq,
      numberOfRows,
      limitOfRows,
    });
    this.nextCallSeq++;
    return answer;
  }

  /**
   * Closes the scanner on the server. Resolves when the server has closed it, which may take as long as the request under way, or
   * after a bounded wait. Errors are ignored, because the lease expires in any case.
   */
  async close(): Promise<void> {
    clearTimeout(this.renewTimer);
    this.closed = true;
    await this.renewal;
    await this.asking;
    const waited = new AbortController();
    await Promise.race([this.letGo(), sleep(CLOSE_TIMEOUT, waited.signal)]);
    waited.abort();
  }

  private ask(step: ScanStep): Promise<ScanAnswer> {
    this.askedAt = performance.now();
    const answer = this.send(step).then((answer) => {
      // The server itself closes a scanner that is exhausted.
      this.scannerId = goesOn(answer) ? (answer.scannerId ?? this.scannerId) : undefined;
      if (answer.ttl > 0) this.ttl = answer.ttl;
      this.scheduleRenewal();
      return answer;
    });
    const ended = (): void => {
      this.asking = undefined;
    };
    this.asking = answer.then(ended, ended);
    return answer;
  }

  /** Never rejects. A close that is refused for now, or lost, is retried: else the scanner stays open until its lease expires. */
  private async letGo(): Promise<void> {
    const { region, scannerId, settings } = this;
    if (scannerId === undefined) return;
    this.scannerId = undefined;
    const step: ScanStep = { kind: 'close', region, scannerId, numberOfRows: 0, limitOfRows: 0 };
    for (let attempts = 1; attempts <= CLOSE_ATTEMPTS; attempts++) {
      try {
        await this.send(step, settings.scannerTimeout);
        return;
      } catch (thrown) {
        const error = asRowanError(thrown);
        // It is closed already, or will be when its lease expires.
        if (!mayStillClose(error)) return;
        await unreferencedSleep(pauseBefore(attempts, settings.pause, error));
      }
    }
  }

  private async send(step: ScanStep, timeout = this.timeout): Promise<ScanAnswer> {
    const call = new ScanCall(this.scan, step, timeout, (answer) => this.answeredLate(answer, step));
    call.attributes = this.attributes;
    this.pool.get(this.region.address, 'ClientService').send(call);
    return call.answer;
  }

  /** Takes an answer that is no longer awaited, because the scan was reopened or given up. */
  private answeredLate(answer: ScanAnswer, step: ScanStep): void {
    if (!goesOn(answer)) return;
    this.closed = true;
    this.scannerId = answer.scannerId ?? step.scannerId;
    void this.letGo();
  }

  private scheduleRenewal(): void {
    clearTimeout(this.renewTimer);
    if (!this.isOpen || this.ttl <= 0) return;
    this.renewTimer = setTimeout(() => this.renew(), Math.max(MIN_RENEWAL, this.ttl / 2));
    // An idle scanner must not keep the process alive.
    this.renewTimer.unref();
  }

  private renew(): void {
    const { region, scannerId, nextCallSeq } = this;
    if (scannerId === undefined) return;
    if (performance.now() - this.askedAt > this.settings.scannerIdleTimeout) {
      // A later read reopens it where it stood.
      void this.close();
      return;
    }
    this.nextCallSeq++;
    this.renewal = this.send({
      kind: 'renew',
      region,
      scannerId,
      nextCallSeq,
      numberOfRows: 0,
      limitOfRows: 0,
    })
      // A failed renewal shows in the next request, which handles it.
      .catch(() => undefined)
      .then(() => {
        this.renewal = undefined;
        this.scheduleRenewal();
      });
  }
}

/** Whether the scanner is still open after this error, so that closing it should be retried. */
function mayStillClose(error: RowanError): boolean {
  if (error instanceof RemoteError) return error.retryClass === 'busy' || error.simpleClass === BEING_READ;
  return error instanceof ConnectionError;
}

/** A pause that does not keep the process alive. */
function unreferencedSleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}

function goesOn(answer: ScanAnswer): boolean {
  return answer.moreResults && answer.moreResultsInRegion;
}
