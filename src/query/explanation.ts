/** The explanation of a query, as stable JSON and as text. */

import { QueryError } from '../errors.js';

/** Stable codes of {@link ExplainWarning}. */
export type ExplainWarningCode =
  | 'FULL_SCAN'
  | 'FAN_OUT'
  | 'UNORDERED'
  | 'LOCAL_FILTER'
  | 'SORTED_HERE'
  | 'READS_WHOLE_ROWS'
  | 'TIME_TRAVEL'
  | 'NO_ID';

export interface ExplainWarning {
  readonly code: ExplainWarningCode;
  /** The cost and a remedy. */
  readonly message: string;
}

export interface ExplainRange {
  /** Hex, inclusive. Empty: the start of the table. */
  readonly start: string;
  /** Hex, exclusive. Null: the end of the table. */
  readonly stop: string | null;
  /** As HBase prints bytes: ASCII, otherwise `\\xHH`. */
  readonly printed: string;
}

/** The result of `explain()`. Its fields are public and stable: tests may compare snapshots. */
export interface QueryExplanation {
  readonly kind: 'point' | 'points' | 'range' | 'ranges' | 'full';
  readonly entities: readonly string[];
  readonly table: string;
  /** The conditions on the key, e.g. `customerId = "a"`; empty when there are none. */
  readonly key: string;
  readonly ranges: readonly ExplainRange[];
  /** Salts or buckets from which each logical range is read. */
  readonly fanOut: number;
  /**
   * `key`: logical key order as read; `merge`: ranges are merged into it; `none`: byte order of digests or reversed
   * parts.
   */
  readonly order: 'key' | 'merge' | 'none';
  readonly direction: 'forward' | 'reverse';
  readonly filters: {
    /** Evaluated by the engine, before rows are sent. */
    readonly pushed: readonly string[];
    /** Evaluated by Rowan, after rows were read. */
    readonly local: readonly string[];
  };
  /** Families read whole, or the columns read of them. */
  readonly reads: Readonly<Record<string, 'all' | readonly string[]>>;
  readonly limit: number | null;
  /** Whether each range stops after `limit` rows. */
  readonly limitPushed: boolean;
  /** The most rows that can be read, if the plan bounds them. */
  readonly maxRows: number | null;
  /** Only cells with timestamps in [min, max). Null: all; a null max: no upper bound. */
  readonly timeRange: { readonly min: number; readonly max: number | null } | null;
  readonly warnings: readonly ExplainWarning[];
  /** The index that is used; the ranges are those of its entries. Absent: none. */
  readonly index?: ExplainedIndex;
  /** Indexes considered for `where`, and why the key is read instead. Absent where there are none. */
  readonly unused?: readonly { readonly name: string; readonly why: string }[];
  /** How the relations named by `with` are read. Absent without it. */
  readonly related?: readonly RelationExplanation[];
}

/** How a relation of the rows is read. */
export interface RelationExplanation {
  readonly property: string;
  /** The related entity. */
  readonly entity: string;
  readonly kind: 'one' | 'many';
  /** How the related rows are found: `part = property`. */
  readonly by: string;
  readonly join: 'lookup' | 'hash';
  readonly reads: string;
}

/** The index of an explanation. */
export interface ExplainedIndex {
  readonly name: string;
  /** The table of its entries. */
  readonly table: string;
  /** Whether the entries cover the query. */
  readonly covered: boolean;
  /** Rows that are read: 0 if covered, null if unbounded; otherwise at most one for each entry. */
  readonly lookups: number | null;
  readonly why: string;
  /** The other indexes of the entity, and why they were not used or what they would cost. */
  readonly others: readonly { readonly name: string; readonly why: string }[];
}

/** An explanation that `String(…)` formats as text. */
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

/** The same explanation, with those of the relations. */
export function explainedWith(query: QueryExplanation, related: readonly RelationExplanation[]): Explanation {
  return new Explanation({ ...query, related });
}

/** The explanation as a few lines of text. */
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

/** What consoles print of a query: that nothing is read, and its plan, or why it has none. */
export function printedQuery(query: { explain(): Explanation }): string {
  let plan: string;
  try {
    plan = String(query.explain());
  } catch (error) {
    plan = (error as Error).message;
  }
  return `A query, which has read nothing yet: await its all(), first() or page().\n${plan}`;
}

/** The refusal of a query as JSON, where its rows are meant. */
export function unreadQuery(): QueryError {
  return new QueryError(
    'JSON.stringify got a query, which has read nothing yet. Give it the rows: await query.all().',
  );
}
