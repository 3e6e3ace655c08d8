/** What is kept of a change of keys. */

import type { RekeyDifferences } from '../job/rekey/compare.js';
import type { KeepDeletedCells } from '../table/index.js';

/** Where a change of keys stands. */
export type RekeyState =
  | 'planned'
  /** Writes go to both layouts. */
  | 'dual-write'
  /** What was written before is being copied. */
  | 'backfill'
  /** Both are held against each other. */
  | 'verify'
  /** Both hold the same; the new layout may be read. */
  | 'ready'
  /** The new layout is the one that counts; the old one is still kept up. */
  | 'cut-over'
  /** The old rows are being removed. */
  | 'cleanup'
  | 'done'
  /** The new rows are being removed. */
  | 'aborting'
  | 'aborted';

/** What the control table keeps of a change of keys. */
export interface RekeyRecord {
  readonly from: string;
  readonly to: string;
  readonly fromKey: string;
  readonly toKey: string;
  readonly state: RekeyState;
  readonly paused: boolean;
  /** Counts the times it was begun, from 1. */
  readonly run: number;
  /** Milliseconds since 1970, for people. */
  readonly changed: number;
  /** What the last verification found. */
  readonly differences?: RekeyDifferences;
  /** HBase: cells of an earlier time than this, milliseconds since 1970, are copied. */
  readonly since?: number;
  /** HBase: how the families of the old table kept deleted cells before. */
  readonly kept?: Readonly<Record<string, KeepDeletedCells>>;
  /** HBase: the call of `cutOver` that was the last to make the old table read-only: no other makes it writable. */
  readonly cutting?: string;
}

/** The states in the order in which they follow one another, of a change that nobody aborts. */
export const SUCCESSION: readonly RekeyState[] = [
  'planned',
  'dual-write',
  'backfill',
  'verify',
  'ready',
  'cut-over',
  'cleanup',
  'done',
];

/** States in which every write goes to both layouts. */
export function isMirrored(state: RekeyState): boolean {
  return ['dual-write', 'backfill', 'verify', 'ready', 'cut-over'].includes(state);
}

export function isAborted({ state }: RekeyRecord): boolean {
  return state === 'aborting' || state === 'aborted';
}
