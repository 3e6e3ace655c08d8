/** What is told of queries that were run. */

import type { QueryExplanation } from './explanation.js';

/** How a query was asked to run. */
export type QueryOperation = 'all' | 'first' | 'page' | 'count' | 'exists' | 'iterate' | 'aggregate';

/** One query that was run to its end, or to its error. */
export interface QueryEvent {
  readonly operation: QueryOperation;
  readonly table: string;
  readonly entities: readonly string[];
  /** Byte ranges of the plan. */
  readonly ranges: number;
  /** Rows that the table gave; more than were handed out where conditions are decided here. */
  readonly rows: number;
  /** Bytes of the values of those rows. */
  readonly bytes: number;
  /** From the start of the first reading to the end of the last, in ms; of a stream with what its reader did between. */
  readonly milliseconds: number;
  readonly error: unknown;
  /** The whole plan; made when it is asked for. */
  explain(): QueryExplanation;
}

/** Called with every event; what it throws is not looked at. */
export type QueryListener = (event: QueryEvent) => void;

/** A listener that writes a line for each query that took `slowerThan` ms or more (default 0: every one). */
export function queryLogger(
  write: (line: string) => void,
  options: { readonly slowerThan?: number } = {},
): QueryListener {
  const { slowerThan = 0 } = options;
  return (event) => {
    if (event.milliseconds < slowerThan) return;
    const { operation, table, entities, ranges, rows, bytes, milliseconds, error } = event;
    const outcome =
      error === undefined ? '' : ` failed: ${error instanceof Error ? error.message : String(error)}`;
    write(
      `${operation} ${entities.join('+')} on ${table}: ${ranges} ranges, ${rows} rows, ${bytes} bytes, ${milliseconds.toFixed(1)} ms${outcome}`,
    );
  };
}
