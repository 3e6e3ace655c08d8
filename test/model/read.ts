/** What reads see of the model's cells (R9-R25, R40-R55). */

import type { FamilyDescriptor, Query, TimeRange } from '../../src/table/index.js';
import { alivePuts } from './alive.js';
import { compareText, hiddenBy, isAbove, isBelow, isPut, latin1, type StoredCell } from './cells.js';
import { hasOwnTtlPassed, oldestUnexpired } from './keep.js';
import { isBefore, type ModelFilter, type Place } from './verdict.js';

interface FamilyRead {
  readonly family: FamilyDescriptor;
  readonly columns: ReadonlySet<string> | undefined;
  readonly range: TimeRange;
  readonly query: Query;
  readonly raw: boolean;
  readonly reversed: boolean;
  readonly now: number;
  readonly filter: ModelFilter | undefined;
}

/** The rows of one family, as a scan goes through them. */
export class FamilyRows {
  private readonly rows: { readonly row: string; readonly cells: StoredCell[] }[] = [];
  private closed = false;
  /** Where the filter wants to go on. */
  private place: Place | undefined;

  /** `cells`: of the family, in order. */
  constructor(
    private readonly read: FamilyRead,
    cells: readonly StoredCell[],
  ) {
    for (const cell of cells) {
      const last = this.rows.at(-1);
      if (last?.row === cell.row) last.cells.push(cell);
      else this.rows.push({ row: cell.row, cells: [cell] });
    }
    if (read.reversed) this.rows.reverse();
  }

  /** The row that comes next. */
  get head(): string | undefined {
    if (this.closed) return undefined;
    for (;;) {
      const first = this.rows[0];
      if (!first) return undefined;
      if (this.place && first.cells.every((cell) => isBefore(cell, this.place!, this.read.reversed))) {
        this.rows.shift();
      } else {
        return first.row;
      }
    }
  }

  /** Takes the row from the head and gives what is seen of it. */
  take(row: string): StoredCell[] {
    if (this.head !== row) return [];
    const { place } = this;
    const cells = this.rows.shift()!.cells;
    this.place = undefined;
    const visible = place ? cells.filter((cell) => !isBefore(cell, place, this.read.reversed)) : cells;
    return new RowWalk(this.read, this).walk(visible);
  }

  close(): void {
    this.closed = true;
  }

  seek(place: Place): void {
    this.place = place;
  }
}

/** Goes through the cells of one row and family. */
class RowWalk {
  private readonly markers: StoredCell[] = [];
  /** Columns of which no more is wanted; every one is looked at in the column of the empty qualifier. */
  private readonly ended = new Set<string>();
  private readonly finished = new Set<string>();
  private readonly counts = new Map<string, { versions: number; lastTime: number; lastType: number }>();
  private readonly given = new Map<string, number>();
  private readonly out: StoredCell[] = [];
  private seen = 0;
  private place: Place | undefined;

  constructor(
    private readonly read: FamilyRead,
    private readonly rows: FamilyRows,
  ) {}

  walk(cells: readonly StoredCell[]): StoredCell[] {
    const { filter, query, reversed } = this.read;
    const limit = query.maxResultsPerColumnFamily ?? Number.POSITIVE_INFINITY;
    for (const cell of this.candidates(cells)) {
      if (this.ended.has(cell.qualifier)) continue;
      if (this.place && isBefore(cell, this.place, reversed)) continue;
      this.place = undefined;
      if (filter?.done) break;
      const next = this.look(cell, limit);
      if (next === 'row') break;
      if (next === 'limit') return this.out;
      if (typeof next === 'object') {
        if (next.row !== cell.row) {
          this.rows.seek(next);
          break;
        }
        // In a reversed scan HBase seeks to earlier rows only.
        if (!reversed) this.place = next;
      }
    }
    // The filter is asked again before it is seen that the row is over.
    if (filter?.done) this.rows.close();
    return this.out;
  }

  /** With NEW_VERSION_BEHAVIOR the puts that are left, else all cells. */
  private candidates(cells: readonly StoredCell[]): readonly StoredCell[] {
    const { family, raw, now } = this.read;
    if (!family.newVersionBehavior || raw) return cells;
    const unexpired = cells.filter((cell) => !hasOwnTtlPassed(cell, now));
    const counted = unexpired.filter((cell) => isPut(cell) || this.applies(cell));
    const alive = new Set(alivePuts(counted, family.versions));
    return cells.filter((cell) => alive.has(cell));
  }

