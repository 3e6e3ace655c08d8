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
 * The place of the region scanner that a scan has open. It belongs to the client, not to the scan, so that a scan that is
 * aborted, failed or forgotten leaves no scanner behind on a server.
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

  /** Whether the scan is over: nothing more is to be opened for it. */
  get isReleased(): boolean {
    return this.released;
  }

  put(scanner: RegionScanner): void {
    this.current = scanner;
    this.all.add(this);
  }

  /** Empties the place, and has the server let go of what stood there. Never rejects. */
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

  /** A place for the scanners of `scan`, which is released when nobody knows `scan` any more. */
  slotFor(scan: object, signal: AbortSignal | undefined): ScannerSlot {
    const slot = new ScannerSlot(this.slots, signal);
    this.forgotten.register(scan, slot, slot);
    return slot;
  }

  /** Said of a scan that ended in good order. */
  settle(slot: ScannerSlot): Promise<void> {
    this.forgotten.unregister(slot);
    return slot.release();
  }

  /** Closes every scanner. Resolves when the servers have answered. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.slots].map((slot) => slot.release()));
  }
}

const LEAST_RENEWAL = 100;
/** How long whoever closes a scanner waits for it. The request itself may take longer: a server drops what is too late. */
const CLOSE_TIMEOUT = 2000;
/** What a server says to the close of a scanner that it is reading from. */
const BEING_READ = 'LeaseException';
/** How often a server is asked to let go of a scanner. */
const CLOSE_ATTEMPTS = 6;

/**
 * A scanner on one region, open on its server until it says otherwise. Between requests it renews the lease by itself,
 * never while a request is under way: renewals count in the sequence that the server checks.
 *
 * Closed, it leaves nothing behind: an answer that is under way, or that comes after its request was given up, is waited
 * for without keeping anybody, and the scanner it speaks of is closed then. A server refuses to close a scanner that it is
 * reading from.
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
    private readonly pool: ConnectionPool,
    private readonly settings: Pick<HBaseSettings, 'scannerIdleTimeout' | 'scannerTimeout' | 'pause'>,
    private readonly scan: Scan,
    readonly region: Region,
    private readonly timeout: number,
    private readonly attributes?: RequestAttributes | undefined,
  ) {}

  /** Whether the server holds a scanner for us. */
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
   * Has the server let go of the scanner; resolves when it has, which may take as long as the request that is under way,
   * or when it has not for a while. Whatever comes of it is of no concern: the lease runs out at last.
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
      // A scanner that has come to its end is closed by the server itself.
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

  /** Never rejects. A close that is refused for now, or lost, is asked for again: else the scanner is open for a lease. */
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
        // Gone already, or it will be when its lease runs out.
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

  /** Nobody waits for this answer any more; the scan was opened anew, or given up. */
  private answeredLate(answer: ScanAnswer, step: ScanStep): void {
    if (!goesOn(answer)) return;
    this.closed = true;
    this.scannerId = answer.scannerId ?? step.scannerId;
    void this.letGo();
  }

  private scheduleRenewal(): void {
    clearTimeout(this.renewTimer);
    if (!this.isOpen || this.ttl <= 0) return;
    this.renewTimer = setTimeout(() => this.renew(), Math.max(LEAST_RENEWAL, this.ttl / 2));
    // A scanner that nobody reads on need not keep the process alive.
    this.renewTimer.unref();
  }

  private renew(): void {
    const { region, scannerId, nextCallSeq } = this;
    if (scannerId === undefined) return;
    if (performance.now() - this.askedAt > this.settings.scannerIdleTimeout) {
      // Whoever reads on after all has it opened again where it stood.
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
      // A renewal that fails shows in the next request, which knows what to do.
      .catch(() => undefined)
      .then(() => {
        this.renewal = undefined;
        this.scheduleRenewal();
      });
  }
}

/** Whether the scanner is still open after this error, and may be closed soon. */
function mayStillClose(error: RowanError): boolean {
  if (error instanceof RemoteError) return error.retryClass === 'busy' || error.simpleClass === BEING_READ;
  return error instanceof ConnectionError;
}

/** Nothing that a program ought to be kept alive for. */
function unreferencedSleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}

function goesOn(answer: ScanAnswer): boolean {
  return answer.moreResults && answer.moreResultsInRegion;
}
