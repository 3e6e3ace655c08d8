/** The feed of some entities' changes: commits one after the other, as they are asked for. */

import { ClosedError, InvalidArgumentError, throwIfAborted } from '../../errors.js';
import type { EntityOf, KeyedClass, KeyOf } from '../../schema/entity-types.js';
import { describe } from '../../table/checks.js';
import type { CommitSource, StoredCommit } from './embedded.js';

/** Options of `watch`. */
export interface WatchOptions {
  /** The `position` of a commit or of a feed: it goes on behind it. `'start'`: the oldest that is kept. Default: from now on. */
  readonly from?: string | undefined;
  /** Ends the feed with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * HBase only: milliseconds for which a feed waits for a change that is under way, before it finds out by the row what became of it
   * and keeps its writer from going on: he begins anew. Default 10,000.
   */
  readonly settledAfter?: number | undefined;
}

interface ChangedRow<C extends KeyedClass> {
  /** The class. */
  readonly entity: C;
  readonly key: KeyOf<C>;
}

/** What became of one row: the row before and after, undefined where there is none. */
export type RowChange<C extends KeyedClass> = C extends KeyedClass
  ? ChangedRow<C> &
      (
        | { readonly operation: 'insert'; readonly before: undefined; readonly after: EntityOf<C> }
        | { readonly operation: 'update'; readonly before: EntityOf<C>; readonly after: EntityOf<C> }
        | { readonly operation: 'delete'; readonly before: EntityOf<C>; readonly after: undefined }
      )
  : never;

/** All that one step of writes has changed: a write, or an atomic batch or transaction with all that it took along. */
export interface ChangeCommit<C extends KeyedClass> {
  /** Opaque; `watch(…, { from: position })` goes on behind this commit. */
  readonly position: string;
  readonly time: Date;
  /** At most one for each row. */
  readonly changes: readonly RowChange<C>[];
}

/** What a feed is made of. */
export interface FeedParts<C extends KeyedClass> {
  readonly source: CommitSource;
  /** The changes of a commit that are wanted. */
  readonly decode: (commit: StoredCommit) => Promise<readonly RowChange<C>[]>;
  /** The feeds that are to be ended with the database. */
  readonly open: Set<{ cutOff(): void }>;
}

/**
 * The committed changes of entities, in the order of the commits. To be iterated once; `break`, `close`, an error and the end
 * of the database end it.
 */
export class ChangeFeed<C extends KeyedClass> implements AsyncIterable<ChangeCommit<C>>, AsyncDisposable {
  private readonly stopped = new AbortController();
  private at: string | undefined;
  /** Not held against the store yet. */
  private unchecked: boolean;
  /** Read, and not given out yet; the first at `next`. */
  private page: readonly StoredCommit[] = [];
  private next = 0;
  /** Behind the page. */
  private pageEnd: string | undefined;
  private readonly starting: Promise<string> | undefined;
  private iterated = false;
  private error: unknown;
  private reading: Promise<unknown> = Promise.resolve();

  /** Made by `Database.watch`. @throws InvalidArgumentError when `from` is no position, or `signal` no signal. */
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

  /** Resolves when it is known where it begins; on the embedded engine it is at once. @throws what the engine throws. */
  async ready(): Promise<void> {
    await this.starting;
  }

  /**
   * Where it stands: behind the commit that was given out last, or further where nothing has happened since.
   * @throws InvalidArgumentError on HBase before `ready`.
   */
  get position(): string {
    if (this.at !== undefined) return this.at;
    throw new InvalidArgumentError(
      'It is not known yet where this feed begins: await feed.ready() before you ask for its position.',
    );
  }

  /** Ends the feed: who waits for the next commit gets the end. */
  async close(): Promise<void> {
    this.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The database is closed. */
  cutOff(): void {
    this.end(() => {
      throw new ClosedError(
        'The database was closed while its changes were watched. Go on from the position.',
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
      if (page.commits.length > 0 || page.more) continue;
      this.at = page.position;
      await source.wait(signal);
    }
  }

  /** @throws what ended it, if that was an error, once. */
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
