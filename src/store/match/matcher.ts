import { compareSlices, copySlice } from '../../bytes/index.js';
import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';

// — Match codes: whether to return a cell, and where to continue (HBase `ScanQueryMatcher.MatchCode`).

/** Return the cell, continue with the next. */
export const INCLUDE = 0;
/** Skip the cell, continue with the next. */
export const SKIP = 1;
/** Skip the cell and the rest of its column. */
export const SEEK_NEXT_COLUMN = 2;
/** Skip the cell and the rest of its row. */
export const SEEK_NEXT_ROW = 3;
/** Skip the cell, continue at the filter's hint. */
export const SEEK_HINT = 4;
/** Return the cell, skip the rest of its column. */
export const INCLUDE_NEXT_COLUMN = 5;
/** Return the cell, skip the rest of its row. */
export const INCLUDE_NEXT_ROW = 6;
/** Nothing more of this family, in any row: the filter has ended the scan. */
export const DONE_SCAN = 7;

export type MatchCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/**
 * Decides cell by cell what a read or a compaction of one family keeps. Cells come in order (R2), each row from its start up to
 * where the scanner leaves it, with a `startRow` before each row.
 */
export abstract class Matcher {
  /** Resets the state of the previous row. */
  abstract startRow(): void;
  /** Decides on the cell at the cursor. */
  abstract match(cell: CellCursor): MatchCode;
  /** After SEEK_NEXT_COLUMN or INCLUDE_NEXT_COLUMN: the next requested column, or null for the next one that exists. */
  abstract nextColumn(): Uint8Array | null;
}

/** A copy of a qualifier, which stays valid when the cursor moves. */
export class ColumnBytes {
  private bytes: Uint8Array = new Uint8Array(32);
  /** -1: none. */
  private length = -1;

  get isSet(): boolean {
    return this.length >= 0;
  }

  clear(): void {
    this.length = -1;
  }

  copyFrom(cell: CellCursor): void {
    const length = cell.qualifierLength;
    if (length > this.bytes.length) this.bytes = new Uint8Array(length * 2);
    copySlice(cell.key, cell.qualifierOffset, length, this.bytes, 0);
    this.length = length;
  }

  /** Whether the cell is of this column. */
  isOf(cell: CellCursor): boolean {
    const length = this.length;
    if (cell.qualifierLength !== length) return false;
    const { key, qualifierOffset } = cell;
    const bytes = this.bytes;
    for (let i = length - 1; i >= 0; i--) if (bytes[i] !== key[qualifierOffset + i]) return false;
    return true;
  }
}

/** Decides which columns, and how many of their versions, are kept (HBase `ColumnTracker`). */
export abstract class ColumnTracker {
  constructor(
    /** Versions that are kept however old they are (R18). */
    protected readonly minVersions: number,
    protected readonly maxVersions: number,
    /** Cells with a lower timestamp have expired (R16). */
    protected readonly oldestUnexpired: number,
  ) {}

  abstract startRow(): void;
  /** Whether no further column of the row is requested. */
  abstract get done(): boolean;
  /** Whether the column of a put within the range is requested: INCLUDE, or where to continue. */
  abstract checkColumn(cell: CellCursor): MatchCode;
  /** Counts a cell of a requested column: one of the INCLUDE codes, SKIP for a duplicate, or SEEK_NEXT_COLUMN. */
  abstract checkVersions(cell: CellCursor, isMarker: boolean): MatchCode;
  /** Where to continue when the rest of the cell's column does not matter. */
  abstract finishColumn(cell: CellCursor): MatchCode;
  abstract nextColumn(): Uint8Array | null;

  /** R17: from here on the column has only expired cells, and none is kept. */
  isExpiredForGood(timestamp: number): boolean {
    return timestamp < this.oldestUnexpired && this.minVersions === 0;
  }
}

/** All columns (HBase `ScanWildcardColumnTracker`). */
export class AllColumns extends ColumnTracker {
  private readonly column = new ColumnBytes();
  private count = 0;
  private lastTimestamp = -1;
  private lastType = 0;

  override startRow(): void {
    this.column.clear();
    this.lastTimestamp = -1;
  }

  override get done(): boolean {
    return false;
  }

  override checkColumn(): MatchCode {
    return INCLUDE;
  }

  override checkVersions(cell: CellCursor, isMarker: boolean): MatchCode {
    const { timestamp, type } = cell;
    if (!this.column.isOf(cell)) {
      this.column.copyFrom(cell);
      this.count = 0;
      this.lastTimestamp = -1;
    } else if (timestamp === this.lastTimestamp && type === this.lastType) {
      return SKIP;
    }
    // A marker is not a version: it counts with the put before it (R14).
    if (!isMarker) this.count++;
    if (this.count > this.maxVersions) return SEEK_NEXT_COLUMN;
    if (this.count > this.minVersions && timestamp < this.oldestUnexpired) return SEEK_NEXT_COLUMN;
    this.lastTimestamp = timestamp;
    this.lastType = type;
    return INCLUDE;
  }

  override finishColumn(): MatchCode {
    return SEEK_NEXT_COLUMN;
  }

