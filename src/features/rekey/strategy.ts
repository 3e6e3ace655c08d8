import type { JobRunOptions } from '../../job/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { KeepDeletedCells } from '../../table/index.js';
import type { RekeyDifferences } from './jobs/compare.js';
import type { RekeyTarget } from './jobs/passes.js';

// — The record of a key change.

/** The change of an entity's keys that a write follows, as `Database.explainWrite` names it. */
export interface ExplainedKeyChange {
  /** Null: no change of its keys is under way. */
  readonly keyChange: {
    /** The entity with the other keys, whose row is written with each row of this one. */
    readonly other: string;
    /** `filling`: rows are being copied. `complete`: both layouts are equal. */
    readonly stage: 'filling' | 'complete';
  } | null;
}

/** The state of a key change. */
export type RekeyState =
  | 'planned'
  /** Writes go to both layouts. */
  | 'dual-write'
  /** Earlier rows are being copied. */
  | 'backfill'
  /** Both layouts are being compared. */
  | 'verify'
  /** Both layouts are equal; the new one may be read. */
  | 'ready'
  /** The new layout is in use; the old one is still maintained. */
  | 'cut-over'
  /** The old rows are being removed. */
  | 'cleanup'
  | 'done'
  /** The new rows are being removed. */
  | 'aborting'
  | 'aborted';

/** How each family of a table keeps deleted cells. */
export type KeptDeletes = Readonly<Record<string, KeepDeletedCells>>;

/** The record of a key change in the control table. */
export interface RekeyRecord {
  readonly from: string;
  readonly to: string;
  /** The tables of `from` and `to`. Undefined in records of earlier releases. */
  readonly tables?: readonly [from: string, to: string];
  readonly fromKey: string;
  readonly toKey: string;
  readonly state: RekeyState;
  readonly paused: boolean;
  /** The number of times it was begun, from 1. */
  readonly run: number;
  /** The time of the last update, ms since 1970, for display. */
  readonly changed: number;
  /** The result of the last verification. */
  readonly differences?: RekeyDifferences;
  /** The position of change feeds from which on those of the new entity are complete. */
  readonly feedsFrom?: string;
  /** The position of change feeds from which on changes are those of one entity alone: the old one's if it was aborted. */
  readonly feedsUntil?: string;
  /** HBase, Bigtable: cells with earlier timestamps than this (ms) are copied. */
  readonly since?: number;
  /** HBase: the old table's former setting for deleted cells. */
  readonly kept?: KeptDeletes;
  /** HBase: the new table's former setting for deleted cells. */
  readonly keptNew?: KeptDeletes;
  /** HBase, Bigtable: milliseconds for which writes were refused at the cut-over. */
  readonly rested?: number;
  /** HBase, Bigtable: the call of `cutOver` that made the old table read-only last. No other call makes it writable again. */
  readonly cutting?: string;
}

/** The tables of the two entities of a key change. */
export function tablesOf(from: EntitySchema, to: EntitySchema): readonly [from: string, to: string] {
  return [from.table.descriptor.name, to.table.descriptor.name];
}

/** Whether a record is of these tables. Programs with other tables may change the keys of entities of the same names. */
export function isOfTables({ tables }: Pick<RekeyRecord, 'tables'>, [from, to]: readonly string[]): boolean {
  return tables === undefined || (tables[0] === from && tables[1] === to);
}

/** The states of a change that is not aborted, in their order. */
export const STATE_ORDER: readonly RekeyState[] = [
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
export function hasDualWrites(state: RekeyState): boolean {
  return ['dual-write', 'backfill', 'verify', 'ready', 'cut-over'].includes(state);
}

export function isAborted({ state }: RekeyRecord): boolean {
  return state === 'aborting' || state === 'aborted';
}

/** A key change in progress. */
export interface RekeyRun {
  readonly target: RekeyTarget;
  readonly record: RekeyRecord;
  /** The record as it is now: other processes may have updated it. */
  now(): Promise<RekeyRecord>;
  /** @throws ConflictError when another process has ended or overtaken the present cut-over. */
  checkCutting(): Promise<void>;
  /** Updates the record. */
  set(change: Partial<RekeyRecord>): Promise<RekeyRecord>;
  /** The time of the engine, which is not below that of any earlier write. */
  time(): Promise<number>;
}

/** Options of `cutOver`. */
export interface CutOverOptions {
  /**
   * HBase, Bigtable: whether every row is compared with its copy, and differing rows are copied again. Default true: all rows
   * while writes continue, then the rows of the last writes while writers wait. This misses a row that is written
   * after its comparison with a timestamp of two or more minutes ago; `'resting'` compares every row while writers
   * wait, so `restMs` must be long enough.
   */
  readonly compare?: boolean | 'resting';
  /**
   * HBase, Bigtable: milliseconds for which writers may wait, default 5,000. After that the old table accepts writes again,
   * these are copied, and the cut-over is retried, three times in all (`ERR_BUSY`). The time in which servers reopen
   * regions is not limited.
   */
  readonly restMs?: number;
  readonly signal?: AbortSignal;
}

/** Options of `cleanup`. */
export interface CleanupOptions extends JobRunOptions {
  /** Embedded engine: whether to check first that the new layout has everything the old one has. Default true. */
  readonly compare?: boolean;
}

/**
 * Records the cut-over, and for how long writes were refused until then, ms. @throws ConflictError when the layouts
 * differ, or another process has continued the change.
 */
export type RecordCutOver = (
  differences: RekeyDifferences | undefined,
  rested?: number,
) => Promise<RekeyRecord>;

/** The steps of a key change on one kind of engine. `Rekey` keeps the record. */
export interface RekeyStrategy {
  /** The state after `planned`. */
  readonly firstState: RekeyState;
  /** Returns the reasons why the change is impossible on this engine, each a sentence. */
  problems(): string[];
  /** Called before it is known whether the new layout is empty. */
  prepare(): Promise<void>;
  /** Called before the first state is recorded. */
  begin(run: RekeyRun, options: JobRunOptions): Promise<void>;
  copy(run: RekeyRun, options: JobRunOptions): Promise<void>;
  /**
   * Compares the layouts after copying, and again when `run` is repeated. Undefined where the result is not known
   * yet.
   */
  verify(run: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences | undefined>;
  /** Cuts over, and calls `recordCutOver`, which throws if the layouts differ. @throws what it throws. */
  cutOver(run: RekeyRun, options: CutOverOptions, recordCutOver: RecordCutOver): Promise<RekeyRecord>;
  /** The rows that only the old layout has, before it is removed. Undefined where there can be none. */
  lostAtCleanup(run: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences | undefined>;
  /** Called when the record says that the new layout may be written: after the cut-over, or an abort, also one by another process. */
  allowNewWrites(): void;
  /** Resolves when all readers see what was copied. */
  copiesVisible(): Promise<void>;
  /** Whether `verify` may be repeated when the change is `ready`. */
  readonly canVerifyAgain: boolean;
  /** Whether the change may be aborted after the cut-over. */
  readonly canAbortAfterCutOver: boolean;
  removeOld(run: RekeyRun, options: JobRunOptions): Promise<void>;
  removeNew(run: RekeyRun, options: JobRunOptions): Promise<void>;
}

/** Whether any row or entry is missing or wrong. */
export function isWrong({ missing, extra, different, unkeyed, entries }: RekeyDifferences): boolean {
  return missing + extra + different + unkeyed + entries > 0;
}
