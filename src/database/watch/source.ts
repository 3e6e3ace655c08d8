/** What a feed reads from. */

import type { CommitEntry } from '../../repository/index.js';
import type { Position } from './position.js';

/** A commit as it is stored: entries of the tables that are watched. */
export interface StoredCommit {
  readonly position: Position;
  readonly entries: readonly CommitEntry[];
}

export interface CommitPage {
  /** Oldest first. */
  readonly commits: readonly StoredCommit[];
  /** Behind the last of them; further where nothing more is there. */
  readonly position: Position;
  /** Whether there may be more at once. */
  readonly more: boolean;
}

export interface CommitSource {
  /** Behind all that can be read now. */
  now(): Position;
  /** Before all that is kept. */
  start(): Position;
  /** @throws RowanError `ERR_POSITION_GONE` when it is not of this store, or of a moment that was undone. */
  check(position: Position): Promise<void>;
  /** @throws RowanError `ERR_POSITION_GONE` when what stands behind the position is kept no more. */
  read(position: Position, signal: AbortSignal): Promise<CommitPage>;
  /** Resolves when there may be more behind the page that was read last, or the signal is aborted; never rejects. */
  wait(signal: AbortSignal): Promise<void>;
}