  override nextColumn(): null {
    return null;
  }
}

/** The columns that a query names, in byte order (HBase `ExplicitColumnTracker`). Used for puts only. */
export class ChosenColumns extends ColumnTracker {
  private index = 0;
  private count = 0;
  private lastTimestamp = -1;

  constructor(
    private readonly columns: readonly Uint8Array[],
    minVersions: number,
    maxVersions: number,
    oldestUnexpired: number,
  ) {
    super(minVersions, maxVersions, oldestUnexpired);
  }

  override startRow(): void {
    this.index = 0;
    this.count = 0;
    this.lastTimestamp = -1;
  }

  override get done(): boolean {
    return this.index >= this.columns.length;
  }

  override checkColumn(cell: CellCursor): MatchCode {
    while (this.index < this.columns.length) {
      const order = this.compareTo(cell);
      if (order === 0) return INCLUDE;
      if (order < 0) return SEEK_NEXT_COLUMN;
      this.advance();
    }
    return SEEK_NEXT_ROW;
  }

  override checkVersions(cell: CellCursor): MatchCode {
    const { timestamp } = cell;
    if (timestamp === this.lastTimestamp) return SKIP;
    this.count++;
    const expired = timestamp < this.oldestUnexpired;
    if (this.count >= this.maxVersions || (expired && this.count >= this.minVersions)) {
      this.advance();
      return this.done ? INCLUDE_NEXT_ROW : INCLUDE_NEXT_COLUMN;
    }
    this.lastTimestamp = timestamp;
    return INCLUDE;
  }

  override finishColumn(cell: CellCursor): MatchCode {
    while (this.index < this.columns.length) {
      const order = this.compareTo(cell);
      if (order >= 0) this.advance();
      if (order <= 0) break;
    }
    return this.done ? SEEK_NEXT_ROW : SEEK_NEXT_COLUMN;
  }

  override nextColumn(): Uint8Array | null {
    return this.columns[this.index] ?? null;
  }

  private advance(): void {
    this.index++;
    this.count = 0;
    this.lastTimestamp = -1;
  }

  /** Compares the cell's column to the requested one. */
  private compareTo(cell: CellCursor): number {
    const column = this.columns[this.index]!;
    return compareSlices(cell.key, cell.qualifierOffset, cell.qualifierLength, column, 0, column.length);
  }
}

// — Decides which puts the delete markers of a row hide (HBase `ScanDeleteTracker`, R28-R37).

/** Whether a put is hidden, and what follows for the rest of its column. */
export const NOT_DELETED = 0;
/** Only this version. */
export const VERSION_DELETED = 1;
/** This version and all older ones of the column. */
export const COLUMN_DELETED = 2;

type DeleteResult = 0 | 1 | 2;

/**
 * Receives the markers and puts of a row in their order (R2): first the family's markers, then those of a column before the puts
 * with their timestamp. It stores one column marker at a time, because a later one of the same column is older, or less
 * specific, or both (R35).
 */
export class DeleteTracker {
  /** The timestamp of the newest family marker, -1 for none. */
  private familyTimestamp = -1;
  private readonly familyVersions: number[] = [];
  private markerType = 0;
  private markerTimestamp = 0;
  private readonly column = new ColumnBytes();
  /** False while no put can be hidden. */
  active = false;

  startRow(): void {
    if (!this.active) return;
    this.active = false;
    this.familyTimestamp = -1;
    this.familyVersions.length = 0;
    this.column.clear();
  }

  add(marker: CellCursor): void {
    const { timestamp, type } = marker;
    if (timestamp <= this.familyTimestamp) return;
    this.active = true;
    if (type === CellType.DeleteFamily) {
      this.familyTimestamp = timestamp;
    } else if (type === CellType.DeleteFamilyVersion) {
      this.familyVersions.push(timestamp);
    } else {
      if (this.column.isSet && type < this.markerType && this.column.isOf(marker)) return;
      this.column.copyFrom(marker);
      this.markerType = type;
      this.markerTimestamp = timestamp;
    }
  }

  check(put: CellCursor): DeleteResult {
    const { timestamp } = put;
    if (timestamp <= this.familyTimestamp) return COLUMN_DELETED;
    const versions = this.familyVersions;
    for (let i = 0; i < versions.length; i++) if (versions[i] === timestamp) return VERSION_DELETED;
    if (this.column.isSet) {
      if (!this.column.isOf(put)) {
        this.column.clear();
      } else if (this.markerType === CellType.DeleteColumn) {
        return COLUMN_DELETED;
      } else if (timestamp === this.markerTimestamp) {
        return VERSION_DELETED;
      } else {
        this.column.clear();
      }
    }
    return NOT_DELETED;
  }
}

/** The state of a put. */
export const ALIVE = 0;
/** A marker hides it. */
export const DELETED = 1;
/** Enough newer versions, or a later put with the same timestamp, replace it. */
export const MASKED = 2;

type PutState = 0 | 1 | 2;

interface Marker {
  readonly timestamp: number;
  readonly type: number;
  readonly seq: number;
}

