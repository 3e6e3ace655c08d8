/** The rows of a query, one at a time, to who takes them. */

import { RowanError, throwIfAborted } from '../errors.js';
import type { RowLoader } from './loader.js';
import type { RowCursor } from './row-cursor.js';

/** A stream that was opened: its rows, or items that are all there. */
export type OpenStream<T> =
  | { readonly items: T[]; readonly reading?: undefined }
  | {
      readonly reading: RowCursor;
      readonly loaders: readonly RowLoader[];
      readonly signal: AbortSignal | undefined;
      readonly end: (error: unknown) => void;
    };

/** Reads on only when the consumer has taken what was read: that is the back-pressure. */
export class RowStream<T> implements AsyncIterableIterator<T> {
  private stream: OpenStream<T> | undefined;
  private done = false;
  private busy = false;

  constructor(private readonly open: () => Promise<OpenStream<T>>) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    if (this.busy) {
      throw new RowanError(
        'ERR_BUSY',
        'next() was called before the last one had answered. Await each, or use a query for each reader.',
      );
    }
    if (this.done) return { done: true, value: undefined };
    this.busy = true;
    try {
      const value = await this.take();
      if (value !== null) return { done: false, value };
      await this.finish(undefined);
      return { done: true, value: undefined };
    } catch (error) {
      await this.finish(error);
      throw error;
    } finally {
      this.busy = false;
    }
  }

  /** The next item, or null at the end. */
  private async take(): Promise<T | null> {
    this.stream ??= await this.open();
    const { stream } = this;
    if (stream.reading === undefined) return stream.items.shift() ?? null;
    const { reading, loaders, signal } = stream;
    throwIfAborted(signal);
    for (;;) {
      const more = reading.advance();
      if (!(typeof more === 'boolean' ? more : await more)) return null;
      const loaded = loaders[reading.entity]!.load(reading.row!);
      const item = loaded instanceof Promise ? await loaded : loaded;
      if (item !== null) return item as T;
    }
  }

  private async finish(error: unknown): Promise<void> {
    this.done = true;
    const { stream } = this;
    this.stream = undefined;
    if (stream?.reading === undefined) return;
    stream.end(error);
    await stream.reading.close();
  }

  async return(): Promise<IteratorResult<T>> {
    await this.finish(undefined);
    return { done: true, value: undefined };
  }
}
