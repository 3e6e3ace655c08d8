import { EMPTY_BYTES, prefixEnd } from '../bytes/index.js';
import { LATEST_TIMESTAMP } from '../table/checks.js';
import type { TimeRange } from '../table/get-and-scan.js';

/**
 * The subset of the messages of `google.bigtable.v2` that is used, in the form of Google's client. 64-bit numbers are
 * decimal strings.
 */

/** Bigtable's row filters. */
export interface RowFilter {
  readonly chain?: { readonly filters: readonly RowFilter[] };
  readonly interleave?: { readonly filters: readonly RowFilter[] };
  readonly condition?: {
    readonly predicateFilter: RowFilter;
    readonly trueFilter?: RowFilter;
    readonly falseFilter?: RowFilter;
  };
  readonly passAllFilter?: true;
  readonly blockAllFilter?: true;
  readonly familyNameRegexFilter?: string;
  readonly columnRangeFilter?: {
    readonly familyName: string;
    readonly startQualifierClosed?: Uint8Array;
    readonly startQualifierOpen?: Uint8Array;
    readonly endQualifierClosed?: Uint8Array;
    readonly endQualifierOpen?: Uint8Array;
  };
  readonly timestampRangeFilter?: TimestampRange;
  readonly valueRangeFilter?: {
    readonly startValueClosed?: Uint8Array;
    readonly startValueOpen?: Uint8Array;
    readonly endValueClosed?: Uint8Array;
    readonly endValueOpen?: Uint8Array;
  };
  readonly cellsPerColumnLimitFilter?: number;
  readonly cellsPerRowLimitFilter?: number;
  readonly stripValueTransformer?: true;
}

/** Microseconds; the end is exclusive, and open if absent. */
export interface TimestampRange {
  readonly startTimestampMicros?: string;
  readonly endTimestampMicros?: string;
}

/** One change of a row's cells. */
export interface CellMutation {
  readonly setCell?: {
    readonly familyName: string;
    readonly columnQualifier: Uint8Array;
    readonly timestampMicros: string | number;
    readonly value: Uint8Array;
  };
  readonly deleteFromColumn?: {
    readonly familyName: string;
    readonly columnQualifier: Uint8Array;
    readonly timeRange?: TimestampRange;
  };
  readonly deleteFromFamily?: { readonly familyName: string };
  readonly deleteFromRow?: Record<never, never>;
}

/** A change of a cell that depends on its value. */
export interface ReadModifyWriteRule {
  readonly familyName: string;
  readonly columnQualifier: Uint8Array;
  readonly incrementAmount?: string;
  readonly appendValue?: Uint8Array;
}

export interface RowRange {
  readonly startKeyClosed?: Uint8Array;
  readonly startKeyOpen?: Uint8Array;
  readonly endKeyClosed?: Uint8Array;
  readonly endKeyOpen?: Uint8Array;
}

export interface ReadRowsRequest {
  readonly rows?: { readonly rowKeys?: readonly Uint8Array[]; readonly rowRanges?: readonly RowRange[] };
  readonly filter?: RowFilter;
  readonly rowsLimit?: number;
  readonly reversed?: boolean;
}

/** A part of a ReadRows response: a cell, a piece of a large one, or the end of a row. */
export interface CellChunk {
  readonly rowKey?: Uint8Array | null;
  readonly familyName?: { readonly value?: string | null } | null;
  readonly qualifier?: { readonly value?: Uint8Array | null } | null;
  readonly timestampMicros?: string | number | null;
  readonly value?: Uint8Array | null;
  readonly valueSize?: number | null;
  readonly resetRow?: boolean | null;
  readonly commitRow?: boolean | null;
}

export interface ReadRowsResponse {
  readonly chunks?: readonly CellChunk[] | null;
  readonly lastScannedRowKey?: Uint8Array | null;
}

/** The timestamp by which a server uses its own time. */
export const SERVER_TIME = -1;

/** Milliseconds in Bigtable's form; exact beyond 2^53 microseconds too. */
export function toMicros(milliseconds: number): string {
  return milliseconds === 0 ? '0' : `${milliseconds}000`;
}

/** A time range; without an end if it is open. */
export function timesOf({ min, max }: TimeRange): TimestampRange {
  return {
    startTimestampMicros: toMicros(min),
    ...(max !== LATEST_TIMESTAMP && { endTimestampMicros: toMicros(max) }),
  };
}

/** Microseconds as milliseconds, rounded down; tables of Rowan have whole milliseconds. */
export function toMilliseconds(micros: string | number | null | undefined): number {
  if (typeof micros === 'string') return micros.length > 3 ? Number(micros.slice(0, -3)) : 0;
  return Math.floor((micros ?? 0) / 1000);
}

/** Applies the filters in sequence. */
export function chain(...filters: readonly RowFilter[]): RowFilter {
  return filters.length === 1 ? filters[0]! : { chain: { filters } };
}

/** Passes whatever any of the filters passes. */
export function interleave(filters: readonly RowFilter[]): RowFilter {
  return filters.length === 1 ? filters[0]! : { interleave: { filters } };
}

/** One column, by its bytes. */
export function column(familyName: string, qualifier: Uint8Array): RowFilter {
  return {
    columnRangeFilter: { familyName, startQualifierClosed: qualifier, endQualifierClosed: qualifier },
  };
}

/** All columns of a family. */
export function wholeFamily(familyName: string): RowFilter {
  return { columnRangeFilter: { familyName, startQualifierClosed: EMPTY_BYTES } };
}

/** The rows with this prefix. */
export function prefixRange(prefix: Uint8Array): RowRange {
  const end = prefixEnd(prefix);
  return { startKeyClosed: prefix, ...(end && { endKeyOpen: end }) };
}
