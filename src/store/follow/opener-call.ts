import type { Duplex } from 'node:stream';
import { RowanError, TimeoutError } from '../../errors.js';
import { type FileSystem, lockedError } from '../fs/index.js';
import { type Answer, answerOf, readLines, say } from './lines.js';

interface Asked {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** A reader's connection to the process that has its store open. */
export class OpenerCall {
  private readonly asked = new Map<number, Asked>();
  private questions = 0;

  private constructor(
    private readonly stream: Duplex,
    private readonly directory: string,
    /** Milliseconds. */
    private readonly patience: number,
  ) {
    stream.on('error', () => stream.destroy());
    stream.once('end', () => stream.destroy());
    stream.once('close', () => this.rejectAll());
    readLines(stream, (message) => {
      const answer = answerOf(message);
      this.asked.get(answer.look)?.resolve(answer);
    });
  }

  /**
   * Undefined where nobody has the store open.
   * @throws RowanError `ERR_BUSY` when a process has it open and receives no readers.
   */
  static async make(files: FileSystem, directory: string, patience: number): Promise<OpenerCall | undefined> {
    const answer = (await files.call?.(directory)) ?? 'nobody';
    if (answer === 'nobody') return undefined;
    if (answer !== 'unreachable') return new OpenerCall(answer, directory, patience);
    throw new RowanError(
      'ERR_BUSY',
      `The process that has the store in "${directory}" open receives no readers: it is opening or closing the store just ` +
        'now, or is of an earlier release. Try again in a moment; else close the store there.',
      { retryable: true, cause: lockedError(directory), details: { file: directory } },
    );
  }

  /** The connection is over: the process has closed the store, or has died. */
  get ended(): boolean {
    return this.stream.destroyed;
  }

  /**
   * How far the store has come. Its files stay until they are freed.
   * @throws RowanError `ERR_BUSY` when the connection ends, `ERR_TIMEOUT` when there is no answer in time.
   */
  look(free: readonly number[]): Promise<Answer> {
    const look = ++this.questions;
    return new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => this.asked.get(look)?.reject(this.silent()), this.patience);
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          this.asked.delete(look);
          how(value);
        };
      this.asked.set(look, { resolve: settle(resolve), reject: settle(reject) });
      if (this.ended) this.rejectAll();
      else say(this.stream, { look, free });
    });
  }

  /** Lets go of files that are not read any more. */
  free(files: readonly number[]): void {
    say(this.stream, { free: files });
  }

  close(): void {
    this.stream.destroy();
    this.rejectAll();
  }

  private rejectAll(): void {
    for (const { reject } of [...this.asked.values()]) reject(this.gone());
  }

  private gone(): RowanError {
    return new RowanError(
      'ERR_BUSY',
      `The process that had the store in "${this.directory}" open has closed it, or has died. Try again.`,
      { retryable: true, details: { file: this.directory } },
    );
  }

  private silent(): RowanError {
    return new TimeoutError(
      `The process that has the store in "${this.directory}" open does not answer in ${this.patience} ms: it is stopped, or ` +
        'has much to do. What was read before stays readable; try again.',
      { details: { file: this.directory } },
    );
  }
}
