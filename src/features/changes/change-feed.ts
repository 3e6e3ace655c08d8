/** A change feed: the commits to some entities, one after the other, read on demand. */

import { ClosedError, InvalidArgumentError, type RowanError, throwIfAborted } from '../../errors.js';
import type { EntityOf, KeyedClass, KeyOf } from '../../schema/entity-types.js';
import { describe } from '../../table/checks.js';
import type { CommitSource, StoredCommit } from './commit-source.js';

/** Options of `watch`. */
export interface WatchOptions {
  /**
   * The start: the `position` of a commit or of a feed, after which the feed continues, or `'start'` for the oldest
   * change kept. Default: now.
   */
  readonly from?: string | undefined;
  /** Ends the feed with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * HBase only: how long the feed waits for an undecided change, ms. After that it decides the change from the row
   * and fences the writer, which then retries. Default 10,000.
   */
  readonly settledAfter?: number | undefined;
}

interface ChangedRow<C extends KeyedClass> {
  /** The entity class. */
  readonly entity: C;
  readonly key: KeyOf<C>;
}

/** The change of one row: the entity before and after. `undefined` where there was or is none. */
export type RowChange<C extends KeyedClass> = C extends KeyedClass
  ? ChangedRow<C> &
      (
        | { readonly operation: 'insert'; readonly before: undefined; readonly after: EntityOf<C> }
        | { readonly operation: 'update'; readonly before: EntityOf<C>; readonly after: EntityOf<C> }
        | { readonly operation: 'delete'; readonly before: EntityOf<C>; readonly after: undefined }
      )
  : never;

/** All changes of one atomic step: a single write, or a batch or transaction with its effects. */
export interface ChangeCommit<C extends KeyedClass> {
  /** Opaque. `watch(…, { from: position })` continues after this commit. */
  readonly position: string;
  readonly time: Date;
  /** At most one change per row. */
  readonly changes: readonly RowChange<C>[];
}

/** The dependencies of a feed. */
interface FeedParts<C extends KeyedClass> {
  readonly source: CommitSource;
  /** Decodes the changes of a commit that the feed was opened for. */
  readonly decode: (commit: StoredCommit) => Promise<readonly RowChange<C>[]>;
  /** The open feeds of the database, which closes them when it closes. */
  readonly open: Set<{ cutOff(): void }>;
}

/**
 * The committed changes of entities, in commit order. It can be iterated once. `break`, `close`, an error, and the
 * end of the database end it.
 */
export class ChangeFeed<C extends KeyedClass> implements AsyncIterable<ChangeCommit<C>>, AsyncDisposable {
  private readonly stopped = new AbortController();
  private at: string | undefined;
  /** True until the position has been checked against the store. */
  private unchecked: boolean;
  /** Commits that have been read and not yet returned. The next is at `next`. */
  private page: readonly StoredCommit[] = [];
  private next = 0;
  /** The position after the page. */
  private pageEnd: string | undefined;
  /** The error with which the feed ends after the page. */
  private ended: RowanError | undefined;
  private readonly starting: Promise<string> | undefined;
  private iterated = false;
  private error: unknown;
  private reading: Promise<unknown> = Promise.resolve();

  /** Created by `Database.watch`. @throws InvalidArgumentError when `from` is no position, or `signal` no signal. */
  constructor(
    private readonly parts: FeedParts<C>,
    { from, signal }: WatchOptions,
  ) {
    const { source } = parts;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new InvalidArgumentError(`watch: signal is ${describe(signal)}. Give an AbortSignal.`);
    }
    this.unchecked = from !== undefined && from !== 'start';
    const at = this.unchecked ? source.parse(from) : from === 'start' ? source.start() : source.now();
    if (typeof at === 'string') {
      this.begin(at);
    } else {
      this.starting = at;
      at.then(
        (text) => this.begin(text),
        () => undefined,
      );
    }
    parts.open.add(this);
    if (signal === undefined) return;
    const abort = (): void => this.end(() => throwIfAborted(signal));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true, signal: this.stopped.signal });
  }

  private begin(at: string): void {
    this.at = at;
    this.pageEnd = at;
  }

  /** Resolves when the start position is known; on the embedded engine, at once. @throws what the engine throws. */
  async ready(): Promise<void> {
    await this.starting;
  }

  /**
   * The position after the commit returned last, or a later one if nothing has happened since. @throws
   * InvalidArgumentError on HBase before `ready`.
   */
  get position(): string {
    if (this.at !== undefined) return this.at;
    throw new InvalidArgumentError(
      'The position of this feed is not known yet. Await feed.ready() before you read it.',
    );
  }

  /** Ends the feed. A pending `next` resolves as done. */
  async close(): Promise<void> {
    this.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Ends the feed because the database closes. */
  cutOff(): void {
    this.end(() => {
      throw new ClosedError(
        'The database was closed while a feed of changes was open. Watch again from the position of the feed.',
      );
    });
  }

  /** @throws InvalidArgumentError when it is iterated a second time. */
  [Symbol.asyncIterator](): AsyncIterator<ChangeCommit<C>, undefined> {
    if (this.iterated) {
      throw new InvalidArgumentError(
        'A feed of changes is iterated once. Watch again: db.watch(…, { from: feed.position }).',
      );
    }
    this.iterated = true;
    return {
      next: () => {
        const step = this.reading.then(() => this.step());
        this.reading = step.catch(() => undefined);
        return step;
      },
      return: async () => {
        this.end();
        return { done: true, value: undefined };
      },
    };
  }

  private async step(): Promise<IteratorResult<ChangeCommit<C>, undefined>> {
    try {
      const value = await this.nextCommit();
      return value === undefined ? { done: true, value } : { done: false, value };
    } catch (error) {
      this.end();
      throw error;
    }
  }

  private async nextCommit(): Promise<ChangeCommit<C> | undefined> {
    const { source, decode } = this.parts;
    const { signal } = this.stopped;
    await this.starting?.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    for (;;) {
      while (this.next < this.page.length) {
        if (this.isEnded()) return undefined;
        const commit = this.page[this.next++]!;
        const changes = await decode(commit);
        this.at = commit.position;
        if (changes.length === 0) continue;
        return { position: commit.position, time: new Date(commit.time), changes };
      }
      this.at = this.pageEnd;
      if (this.isEnded()) return undefined;
      if (this.ended !== undefined) throw this.ended;
      if (this.unchecked) {
        await source.check(this.position);
        this.unchecked = false;
      }
      const page = await source.read(this.position, signal).catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
      if (page === undefined) continue;
      this.page = page.commits;
      this.next = 0;
      this.pageEnd = page.position;
      this.ended = page.ended;
      if (page.ended !== undefined) continue;
      if (page.commits.length > 0 || page.more) continue;
      this.at = page.position;
      await source.wait(signal);
    }
  }

  /** Whether the feed has ended. @throws the error that ended it, once. */
  private isEnded(): boolean {
    if (!this.stopped.signal.aborted) return false;
    const error = this.error;
    this.error = undefined;
    if (error !== undefined) throw error;
    return true;
  }

  private end(why?: () => void): void {
    if (this.stopped.signal.aborted) return;
    try {
      why?.();
    } catch (error) {
      this.error = error;
    }
    this.page = [];
    this.next = 0;
    this.stopped.abort();
    this.parts.open.delete(this);
  }
}
