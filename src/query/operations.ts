/** What a database tells of its operations: listeners, and Node's diagnostics_channel. */

import { channel } from 'node:diagnostics_channel';
import { literalOf } from '../table/checks.js';
import type { QueryExplanation } from './explanation.js';
import type { ReadTally } from './row.js';

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

/** What was asked: as queries run, and reads and writes of rows by their keys. */
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

/** One operation of a repository or query: what is known when it begins, and its figures when it has ended. */
export interface OperationEvent {
  readonly operation: OperationName;
  /** `embedded` or `hbase`. */
  readonly engine: string;
  readonly table: string;
  readonly entities: readonly string[];
  /** How the rows are found: by one key, by several, by ranges, by the whole table. */
  readonly plan: QueryExplanation['kind'];
  /** The index that the rows are found by, if any. */
  readonly index: string | undefined;
  /** Byte ranges, or rows named by their keys. */
  readonly ranges: number;
  /** Rows that were read so far, entries of indexes with them, or changed. */
  readonly rows: number;
  /** Bytes of the values that were read or written so far. */
  readonly bytes: number;
  /** How often a write was decided on: more than once when others wrote its row at the same time. */
  readonly attempts: number;
  /** From its start to its end; 0 until then. */
  readonly milliseconds: number;
  /** What it threw. */
  readonly error: unknown;
  /** What is asked for, as text; `?` in the place of each value unless they are asked for. */
  conditions(options?: { readonly values?: boolean }): string;
  /** The whole plan; undefined of what is no query. */
  explain(): QueryExplanation | undefined;
}

/** Called with every operation that has ended; what it throws is not looked at. */
export type OperationListener = (event: OperationEvent) => void;

/** Who is told when operations begin, too. */
export interface OperationWatcher {
  begun?(event: OperationEvent): void;
  ended(event: OperationEvent): void;
}

/** How a value stands in a text. */
export type Literal = (value: unknown) => string;

const REDACTED: Literal = () => '?';

const BEGUN = channel('rowan-orm:operation:start');
const ENDED = channel('rowan-orm:operation:end');

/** What an operation is made of. */
export interface OperationStart {
  readonly operation: OperationName;
  readonly table: string;
  readonly entities: readonly string[];
  readonly ranges: number;
  readonly plan: () => { readonly kind: QueryExplanation['kind']; readonly index: string | undefined };
  readonly conditions: (literal: Literal) => string;
  readonly explain?: () => QueryExplanation;
}

/** The operations of one database. Nobody is told of anything until somebody listens; then nothing is made of it either. */
export class Operations {
  private readonly watchers = new Set<OperationWatcher>();
  private isWatched = false;

  constructor(
    readonly engine: string,
    private readonly onQuery?: QueryListener,
  ) {}

  /** Whether anybody is told of every operation. */
  get heard(): boolean {
    return this.isWatched || ENDED.hasSubscribers || BEGUN.hasSubscribers;
  }

  /** Whether anybody is told of queries. */
  get queriesHeard(): boolean {
    return this.onQuery !== undefined || this.heard;
  }

  /** Answers what ends it. */
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

  /** Called by the operation. */
  ended(running: RunningOperation): void {
    const { onQuery } = this;
    if (onQuery !== undefined && running.isQuery()) heedless(() => onQuery(running));
    this.tell(ENDED, running, (watcher) => watcher.ended(running));
  }

  private tell(told: typeof BEGUN, event: OperationEvent, call: (watcher: OperationWatcher) => void): void {
    if (told.hasSubscribers) told.publish(event);
    for (const watcher of this.watchers) heedless(() => call(watcher));
  }
}

/** A listener's own error is not the operation's. */
function heedless(call: () => void): void {
  try {
    call();
  } catch {
    // As it was said to listeners.
  }
}

/** An operation under way; the readings that it consists of count into it. */
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

  /** Of rows named by their keys there is no plan to explain. */
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

  /** To be called once. */
  end(error?: unknown): void {
    this.milliseconds = performance.now() - this.began;
    this.error = error;
    this.operations.ended(this);
  }

  /** Ends with the promise, and answers what it answers. */
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
