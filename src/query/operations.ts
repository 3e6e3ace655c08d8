/** Events about the operations of a database: for listeners, and for Node's diagnostics_channel. */

import { channel } from 'node:diagnostics_channel';
import { literalOf } from '../table/checks.js';
import type { QueryExplanation } from './explanation.js';
import type { ReadTally } from './row.js';

/** The ways to run a query. */
export type QueryOperation = 'all' | 'first' | 'page' | 'count' | 'exists' | 'iterate' | 'aggregate';

/** A finished or failed query. */
export interface QueryEvent {
  readonly operation: QueryOperation;
  readonly table: string;
  readonly entities: readonly string[];
  /** Byte ranges in the plan. */
  readonly ranges: number;
  /** Rows read from the table; more than returned where Rowan evaluates conditions. */
  readonly rows: number;
  /** Bytes of the values in those rows. */
  readonly bytes: number;
  /**
   * From the start of the first reading to the end of the last, in ms. For a stream, includes the time of its
   * consumer.
   */
  readonly milliseconds: number;
  readonly error: unknown;
  /** The whole plan, built on demand. */
  explain(): QueryExplanation;
}

/** Called with every event. Its errors are ignored. */
export type QueryListener = (event: QueryEvent) => void;

/** A listener that writes a line for each query that took at least `slowerThan` ms (default 0). */
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

/** The kinds of operations: queries, and reads and writes of rows by key. */
export type OperationName =
  | QueryOperation
  | 'get'
  | 'getMany'
  | 'put'
  | 'insert'
  | 'replace'
  | 'update'
  | 'delete'
  | 'mutate'
  | 'batch';

/** One operation of a repository or query. Its figures are final when it has ended. */
export interface OperationEvent {
  readonly operation: OperationName;
  /** `embedded` or `hbase`. */
  readonly engine: string;
  readonly table: string;
  readonly entities: readonly string[];
  /** How rows are found: by one key, several keys, ranges, or the whole table. */
  readonly plan: QueryExplanation['kind'];
  /** The index that is used, if any. */
  readonly index: string | undefined;
  /** Byte ranges, or rows given by key. */
  readonly ranges: number;
  /** Rows read (including index entries) or changed so far. */
  readonly rows: number;
  /** Bytes of the values read or written so far. */
  readonly bytes: number;
  /** How often a write was attempted: more than once if others wrote its row at the same time. */
  readonly attempts: number;
  /** Duration; 0 until it has ended. */
  readonly milliseconds: number;
  /** The thrown error. */
  readonly error: unknown;
  /** The conditions as text, with `?` for values unless `values` is set. */
  conditions(options?: { readonly values?: boolean }): string;
  /** The whole plan. Undefined for operations that are no query. */
  explain(): QueryExplanation | undefined;
}

/** Called with every finished operation. Its errors are ignored. */
export type OperationListener = (event: OperationEvent) => void;

/** Receives the start of operations, too. */
export interface OperationWatcher {
  begun?(event: OperationEvent): void;
  ended(event: OperationEvent): void;
}

/** Formats a value in a text. */
export type Literal = (value: unknown) => string;

const REDACTED: Literal = () => '?';

const BEGUN = channel('rowan-orm:operation:start');
const ENDED = channel('rowan-orm:operation:end');

/** The description of an operation at its start. */
interface OperationStart {
  readonly operation: OperationName;
  readonly table: string;
  readonly entities: readonly string[];
  readonly ranges: number;
  readonly plan: () => { readonly kind: QueryExplanation['kind']; readonly index: string | undefined };
  readonly conditions: (literal: Literal) => string;
  readonly explain?: () => QueryExplanation;
}

/** The operations of one database. Without listeners no event is built. */
export class Operations {
  private readonly watchers = new Set<OperationWatcher>();
  private isWatched = false;

  constructor(
    readonly engine: string,
    private readonly onQuery?: QueryListener,
  ) {}

  /** Whether there is a listener of all operations. */
  get hasListeners(): boolean {
    return this.isWatched || ENDED.hasSubscribers || BEGUN.hasSubscribers;
  }

  /** Whether there is a listener of queries. */
  get hasQueryListeners(): boolean {
    return this.onQuery !== undefined || this.hasListeners;
  }

  /** Adds a watcher. @returns a function that removes it. */
  watch(watcher: OperationWatcher): () => void {
    this.watchers.add(watcher);
    this.isWatched = true;
    return () => {
      this.watchers.delete(watcher);
      this.isWatched = this.watchers.size > 0;
    };
  }

  begin(start: OperationStart): RunningOperation {
    const running = new RunningOperation(this, start);
    this.tell(BEGUN, running, (watcher) => watcher.begun?.(running));
    return running;
  }

  /** Called by the operation at its end. */
  ended(running: RunningOperation): void {
    const { onQuery } = this;
    if (onQuery !== undefined && running.isQuery()) ignoringErrors(() => onQuery(running));
    this.tell(ENDED, running, (watcher) => watcher.ended(running));
  }

  private tell(events: typeof BEGUN, event: OperationEvent, call: (watcher: OperationWatcher) => void): void {
    if (events.hasSubscribers) events.publish(event);
    for (const watcher of this.watchers) ignoringErrors(() => call(watcher));
  }
}

/** Errors of listeners do not affect the operation. */
function ignoringErrors(call: () => void): void {
  try {
    call();
  } catch {
    // Documented for listeners.
  }
}

/** A running operation. Its readings add to its figures. */
export class RunningOperation implements OperationEvent, ReadTally {
  rows = 0;
  bytes = 0;
  attempts = 1;
  milliseconds = 0;
  error: unknown;
  readonly operation: OperationName;
  readonly table: string;
  readonly entities: readonly string[];
  readonly ranges: number;
  private readonly began = performance.now();

  constructor(
    private readonly operations: Operations,
    private readonly start: OperationStart,
  ) {
    const { operation, table, entities, ranges } = start;
    this.operation = operation;
    this.table = table;
    this.entities = entities;
    this.ranges = ranges;
  }

  get engine(): string {
    return this.operations.engine;
  }

  /** Operations on rows given by key have no plan. */
  isQuery(): this is QueryEvent {
    return this.start.explain !== undefined;
  }

  get plan(): QueryExplanation['kind'] {
    return this.start.plan().kind;
  }

  get index(): string | undefined {
    return this.start.plan().index;
  }

  conditions({ values = false }: { readonly values?: boolean } = {}): string {
    return this.start.conditions(values ? literalOf : REDACTED);
  }

  explain(): QueryExplanation {
    return this.start.explain?.() as QueryExplanation;
  }

  /** Ends the operation. Call once. */
  end(error?: unknown): void {
    this.milliseconds = performance.now() - this.began;
    this.error = error;
    this.operations.ended(this);
  }

  /** Ends the operation with the promise, and passes on its result. */
  async follow<T>(work: (running: this) => Promise<T>): Promise<T> {
    let value: T;
    try {
      value = await work(this);
    } catch (error) {
      this.end(error);
      throw error;
    }
    this.end();
    return value;
  }
}
