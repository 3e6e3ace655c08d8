/** What a feed reads from. */

import type { CommitEntry } from '../../repository/index.js';

/** A commit as it is stored: entries of the tables that are watched. */
export interface StoredCommit {
  /** Behind it. */
  readonly position: string;
  /** When it was written, ms. */
  readonly time: number;
  readonly entries: readonly CommitEntry[];
}

export interface CommitPage {
  /** Oldest first. */
  readonly commits: readonly StoredCommit[];
  /** Behind the last of them; further where nothing more is there. */
  readonly position: string;
  /** Whether there may be more at once. */
  readonly more: boolean;
}

export interface CommitSource {
  /** Behind all that can be read now; a promise where that must be asked. */
  now(): string | Promise<string>;
  /** Before all that is kept. */
  start(): string;
  /** The position that was given. @throws InvalidArgumentError on what no feed gave out. */
  parse(from: unknown): string;
  /** @throws RowanError `ERR_POSITION_GONE` when it is not of this store, or of a moment that was undone. */
  check(position: string): Promise<void>;
  /** @throws RowanError `ERR_POSITION_GONE` when what stands behind the position is kept no more. */
  read(position: string, signal: AbortSignal): Promise<CommitPage>;
  /** Resolves when there may be more behind the page that was read last, or the signal is aborted; never rejects. */
  wait(signal: AbortSignal): Promise<void>;
}
