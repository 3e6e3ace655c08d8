/** The filters of HBase (`org.apache.hadoop.hbase.filter`) as plain, frozen data; engines evaluate or ship them. */

import type { Comparator, CompareOperator } from './comparator.js';

interface Compare {
  readonly operator: CompareOperator;
  readonly comparator: Comparator;
}

interface ColumnCompare extends Compare {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/** A row or family range of bytes; a missing end is open. */
export interface RowRange {
  readonly startRow: Uint8Array;
  readonly startInclusive: boolean;
  readonly stopRow: Uint8Array;
  readonly stopInclusive: boolean;
}

export type Filter =
  | ({ readonly kind: 'row' } & Compare)
  | ({ readonly kind: 'family' } & Compare)
  | ({ readonly kind: 'qualifier' } & Compare)
  | ({ readonly kind: 'value' } & Compare)
  | { readonly kind: 'prefix'; readonly prefix: Uint8Array }
  | ({
      readonly kind: 'singleColumnValue';
      readonly filterIfMissing: boolean;
      readonly latestVersionOnly: boolean;
    } & ColumnCompare)
  | ({
      readonly kind: 'singleColumnValueExclude';
      readonly filterIfMissing: boolean;
      readonly latestVersionOnly: boolean;
    } & ColumnCompare)
  /** Passes the cells of one column that compare; other columns are dropped (`ColumnValueFilter`). */
  | ({ readonly kind: 'columnValue' } & ColumnCompare)
  | {
      readonly kind: 'dependentColumn';
      readonly family: string;
      readonly qualifier: Uint8Array;
      readonly dropDependentColumn: boolean;
      /** With a comparison only the cells of the reference column that pass it count. */
      readonly compare: Compare | null;
    }
  /** An absent (null) end is open. */
  | {
      readonly kind: 'columnRange';
      readonly minColumn: Uint8Array | null;
      readonly minInclusive: boolean;
      readonly maxColumn: Uint8Array | null;
      readonly maxInclusive: boolean;
    }
  | { readonly kind: 'columnPrefix'; readonly prefix: Uint8Array }
  | { readonly kind: 'multipleColumnPrefix'; readonly prefixes: readonly Uint8Array[] }
  /** `columnOffset` gives the first column instead of `offset` when it is not null. */
  | {
      readonly kind: 'columnPagination';
      readonly limit: number;
      readonly offset: number;
      readonly columnOffset: Uint8Array | null;
    }
  | { readonly kind: 'columnCount'; readonly limit: number }
  | { readonly kind: 'page'; readonly pageSize: number }
  | { readonly kind: 'keyOnly'; readonly lengthAsValue: boolean }
  | { readonly kind: 'firstKeyOnly' }
  | { readonly kind: 'inclusiveStop'; readonly stopRow: Uint8Array }
  /** In a mask 0 is a byte that must be equal and 1 one that may be any. */
  | {
      readonly kind: 'fuzzyRow';
      readonly pairs: readonly { readonly row: Uint8Array; readonly mask: Uint8Array }[];
    }
  | { readonly kind: 'multiRowRange'; readonly ranges: readonly RowRange[] }
  | { readonly kind: 'timestamps'; readonly timestamps: readonly number[]; readonly canHint: boolean }
  /** Passes each row with this chance, 0..1. */
  | { readonly kind: 'random'; readonly chance: number }
  /** Ends the scan at the first cell or row that the inner filter drops. */
  | { readonly kind: 'while'; readonly filter: Filter }
  /** Drops the whole row when the inner filter drops a cell of it. */
  | { readonly kind: 'skip'; readonly filter: Filter }
  | {
      readonly kind: 'list';
      readonly operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE';
      readonly filters: readonly Filter[];
    };

/** The filter's discriminant. */
export type FilterKind = Filter['kind'];
