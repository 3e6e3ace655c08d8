/** What flushes and major compactions keep of one row and family (R13, R42-R46, R59-R63). */

import { type FamilyDescriptor, FOREVER } from '../../src/table/index.js';
import { hiddenBy, isPut, type StoredCell } from './cells.js';

interface KeepRules {
  readonly family: FamilyDescriptor;
  readonly now: number;
  readonly major: boolean;
  /** Of all files that are merged. */
  readonly earliestPut: number;
}

export function oldestUnexpired(family: FamilyDescriptor, now: number): number {
  return family.ttl === FOREVER ? 0 : now - family.ttl * 1000;
}

/** R21. */
export function hasOwnTtlPassed(cell: StoredCell, now: number): boolean {
  return cell.ttl !== 0 && cell.timestamp + cell.ttl < now;
}

/** `cells`: one row and family, in order. */
export function keepRow(cells: readonly StoredCell[], rules: KeepRules): StoredCell[] {
  const { family, now, major } = rules;
  const oldest = oldestUnexpired(family, now);
  const kept: StoredCell[] = [];
  const markers: StoredCell[] = [];
  let column: string | undefined;
  let versions = 0;
  let last: StoredCell | undefined;
  let endedColumn: string | undefined;
  // The rest of a column is not looked at, but for the one that the family's markers are in.
  const end = (cell: StoredCell): void => {
    if (cell.qualifier !== '') endedColumn = cell.qualifier;
  };
  const count = (cell: StoredCell): void => {
    if (cell.qualifier !== column) {
      column = cell.qualifier;
      versions = 0;
      last = undefined;
    }
    if (last && last.timestamp === cell.timestamp && last.type === cell.type) return;
    if (isPut(cell)) versions++;
    const expired = cell.timestamp < oldest;
    if (versions > family.versions || (expired && versions > family.minVersions)) {
      end(cell);
      return;
    }
    last = cell;
    kept.push(cell);
  };
  for (const cell of cells) {
    if (cell.qualifier === endedColumn) continue;
    const expired = cell.timestamp < oldest;
    if (expired && family.minVersions === 0) {
      end(cell);
    } else if (hasOwnTtlPassed(cell, now)) {
      // Left out, and not counted.
    } else if (!isPut(cell)) {
      const keeps = family.keepDeletedCells === 'TRUE' || (family.keepDeletedCells === 'TTL' && !expired);
      if (!keeps) markers.push(cell);
      if (!major) kept.push(cell);
      else if (keeps && cell.timestamp < rules.earliestPut) end(cell);
      else if (keeps) count(cell);
    } else {
      const hidden = hiddenBy(markers, cell);
      if (hidden === 'column') end(cell);
      else if (hidden === undefined) count(cell);
    }
  }
  return kept;
}
