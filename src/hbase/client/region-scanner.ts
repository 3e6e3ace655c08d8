import type { Scan } from '../../table/scan.js';
import type { Region } from '../region/region.js';
import type { ConnectionPool } from '../rpc/connection-pool.js';
import type { ScanPosition } from '../wire/encode-query.js';
import { type ScanAnswer, ScanCall, type ScanStep } from './scan-call.js';

const LEAST_RENEWAL = 100;
/** How long an answer to a close is waited for. */
const CLOSE_TIMEOUT = 2000;

/**
 * A scanner on one region, open on its server until it says otherwise. Between requests it renews the lease by itself,
 * never while a request is under way: renewals count in the sequence that the server checks.
 */
export class RegionScanner {
  private scannerId: bigint | undefined;
  private nextCallSeq = 0;
  private ttl = 0;
  private renewal: Promise<unknown> | undefined;
  private renewTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: ConnectionPool,
    private readonly scan: Scan,
    readonly region: Region,
    private readonly timeout: number,
  ) {}

  /** Whether the server holds a scanner for us. */
  get isOpen(): boolean {
    return this.scannerId !== undefined;
  }

  open(position: ScanPosition, numberOfRows: number, limitOfRows: number): Promise<ScanAnswer> {
    return this.ask({ kind: 'open', region: this.region, position, numberOfRows, limitOfRows });
  }

  async next(numberOfRows: number, limitOfRows: number): Promise<ScanAnswer> {
    clearTimeout(this.renewTimer);
    if (this.renewal !== undefined) await this.renewal;
    const { region, scannerId, nextCallSeq } = this;
    if (scannerId === undefined) throw new Error('next of a region scanner that is not open');
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

  /** Asks the server to let go of the scanner. Whatever comes of it is of no concern: the lease runs out at last. */
  async close(): Promise<void> {
    clearTimeout(this.renewTimer);
    const { region, scannerId } = this;
    if (scannerId === undefined) return;
    this.scannerId = undefined;
    try {
      await this.send({ kind: 'close', region, scannerId, numberOfRows: 0, limitOfRows: 0 }, CLOSE_TIMEOUT);
    } catch {
      // Gone already, or it will be when its lease runs out.
    }
  }

  private async ask(step: ScanStep): Promise<ScanAnswer> {
    const answer = await this.send(step);
    // A scanner that has come to its end is closed by the server itself.
    this.scannerId =
      answer.moreResults && answer.moreResultsInRegion ? (answer.scannerId ?? this.scannerId) : undefined;
    if (answer.ttl > 0) this.ttl = answer.ttl;
    this.scheduleRenewal();
    return answer;
  }

  private async send(step: ScanStep, timeout = this.timeout): Promise<ScanAnswer> {
    const call = new ScanCall(this.scan, step, timeout);
    this.pool.get(this.region.address, 'ClientService').send(call);
    return call.answer;
  }

  private scheduleRenewal(): void {
    clearTimeout(this.renewTimer);
    if (this.scannerId === undefined || this.ttl <= 0) return;
    this.renewTimer = setTimeout(() => this.renew(), Math.max(LEAST_RENEWAL, this.ttl / 2));
    // A scanner that nobody reads on need not keep the process alive.
    this.renewTimer.unref();
  }

  private renew(): void {
    const { region, scannerId, nextCallSeq } = this;
    if (scannerId === undefined) return;
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
