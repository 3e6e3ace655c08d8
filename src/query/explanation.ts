/** Explains what a query will do, as stable JSON and as text. Needs no server and reads nothing. */

/** Stable codes of {@link ExplainWarning}. */
export type ExplainWarningCode =
  | 'FULL_SCAN'
  | 'FAN_OUT'
  | 'UNORDERED'
  | 'LOCAL_FILTER'
  | 'SORTED_HERE'
  | 'READS_WHOLE_ROWS'
  | 'TIME_TRAVEL';

export interface ExplainWarning {
  readonly code: ExplainWarningCode;
  /** Its cost, and a remedy. */
  readonly message: string;
}

export interface ExplainRange {
  /** Hex; inclusive. Empty: the start of the table. */
  readonly start: string;
  /** Hex; exclusive. Null: the end of the table. */
  readonly stop: string | null;
  /** The same as HBase prints bytes, `\xHH` but for plain ASCII. */
  readonly printed: string;
}

/** The answer of `explain()`. Its fields are part of the public interface: tests may hold snapshots of them. */
export interface QueryExplanation {
  readonly kind: 'point' | 'points' | 'range' | 'ranges' | 'full';
  readonly entities: readonly string[];
  readonly table: string;
  /** The conditions on the key, e.g. `customerId = "a"`; empty when there are none. */
  readonly key: string;
  readonly ranges: readonly ExplainRange[];
  /** Salts or buckets that each logical range is read from. */
  readonly fanOut: number;
  /** `key`: logical key order as read; `merge`: ranges are merged into it; `none`: byte order of digests and of what is kept reversed. */
  readonly order: 'key' | 'merge' | 'none';
  readonly direction: 'forward' | 'reverse';
  readonly filters: {
    /** Decided by the engine, before rows travel. */
    readonly pushed: readonly string[];
    /** Decided here, after rows were read. */
    readonly local: readonly string[];
  };
  /** Families read whole, or the columns read of a family. */
  readonly reads: Readonly<Record<string, 'all' | readonly string[]>>;
  readonly limit: number | null;
  /** Whether each range stops after `limit` rows. */
  readonly limitPushed: boolean;
  /** The most rows that can be read, where the plan bounds them. */
  readonly maxRows: number | null;
  /** Only cells of these times, [min, max). Null: all; a null max: no upper bound. */
  readonly timeRange: { readonly min: number; readonly max: number | null } | null;
  readonly warnings: readonly ExplainWarning[];
  /** The index that the query is answered from; its ranges are those of entries. Absent: none is used. */
  readonly index?: ExplainedIndex;
  /** Indexes that were looked at for `where`, and why the key is read instead; absent where there are none. */
  readonly unused?: readonly { readonly name: string; readonly why: string }[];
  /** How the relations that `with` named are read; absent without it. */
  readonly related?: readonly RelationExplanation[];
}

/** How the rows of a query are given one of their relations. */
export interface RelationExplanation {
  readonly property: string;
  /** The other entity. */
  readonly entity: string;
  readonly kind: 'one' | 'many';
  /** Which of the others: `part = property`. */
  readonly by: string;
  readonly join: 'lookup' | 'hash';
  readonly reads: string;
}

/** An index in an explanation. */
export interface ExplainedIndex {
  readonly name: string;
  /** The table of its entries. */
  readonly table: string;
  /** Whether the entries say all that is asked for. */
  readonly covered: boolean;
  /** Rows that are looked up: 0 where it is covered, null where nothing bounds them; else at most one for each entry. */
  readonly lookups: number | null;
  readonly why: string;
  /** The other indexes of the entity, and why they were not taken or what they would cost. */
  readonly others: readonly { readonly name: string; readonly why: string }[];
}

/** An explanation that prints as text with `String(…)`. */
export class Explanation implements QueryExplanation {
  declare readonly kind: QueryExplanation['kind'];
  declare readonly entities: readonly string[];
  declare readonly table: string;
  declare readonly key: string;
  declare readonly ranges: readonly ExplainRange[];
  declare readonly fanOut: number;
  declare readonly order: QueryExplanation['order'];
  declare readonly direction: QueryExplanation['direction'];
  declare readonly filters: QueryExplanation['filters'];
  declare readonly reads: QueryExplanation['reads'];
  declare readonly limit: number | null;
  declare readonly limitPushed: boolean;
  declare readonly maxRows: number | null;
  declare readonly timeRange: QueryExplanation['timeRange'];
  declare readonly warnings: readonly ExplainWarning[];
  declare readonly related?: readonly RelationExplanation[];
  declare readonly index?: ExplainedIndex;
  declare readonly unused?: readonly { readonly name: string; readonly why: string }[];

  constructor(explanation: QueryExplanation) {
    Object.assign(this, explanation);
    Object.freeze(this);
  }

  toString(): string {
    return explanationText(this);
  }
}

/** The same query, and how its rows are given their relations. */
export function explainedWith(query: QueryExplanation, related: readonly RelationExplanation[]): Explanation {
  return new Explanation({ ...query, related });
}

/** The explanation as a few lines. */
export function explanationText(explanation: QueryExplanation): string {
  const { kind, entities, table, key, ranges, fanOut, order, direction, filters, limit } = explanation;
  const lines = [`${kind} on ${table} for ${entities.join(', ')}${key === '' ? '' : ` where ${key}`}`];
  const shown = ranges.length <= 4 ? ranges : [...ranges.slice(0, 2), undefined, ranges.at(-1)!];
  for (const range of shown) {
    lines.push(range === undefined ? `  … ${ranges.length - 3} more` : `  range  ${range.printed}`);
  }
  const { index } = explanation;
  if (index !== undefined) {
    const rows = index.covered ? 'no row is looked up' : 'each entry is looked up';
    lines.push(`  index  ${index.name} in ${index.table}, ${rows}: ${index.why}`);
    for (const other of index.others) lines.push(`         not ${other.name}: ${other.why}`);
  }
  for (const { name, why } of explanation.unused ?? []) lines.push(`  index  not ${name}: ${why}`);
  lines.push(`  order  ${order}, ${direction}${fanOut > 1 ? `, fan-out ${fanOut}` : ''}`);
  const reads = Object.entries(explanation.reads).map(([family, columns]) =>
    columns === 'all' ? `${family}:*` : columns.map((column) => `${family}:${column}`).join(' '),
  );
  if (reads.length > 0) lines.push(`  reads  ${reads.join(' ')}`);
  if (filters.pushed.length > 0) lines.push(`  pushed ${filters.pushed.join(' and ')}`);
  if (filters.local.length > 0) lines.push(`  local  ${filters.local.join(' and ')}`);
  if (limit !== null)
    lines.push(`  limit  ${limit}${explanation.limitPushed ? ', pushed to each range' : ''}`);
  if (explanation.maxRows !== null) lines.push(`  rows   at most ${explanation.maxRows}`);
  if (explanation.timeRange !== null) {
    lines.push(`  times  [${explanation.timeRange.min}, ${explanation.timeRange.max ?? 'now'})`);
  }
  for (const { property, entity, by, reads } of explanation.related ?? []) {
    lines.push(`  with   ${property}: ${entity} where ${by}; ${reads}`);
  }
  for (const warning of explanation.warnings) lines.push(`  ! ${warning.code}: ${warning.message}`);
  return lines.join('\n');
}
