/** The model's cells: plain objects with bytes as latin1 text, whose order is that of the bytes. */

import { fromLatin1, toLatin1 } from '../../src/bytes/index.js';
import { Cell, CellType, LATEST_TIMESTAMP, type TimeRange } from '../../src/table/index.js';

export interface StoredCell {
  readonly row: string;
  readonly family: string;
  readonly qualifier: string;
  readonly timestamp: number;
  readonly type: CellType;
  readonly value: string;
  readonly seq: number;
  /** Milliseconds; 0: none. */
  readonly ttl: number;
}

export const latin1 = (bytes: Uint8Array): string => toLatin1(bytes);
export const bytes = (text: string): Uint8Array => fromLatin1(text);
/** A family's name as the latin1 of its UTF-8 bytes: families sort by these. */
export const nameBytes = (family: string): string => Buffer.from(family, 'utf8').toString('latin1');

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** R2. */
export function compareCells(a: StoredCell, b: StoredCell): number {
  return (
    compareText(a.row, b.row) ||
    compareText(nameBytes(a.family), nameBytes(b.family)) ||
    compareText(a.qualifier, b.qualifier) ||
    b.timestamp - a.timestamp ||
    b.type - a.type ||
    b.seq - a.seq
  );
}

export function isPut(cell: StoredCell): boolean {
  return cell.type === CellType.Put;
}

export function sameColumn(a: StoredCell, b: StoredCell): boolean {
  return a.row === b.row && a.family === b.family && a.qualifier === b.qualifier;
}

/** Whether a marker hides a put, their times and columns alone considered. */
export function covers(marker: StoredCell, put: StoredCell): boolean {
  switch (marker.type) {
    case CellType.DeleteFamily:
      return marker.timestamp >= put.timestamp;
    case CellType.DeleteFamilyVersion:
      return marker.timestamp === put.timestamp;
    case CellType.DeleteColumn:
      return marker.qualifier === put.qualifier && marker.timestamp >= put.timestamp;
    default:
      return marker.qualifier === put.qualifier && marker.timestamp === put.timestamp;
  }
}

/**
 * What markers do to a put: "column" hides the rest of its column too. A family version marker is looked at before
 * those of the column, so that a put which both hide does not end its column.
 */
export function hiddenBy(markers: readonly StoredCell[], put: StoredCell): 'column' | 'version' | undefined {
  const types = markers.filter((marker) => covers(marker, put)).map((marker) => marker.type);
  if (types.length === 0) return undefined;
  if (types.includes(CellType.DeleteFamily)) return 'column';
  if (types.includes(CellType.DeleteFamilyVersion)) return 'version';
  return types.includes(CellType.DeleteColumn) ? 'column' : 'version';
}

export function isBelow(range: TimeRange, timestamp: number): boolean {
  return timestamp < range.min;
}

export function isAbove(range: TimeRange, timestamp: number): boolean {
  return range.max !== LATEST_TIMESTAMP && timestamp >= range.max;
}

export function toCell(cell: StoredCell): Cell {
  return new Cell(
    bytes(cell.row),
    cell.family,
    bytes(cell.qualifier),
    cell.timestamp,
    cell.type,
    bytes(cell.value),
  );
}
