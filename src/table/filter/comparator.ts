/** How filters and checks compare (HBase `CompareOperator` and `filter/*Comparator`). */

export type CompareOperator =
  | 'LESS'
  | 'LESS_OR_EQUAL'
  | 'EQUAL'
  | 'NOT_EQUAL'
  | 'GREATER_OR_EQUAL'
  | 'GREATER'
  | 'NO_OP';

/** What a cell's bytes are compared with. All but `binary`, `binaryPrefix` and `long` go only with (not) equal. */
export type Comparator =
  | { readonly kind: 'binary'; readonly value: Uint8Array }
  | { readonly kind: 'binaryPrefix'; readonly value: Uint8Array }
  /** The bytes from `offset` on, as many as `value` has (`BinaryComponentComparator`). */
  | { readonly kind: 'binaryComponent'; readonly value: Uint8Array; readonly offset: number }
  /** An 8-byte big-endian signed integer (`LongComparator`). */
  | { readonly kind: 'long'; readonly value: bigint }
  | { readonly kind: 'bit'; readonly value: Uint8Array; readonly operator: 'AND' | 'OR' | 'XOR' }
  /** Equal when the bytes are absent (`NullComparator`). */
  | { readonly kind: 'null' }
  /** Finds `pattern` anywhere in the bytes, read as UTF-8 (`RegexStringComparator`). */
  | { readonly kind: 'regex'; readonly pattern: string; readonly flags: string }
  /** Finds the text anywhere, lower case against lower case (`SubstringComparator`). */
  | { readonly kind: 'substring'; readonly value: string };
