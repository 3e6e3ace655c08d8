import type { JobRunOptions } from '../../job/index.js';
import type { KeepDeletedCells } from '../../table/index.js';
import type { RekeyDifferences } from './jobs/compare.js';
import type { RekeyTarget } from './jobs/passes.js';

/** What is kept of a change of keys. */

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

/** How the families of a table keep deleted cells. */
export type KeptDeletes = Readonly<Record<string, KeepDeletedCells>>;

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
  readonly kept?: KeptDeletes;
  /** HBase: how those of the new one did. */
  readonly keptNew?: KeptDeletes;
  /** HBase: milliseconds for which writes rested at the cut-over. */
  readonly rested?: number;
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

/** What a change of keys does on an engine: `Rekey` keeps where it stands, and asks this for the rest. */

/** A change of keys under way. */
export interface RekeyRun {
  readonly target: RekeyTarget;
  readonly record: RekeyRecord;
  /** How it stands by now: other processes may have gone on with it. */
  now(): Promise<RekeyRecord>;
  /** @throws ConflictError when another process has ended or overtaken the cut-over that is under way. */
  checkCutting(): Promise<void>;
  /** Keeps more of it. */
  set(change: Partial<RekeyRecord>): Promise<RekeyRecord>;
  /** The time of those who keep it: not below that of any write that was ordered before. */
  time(): Promise<number>;
}

/** How the cut-over is made. */
export interface CutOverOptions {
  /**
   * HBase: whether every row is held against its copy, and what differs is copied once more. Default true: while writes go on, and
   * again, while they rest, the rows that were written last. A row that was written behind that with a time of its own, two minutes in
   * the past or more, is not found then; `'resting'` holds every row against its copy while writes rest, for which `restMs` has to suffice.
   */
  readonly compare?: boolean | 'resting';
  /**
   * HBase: milliseconds for which writes may rest, default 5,000. When they are over the old table takes writes again, what is written is
   * copied, and the cut-over is tried once more, three times in all (`ERR_BUSY`). The servers' own work is not cut off: regions that open anew.
   */
  readonly restMs?: number;
  readonly signal?: AbortSignal;
}

/** How the old rows are removed. */
export interface CleanupOptions extends JobRunOptions {
  /** Embedded engine: whether what the old layout has that the new one has not is looked for first. Default true. */
  readonly compare?: boolean;
}

/**
 * Notes the cut-over, and for how many milliseconds writes have rested until then.
 * @throws ConflictError when something differs, or another process has gone on with the change.
 */
export type NoteCut = (differences: RekeyDifferences | undefined, rested?: number) => Promise<RekeyRecord>;

export interface RekeyStrategy {
  /** The state behind `planned`. */
  readonly first: RekeyState;
  /** Why it cannot be on this engine, each a sentence. */
  problems(): string[];
  /** Before it is known whether the new layout is empty. */
  prepare(): Promise<void>;
  /** Before the first state is noted. */
  begin(run: RekeyRun): Promise<void>;
  copy(run: RekeyRun, options: JobRunOptions): Promise<void>;
  /** Behind the copying, and again when it is run once more: undefined where nothing can be told yet. */
  verify(run: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences | undefined>;
  /** Has the cut-over noted by `note`, which what is found keeps from it. @throws what `note` throws. */
  cutOver(run: RekeyRun, options: CutOverOptions, note: NoteCut): Promise<RekeyRecord>;
  /** What the old layout has that the new one has not, before it is removed; undefined where nobody can have written it since. */
  lost(run: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences | undefined>;
  /** When the cut-over has been noted. */
  counts(): void;
  /** Whether `verify` is of use again when it is `ready`. */
  readonly runsAgain: boolean;
  /** Whether it may be aborted when it was cut over. */
  readonly leadsBack: boolean;
  removeOld(run: RekeyRun, options: JobRunOptions): Promise<void>;
  removeNew(run: RekeyRun, options: JobRunOptions): Promise<void>;
}

/** Whether rows were found, or entries, that are not as they should be. */
export function isWrong({ missing, extra, different, unkeyed, entries }: RekeyDifferences): boolean {
  return missing + extra + different + unkeyed + entries > 0;
}
