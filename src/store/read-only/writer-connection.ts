import type { Duplex } from 'node:stream';
import { RowanError, TimeoutError } from '../../errors.js';
import { type FileSystem, lockedError } from '../fs/index.js';
import { type Answer, answerOf, readMessages, sendMessage } from './reader-protocol.js';

interface PendingRequest {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** A reader's connection to the process that has the store open for writing. Requests may overlap; each gets its own answer. */
export class WriterConnection {
  private readonly pending = new Map<number, PendingRequest>();
  private requests = 0;

  private constructor(
    private readonly stream: Duplex,
    private readonly directory: string,
    /** Milliseconds. */
    private readonly timeout: number,
  ) {
    stream.on('error', () => stream.destroy());
    stream.once('end', () => stream.destroy());
    stream.once('close', () => this.rejectAll());
    readMessages(stream, (message) => {
      const answer = answerOf(message);
      this.pending.get(answer.look)?.resolve(answer);
    });
  }

  /**
   * Connects to the writer process; undefined where no process has the store open.
   * @throws RowanError `ERR_BUSY` when a process has it open and accepts no readers.
   */
  static async connect(
    files: FileSystem,
    directory: string,
    timeout: number,
  ): Promise<WriterConnection | undefined> {
    const answer = (await files.call?.(directory)) ?? 'nobody';
    if (answer === 'nobody') return undefined;
    if (answer !== 'unreachable') return new WriterConnection(answer, directory, timeout);
    throw new RowanError(
      'ERR_BUSY',
      `The process that has the store in "${directory}" open accepts no readers: it is opening or closing the store just ` +
        'now, or is of an earlier release. Try again in a moment; else close the store there.',
      { retryable: true, cause: lockedError(directory), details: { file: directory } },
    );
  }

  /** The connection has ended: the process has closed the store, or has died. */
  get ended(): boolean {
    return this.stream.destroyed;
  }

  /**
   * Releases files, and asks for the present position of the store. The writer process keeps the files of that position until
   * they are released.
   * @throws RowanError `ERR_BUSY` when the connection ends, `ERR_TIMEOUT` when no answer comes in time.
   */
  position(free: readonly number[]): Promise<Answer> {
    const look = ++this.requests;
    return new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => this.pending.get(look)?.reject(this.noAnswer()), this.timeout);
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          this.pending.delete(look);
          how(value);
        };
      this.pending.set(look, { resolve: settle(resolve), reject: settle(reject) });
      if (this.ended) this.rejectAll();
      else sendMessage(this.stream, { look, free });
    });
  }

  /** Releases files that this reader does not read any more. */
  release(files: readonly number[]): void {
    sendMessage(this.stream, { free: files });
  }

  close(): void {
    this.stream.destroy();
    this.rejectAll();
  }

  private rejectAll(): void {
    for (const { reject } of [...this.pending.values()]) reject(this.connectionEnded());
  }

  private connectionEnded(): RowanError {
    return new RowanError(
      'ERR_BUSY',
      `The process that had the store in "${this.directory}" open has closed it, or has died. Try again.`,
      { retryable: true, details: { file: this.directory } },
    );
  }

  private noAnswer(): RowanError {
    return new TimeoutError(
      `The process that has the store in "${this.directory}" open did not answer within ${this.timeout} ms: it is stopped, or ` +
        'overloaded. What was read before stays readable; try again.',
      { details: { file: this.directory } },
    );
  }
}
