import { offAbort, onAbort } from './abort.js';
import type { RegionScanner } from './region-scanner.js';

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
