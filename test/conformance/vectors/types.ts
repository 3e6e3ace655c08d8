/** The recorded sequences, as `vectors/README` of the recording describes them. */

type RecordedTime = number | 'now';
export type RecordedType = 'P' | 'D' | 'DC' | 'DF' | 'DFV';
/** Row, family, qualifier, timestamp, type, value; bytes are latin1. */
export type RecordedCell = readonly [string, string, string, RecordedTime, RecordedType, string];

interface RecordedFamily {
  readonly name: string;
  readonly versions: number;
  readonly minVersions: number;
  /** Seconds. */
  readonly ttl: number | null;
  readonly keepDeletedCells: 'FALSE' | 'TRUE' | 'TTL';
  readonly newVersionBehavior: boolean;
}

type RecordedOperator = 'LESS' | 'LESS_OR_EQUAL' | 'EQUAL' | 'NOT_EQUAL' | 'GREATER_OR_EQUAL' | 'GREATER';

export type RecordedFilter =
  | { readonly type: 'prefix' | 'columnPrefix'; readonly value: string }
  | {
      readonly type: 'row' | 'family' | 'qualifier' | 'value';
      readonly cmp: RecordedOperator;
      readonly value: string;
    }
  | {
      readonly type: 'columnRange';
      readonly min: string;
      readonly minInclusive: boolean;
      readonly max: string;
      readonly maxInclusive: boolean;
    }
  | { readonly type: 'firstKeyOnly' }
  | { readonly type: 'keyOnly'; readonly lenAsVal: boolean }
  | { readonly type: 'timestamps'; readonly timestamps: readonly number[] }
  | {
      readonly type: 'singleColumnValue';
      readonly family: string;
      readonly qualifier: string;
      readonly cmp: RecordedOperator;
      readonly value: string;
      readonly filterIfMissing: boolean;
      readonly latestVersionOnly: boolean;
    }
  | { readonly type: 'multipleColumnPrefix'; readonly values: readonly string[] }
  | { readonly type: 'inclusiveStop'; readonly row: string }
  | { readonly type: 'columnPagination'; readonly limit: number; readonly offset: number }
  | { readonly type: 'columnCount'; readonly limit: number }
  | { readonly type: 'page'; readonly size: number }
  | { readonly type: 'while' | 'skip'; readonly filter: RecordedFilter }
  | { readonly type: 'list'; readonly op: 'AND' | 'OR'; readonly filters: readonly RecordedFilter[] };

export interface RecordedQuery {
  readonly versions?: number | 'all';
  readonly timeRange?: readonly [number | null, number | null];
  readonly columns?: readonly (readonly [string, string])[];
  readonly families?: readonly string[];
  readonly filter?: RecordedFilter;
  readonly expect: readonly RecordedCell[];
}

type RecordedItem =
  | readonly ['column', string, string, number]
  | readonly ['columns', string, string, number]
  | readonly ['family', string, number]
  | readonly ['familyVersion', string, number]
  | readonly ['columnLatest', string, string];

export type RecordedMutation =
  | {
      readonly op: 'put';
      readonly row: string;
      readonly cells: readonly (readonly [string, string, number, string])[];
      readonly cellTtlMs?: number;
    }
  | { readonly op: 'delete'; readonly row: string; readonly items: readonly RecordedItem[] }
  | { readonly op: 'deleteRow'; readonly row: string; readonly ts: number };

export type RecordedStep =
  | RecordedMutation
  | { readonly op: 'mutateRow'; readonly row: string; readonly mutations: readonly RecordedMutation[] }
  | {
      readonly op: 'increment';
      readonly row: string;
      readonly family: string;
      readonly qualifier: string;
      readonly by: number;
      readonly expect: number;
    }
  | {
      readonly op: 'append';
      readonly row: string;
      readonly family: string;
      readonly qualifier: string;
      readonly value: string;
      readonly expect: string;
    }
  | {
      readonly op: 'check';
      readonly row: string;
      readonly family: string;
      readonly qualifier: string;
      readonly cmp: RecordedOperator | 'NOT_EXISTS';
      readonly value: string;
      readonly then: RecordedMutation;
      readonly expect: boolean;
    }
  | { readonly op: 'flush' | 'major' }
  | ({ readonly op: 'get'; readonly row: string } & RecordedQuery)
  | ({
      readonly op: 'scan';
      readonly start: string;
      readonly startInclusive: boolean;
      readonly stop: string;
      readonly stopInclusive: boolean;
      readonly raw?: boolean;
      readonly reversed?: boolean;
      readonly limit?: number;
    } & RecordedQuery);

export interface RecordedSequence {
  /** "seed.group.number". */
  readonly id: string;
  readonly mode: 'plain' | 'kdc' | 'ttl' | 'kdcttl';
  /** Seconds that timestamp i lies back; null: timestamps are themselves. */
  readonly ages: readonly number[] | null;
  readonly families: readonly RecordedFamily[];
  readonly steps: readonly RecordedStep[];
}
