/** `Filter.proto`, `Comparator.proto`. */

import { BytesBytesPair } from './messages-rpc.js';
import {
  bool,
  bytes,
  float,
  int32,
  int64,
  message,
  nested,
  packed,
  repeated,
  required,
  string,
  uint32,
} from './schema.js';

/** A comparator or filter: its Java class and its message. */
export const Named = message('Filter', { name: required(string(1)), serialized: bytes(2) });

const comparator = nested(2, Named);

export const ByteArrayComparable = message('ByteArrayComparable', { value: bytes(1) });
/** Also `BinaryPrefixComparator` and `LongComparator`. */
export const BinaryComparator = message('BinaryComparator', {
  comparable: required(nested(1, ByteArrayComparable)),
});
export const BinaryComponentComparator = message('BinaryComponentComparator', {
  value: required(bytes(1)),
  offset: required(uint32(2)),
});
export const BitComparator = message('BitComparator', {
  comparable: required(nested(1, ByteArrayComparable)),
  bitwiseOp: required(int32(2)),
});
export const SubstringComparator = message('SubstringComparator', { substr: required(string(1)) });
export const RegexStringComparator = message('RegexStringComparator', {
  pattern: required(string(1)),
  patternFlags: required(int32(2)),
  charset: required(string(3)),
  engine: string(4),
});

export const CompareFilter = message('CompareFilter', { compareOp: required(int32(1)), comparator });
/** `RowFilter`, `FamilyFilter`, `QualifierFilter`, `ValueFilter`. */
export const ComparingFilter = message('ComparingFilter', {
  compareFilter: required(nested(1, CompareFilter)),
});
export const PrefixFilter = message('PrefixFilter', { prefix: bytes(1) });
export const SingleColumnValueFilter = message('SingleColumnValueFilter', {
  family: bytes(1),
  qualifier: bytes(2),
  compareOp: required(int32(3)),
  comparator: required(nested(4, Named)),
  filterIfMissing: bool(5),
  latestVersionOnly: bool(6),
});
export const SingleColumnValueExcludeFilter = message('SingleColumnValueExcludeFilter', {
  filter: required(nested(1, SingleColumnValueFilter)),
});
export const ColumnValueFilter = message('ColumnValueFilter', {
  family: required(bytes(1)),
  qualifier: required(bytes(2)),
  compareOp: required(int32(3)),
  comparator: required(nested(4, Named)),
});
export const DependentColumnFilter = message('DependentColumnFilter', {
  compareFilter: required(nested(1, CompareFilter)),
  family: bytes(2),
  qualifier: bytes(3),
  dropDependentColumn: bool(4),
});
export const ColumnRangeFilter = message('ColumnRangeFilter', {
  minColumn: bytes(1),
  minInclusive: bool(2),
  maxColumn: bytes(3),
  maxInclusive: bool(4),
});
export const MultipleColumnPrefixFilter = message('MultipleColumnPrefixFilter', {
  prefixes: repeated(bytes(1)),
});
export const ColumnPaginationFilter = message('ColumnPaginationFilter', {
  limit: required(int32(1)),
  offset: int32(2),
  columnOffset: bytes(3),
});
export const ColumnCountGetFilter = message('ColumnCountGetFilter', { limit: required(int32(1)) });
export const PageFilter = message('PageFilter', { pageSize: required(int64(1)) });
export const KeyOnlyFilter = message('KeyOnlyFilter', { lengthAsValue: required(bool(1)) });
export const InclusiveStopFilter = message('InclusiveStopFilter', { stopRow: bytes(1) });
export const FuzzyRowFilter = message('FuzzyRowFilter', {
  pairs: repeated(nested(1, BytesBytesPair)),
  isMaskV2: bool(2),
});
export const RowRangeMessage = message('RowRange', {
  startRow: bytes(1),
  startInclusive: bool(2),
  stopRow: bytes(3),
  stopInclusive: bool(4),
});
export const MultiRowRangeFilter = message('MultiRowRangeFilter', {
  ranges: repeated(nested(1, RowRangeMessage)),
});
export const TimestampsFilter = message('TimestampsFilter', {
  timestamps: packed(int64(1)),
  canHint: bool(2),
});
export const RandomRowFilter = message('RandomRowFilter', { chance: required(float(1)) });
/** `SkipFilter`, `WhileMatchFilter`. */
export const WrappingFilter = message('WrappingFilter', { filter: required(nested(1, Named)) });
export const FilterListMessage = message('FilterList', {
  operator: required(int32(1)),
  filters: repeated(nested(2, Named)),
});