  /** R40, R41. */
  private applies(marker: StoredCell): boolean {
    const { range, family } = this.read;
    if (isBelow(range, marker.timestamp)) return false;
    return family.keepDeletedCells === 'FALSE' || !isAbove(range, marker.timestamp);
  }

  private look(cell: StoredCell, limit: number): 'on' | 'row' | 'limit' | Place {
    const { family, raw, now, range, columns } = this.read;
    const oldest = raw ? 0 : oldestUnexpired(family, now);
    if (columns && [...columns].every((column) => this.finished.has(column))) return 'row';
    if (cell.timestamp < oldest && family.minVersions === 0) return this.end(cell);
    if (hasOwnTtlPassed(cell, now)) return 'on';
    if (!raw && !isPut(cell)) {
      if (this.applies(cell)) this.markers.push(cell);
      return 'on';
    }
    const hidden = hiddenBy(this.markers, cell);
    if (hidden === 'column') return this.end(cell);
    if (hidden === 'version') return 'on';
    if (isAbove(range, cell.timestamp)) return 'on';
    if (isBelow(range, cell.timestamp)) return this.end(cell);
    if (columns && (!columns.has(cell.qualifier) || this.finished.has(cell.qualifier))) return 'on';
    const counted = this.count(cell, oldest);
    if (counted !== 'include' && counted !== 'last') return counted === 'end' ? this.end(cell) : 'on';
    return this.offer(cell, counted === 'last', limit);
  }

  private end(cell: StoredCell): 'on' {
    this.finished.add(cell.qualifier);
    if (cell.qualifier !== '') this.ended.add(cell.qualifier);
    return 'on';
  }

  /** The versions that the tracker lets pass: with a filter as many as the family keeps (R15). */
  private count(cell: StoredCell, oldest: number): 'include' | 'last' | 'skip' | 'end' {
    const { family, columns, filter } = this.read;
    const max = filter ? family.versions : this.wanted();
    const state = this.counts.get(cell.qualifier) ?? { versions: 0, lastTime: -1, lastType: 0 };
    this.counts.set(cell.qualifier, state);
    if (state.lastTime === cell.timestamp && (columns || state.lastType === cell.type)) return 'skip';
    if (isPut(cell)) state.versions++;
    const expired = cell.timestamp < oldest;
    if (columns) {
      if (state.versions >= max || (expired && state.versions >= family.minVersions)) {
        this.finished.add(cell.qualifier);
        return 'last';
      }
    } else if (state.versions > max || (expired && state.versions > family.minVersions)) {
      return 'end';
    }
    state.lastTime = cell.timestamp;
    state.lastType = cell.type;
    return 'include';
  }

  private wanted(): number {
    const { query, family, raw } = this.read;
    return raw ? query.maxVersions : Math.min(query.maxVersions, family.versions);
  }

  private offer(cell: StoredCell, last: boolean, limit: number): 'on' | 'row' | 'limit' | Place {
    const { filter, query, columns } = this.read;
    const verdict = filter ? filter.see(cell) : undefined;
    if (verdict && !verdict.pass) {
      if (verdict.next === 'column' || last) this.end(cell);
      return typeof verdict.next === 'string' ? (verdict.next === 'row' ? 'row' : 'on') : verdict.next;
    }
    let ends = last || verdict?.next === 'column';
    if (filter) {
      const given = (this.given.get(cell.qualifier) ?? 0) + 1;
      this.given.set(cell.qualifier, given);
      if (given > this.wanted()) {
        this.end(cell);
        return 'on';
      }
    }
    if (ends) this.end(cell);
    ends &&= columns !== undefined && [...columns].every((column) => this.finished.has(column));
    this.seen++;
    if (this.seen > query.rowOffsetPerColumnFamily) {
      this.out.push(filter ? { ...cell, value: filter.value(cell.value) } : cell);
    }
    // The last cell that is wanted ends the family's part of the row: the filter is not asked about those behind it.
    if (this.seen >= query.rowOffsetPerColumnFamily + limit) return 'limit';
    return verdict?.next === 'row' || ends ? 'row' : 'on';
  }
}

export function familyRead(
  family: FamilyDescriptor,
  query: Query,
  rest: Pick<FamilyRead, 'raw' | 'reversed' | 'now' | 'filter'>,
): FamilyRead {
  const columns = query.families.get(family.name);
  return {
    family,
    columns: columns ? new Set(columns.map(latin1).sort(compareText)) : undefined,
    range: query.familyTimeRanges.get(family.name) ?? query.timeRange,
    query,
    ...rest,
  };
}
