import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { ColumnBytes } from './matcher.js';

/** Decides which puts the delete markers of a row hide (HBase `ScanDeleteTracker`, R28-R37). */

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

/**
 * Decides which puts are alive in families that count versions when they are written (NEW_VERSION_BEHAVIOR, HBASE-15968, R79-R82;
 * HBase `NewVersionBehaviorTracker`).
 *
 * A put lives from its seq until a marker written later hides it, or a put of the same timestamp overwrites it. It is gone
 * for good once, at any moment of its life, as many newer versions are alive as the family keeps: it does not come back when they
 * are deleted later.
 */

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