/**
 * Decides which puts are alive in families that count versions when they are written (NEW_VERSION_BEHAVIOR, HBASE-15968, R79-R82;
 * HBase `NewVersionBehaviorTracker`).
 *
 * A put lives from its seq until a marker written later hides it, or a put of the same timestamp overwrites it. It is gone
 * for good once, at any moment of its life, as many newer versions are alive as the family keeps: it does not come back when they
 * are deleted later.
 */
export class VersionHistory {
  private readonly familyMarkers: Marker[] = [];
  private readonly markers: Marker[] = [];
  private readonly column = new ColumnBytes();
  /** The column's versions so far: their timestamps, and the sequence numbers at which they were written and ended. */
  private readonly timestamps: number[] = [];
  private readonly births: number[] = [];
  private readonly deaths: number[] = [];
  /** Whether a marker ended them: in one change, whose cells have one seq, the puts take effect before the markers. */
  private readonly hidden: boolean[] = [];
  private lastTimestamp = -1;
  private lastSeq = 0;

  constructor(private readonly maxVersions: number) {}

  startRow(): void {
    this.familyMarkers.length = 0;
    this.column.clear();
  }

  /** Whether a marker seen in this row may concern the present column. */
  get hasMarkers(): boolean {
    return this.familyMarkers.length > 0 || this.markers.length > 0;
  }

  addMarker(cell: CellCursor): void {
    this.enter(cell);
    const marker = { timestamp: cell.timestamp, type: cell.type, seq: cell.seq };
    const ofFamily = cell.type === CellType.DeleteFamily || cell.type === CellType.DeleteFamilyVersion;
    (ofFamily ? this.familyMarkers : this.markers).push(marker);
  }

  /** The state of a put. Puts and markers of a row are added in their order (R2). */
  addPut(cell: CellCursor): PutState {
    this.enter(cell);
    const { timestamp, seq } = cell;
    const deleted = this.deletionOf(timestamp, seq);
    const overwritten = timestamp === this.lastTimestamp ? this.lastSeq : Number.POSITIVE_INFINITY;
    const hidden = deleted < overwritten;
    const death = hidden ? deleted : overwritten;
    this.lastTimestamp = timestamp;
    this.lastSeq = seq;
    if (this.isCrowdedOut(timestamp, seq, death, hidden)) return MASKED;
    this.timestamps.push(timestamp);
    this.births.push(seq);
    this.deaths.push(death);
    this.hidden.push(hidden);
    if (deleted !== Number.POSITIVE_INFINITY) return DELETED;
    return overwritten === Number.POSITIVE_INFINITY ? ALIVE : MASKED;
  }

  private enter(cell: CellCursor): void {
    if (this.column.isOf(cell)) return;
    this.column.copyFrom(cell);
    this.markers.length = 0;
    this.timestamps.length = 0;
    this.births.length = 0;
    this.deaths.length = 0;
    this.hidden.length = 0;
    this.lastTimestamp = -1;
  }

  /** The seq of the first marker, written with or after the put, that hides it. */
  private deletionOf(timestamp: number, seq: number): number {
    return Math.min(
      firstDeletion(this.familyMarkers, timestamp, seq),
      firstDeletion(this.markers, timestamp, seq),
    );
  }

  /** Whether enough newer versions are alive together at some moment from `birth` until before `death`. */
  private isCrowdedOut(timestamp: number, birth: number, death: number, hidden: boolean): boolean {
    const { births } = this;
    if (births.length < this.maxVersions) return false;
    if (isAlive(birth, death, hidden) && this.aliveAt(birth, timestamp) >= this.maxVersions) return true;
    for (let i = 0; i < births.length; i++) {
      const moment = births[i]!;
      if (moment <= birth || !isAlive(moment, death, hidden)) continue;
      if (this.aliveAt(moment, timestamp) >= this.maxVersions) return true;
    }
    return false;
  }

  /** The number of versions above a timestamp that are alive at a moment. */
  private aliveAt(moment: number, timestamp: number): number {
    const { timestamps, births, deaths, hidden } = this;
    let alive = 0;
    for (let i = 0; i < births.length; i++) {
      if (timestamps[i]! > timestamp && births[i]! <= moment && isAlive(moment, deaths[i]!, hidden[i]!))
        alive++;
    }
    return alive;
  }
}

/**
 * Whether a version that ended at `death` was alive at a moment after its birth. Sequence numbers need not be integers: those of a
 * transaction's own writes lie between two.
 */
function isAlive(moment: number, death: number, hidden: boolean): boolean {
  return hidden ? moment <= death : moment < death;
}

function firstDeletion(markers: readonly Marker[], timestamp: number, seq: number): number {
  let first = Number.POSITIVE_INFINITY;
  for (const marker of markers) {
    if (marker.seq < seq || marker.seq >= first) continue;
    const upTo = marker.type === CellType.DeleteColumn || marker.type === CellType.DeleteFamily;
    if (upTo ? marker.timestamp >= timestamp : marker.timestamp === timestamp) first = marker.seq;
  }
  return first;
}
