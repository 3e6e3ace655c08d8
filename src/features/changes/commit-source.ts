/** What a change feed reads from: commits after a position. `commit-reader.ts` and `log-reader.ts` implement it. */

import type { RowanError } from '../../errors.js';
import type { KeyLimits, PositionOrder } from './positions.js';
import type { CommitEntry } from './table.js';

/** A stored commit, with the entries of the watched tables. */
export interface StoredCommit {
  /** The position after it. */
  readonly position: string;
  /** Commit time, ms. */
  readonly time: number;
  readonly entries: readonly CommitEntry[];
}

export interface CommitPage {
  /** Oldest first. */
  readonly commits: readonly StoredCommit[];
  /** The position after the last commit, or a later one where the log has no more. */
  readonly position: string;
  /** Whether more commits can be read at once. */
  readonly more: boolean;
  /** The feed ends after this page, with this error. */
  readonly ended?: RowanError | undefined;
}

/** The source of a feed's commits. */
export interface CommitSource {
  /** The position after everything that is readable now. */
  now(): string | Promise<string>;
  /** The position before everything that is kept. */
  start(): string;
  /** Parses a position. @throws InvalidArgumentError on a value that no feed has returned. */
  parse(from: unknown): string;
  /**
   * Checks that the position belongs to this store. @throws RowanError `ERR_POSITION_GONE` when it is of another
   * store, or of commits that a restore has undone.
   */
  check(position: string): Promise<void>;
  /** Reads the commits after a position. @throws RowanError `ERR_POSITION_GONE` when commits after it have expired. */
  read(position: string, signal: AbortSignal): Promise<CommitPage>;
  /** Resolves when commits after the last page may exist, or the signal is aborted. Never rejects. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Reads the limits of a feed at a position. */
export type LimitsFrom<P> = (from: P, order: PositionOrder<P>) => Promise<KeyLimits<P>>;

/** Wakes the change feeds of a database after each commit. */
export class CommitNotifier {
  /** The number of notifications so far. */
  notified = 0;
  private waiting = new Set<() => void>();

  notify(): void {
    this.notified++;
    if (this.waiting.size === 0) return;
    const woken = this.waiting;
    this.waiting = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves after the next notification beyond `notified`, or when the signal is aborted. */
  after(notified: number, signal: AbortSignal): Promise<void> {
    if (this.notified > notified || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      signal.addEventListener('abort', wake);
      this.waiting.add(wake);
    });
  }
}
