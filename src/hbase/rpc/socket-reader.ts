import type { OnReadOpts } from 'node:net';
import type { FrameAssembler } from './frame-assembler.js';

/** What is read while no large frame is under way. All sockets of a thread share it: it is emptied before the next read. */
const SHARED = Buffer.allocUnsafeSlow(65536);

export interface SocketReaderOwner {
  /** Bytes have come, which are looked at then. */
  onArrival(): void;
  /** They are no frames, or what takes frames has failed. */
  onUnreadable(error: unknown): void;
}

/**
 * Reads from a plain socket to where the bytes stay: what a large frame lacks straight into its memory, in reads as large as that.
 * A stream's own chunks would cost an allocation of 64 KiB and a copy each.
 */
export class SocketReader {
  /** Where the read that is under way puts its bytes; undefined: in the shared buffer. */
  private space: Buffer | undefined;

  constructor(
    private readonly frames: FrameAssembler,
    private readonly owner: SocketReaderOwner,
  ) {}

  /** For `net.connect`. */
  readonly onread = {
    // A function is asked again for each read, which the types do not know.
    buffer: (() => {
      this.space = this.frames.space();
      return this.space ?? SHARED;
    }) as unknown as Uint8Array,
    callback: (count: number): boolean => {
      this.take(count);
      return true;
    },
  } satisfies OnReadOpts;

  private take(count: number): void {
    this.owner.onArrival();
    try {
      if (this.space === undefined) this.frames.pushLent(SHARED.subarray(0, count));
      else this.frames.fill(count);
    } catch (error) {
      this.owner.onUnreadable(error);
    }
  }
}
