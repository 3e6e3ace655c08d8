import type { Socket } from 'node:net';
import type { SecurityLayer } from '../security/authenticator.js';

/**
 * A socket whose bytes pass a {@link SecurityLayer}. Layers count messages, and may take their time: what goes out leaves
 * in the order it was given, what comes in is handed on in the order it came, and nothing behind a failure is.
 */
export class SecuredStream {
  private outgoing: Promise<void> = Promise.resolve();
  private incoming: Promise<void> = Promise.resolve();
  private waiting = 0;
  private failed = false;

  constructor(
    private readonly socket: Socket,
    private readonly layer: SecurityLayer,
    private readonly take: (data: Buffer) => void,
    /** Told once, of the first failure. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Bytes that have not been wrapped yet. */
  get unsentBytes(): number {
    return this.waiting;
  }

  /** `data` is no longer needed when `onWritten` is called. */
  write(data: Buffer, onWritten: () => void): void {
    this.waiting += data.length;
    this.outgoing = this.next(this.outgoing, async () => {
      const wrapped = await this.layer.wrap(data);
      this.waiting -= data.length;
      onWritten();
      this.socket.write(wrapped);
    });
  }

  receive(chunk: Buffer): void {
    this.incoming = this.next(this.incoming, async () => {
      for (const part of await this.layer.unwrap(chunk)) if (!this.failed) this.take(part);
    });
  }

  private next(before: Promise<void>, work: () => Promise<void>): Promise<void> {
    return before.then(async () => {
      if (this.failed) return;
      try {
        await work();
      } catch (error) {
        if (this.failed) return;
        this.failed = true;
        this.onError(error);
      }
    });
  }
}
