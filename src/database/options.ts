import type { EnsuredTables } from '../ddl/index.js';
import { InvalidArgumentError, type RowanError } from '../errors.js';
import type { HBaseEvent } from '../hbase/index.js';
import type { HBaseOptions } from '../hbase/options.js';
import { compileSchema } from '../mapper/index.js';
import {
  checkReadSettings,
  type OperationListener,
  type Reading,
  type ReadSettings,
} from '../query/index.js';
import type { EntitySubscriber, LintFinding, Schema } from '../schema/index.js';
import type { EntityClass } from '../schema/types.js';
import type { StoreEvent } from '../store/events.js';
import type { EmbeddedOptions } from '../store/options.js';
import { describe, isList } from '../table/checks.js';
import type { TelemetryApi } from '../table/telemetry.js';
import { type LogOptions, logOf } from './operation-log.js';

/** Options of opening a database, with their checks. */

/**
 * How the declared tables are handled at opening. `create`: missing ones are created, others checked. `verify`: a
 * missing or contradicting one is an error. `ignore`: nothing is done.
 */
export type TableHandling = 'create' | 'verify' | 'ignore';

export interface DatabaseOptions extends ReadSettings {
  /** The entity classes, each with `@Entity`. */
  readonly entities: readonly EntityClass[];
  readonly tables?: TableHandling;
  /** Hooks outside of the entities (docs/entity-hooks.md). Default: none. */
  readonly subscribers?: readonly EntitySubscriber[] | undefined;
  /**
   * Logs a line for each operation: conditions without values, plan, ranges, rows, bytes and time. `true`: all of
   * them, to standard error. Default: none.
   */
  readonly log?: boolean | LogOptions | undefined;
}

/** Emitted after opening: the tables that were created, and options that differ from the declarations. */
export interface TablesEvent extends EnsuredTables {
  readonly kind: 'tables';
}

/**
 * Emitted when a background write failed: of copies, or of entries of eventual indexes. It is retried with the next
 * write, or at the next opening; on HBase and Bigtable also after 30 seconds, and then later each time.
 */
export interface OutboxEvent {
  readonly kind: 'outbox';
  readonly error: RowanError;
}

/** The event of lint's findings at opening: declarations that are costly in nearly every program (docs/lint.md). */
export interface LintEvent {
  readonly kind: 'lint';
  readonly findings: readonly LintFinding[];
}

/** Options of `open`. Tables are created by default. */
export interface OpenOptions extends DatabaseOptions, EmbeddedOptions {
  /** The folder of the store. Created if it does not exist. */
  readonly path: string;
  /**
   * The module `@opentelemetry/api`: a span for each operation, and metrics of the store (docs/observing.md).
   * Default: none.
   */
  readonly telemetry?: TelemetryApi;
  /** Receives events: tables created or different, flushes, compactions, splits, stalls and corruption. */
  readonly onEvent?: (event: StoreEvent | TablesEvent | LintEvent | OutboxEvent) => void;
  /**
   * Opens the store read-only, beside the process that has it open or without one: takes no lock, writes nothing, and
   * refuses every write (docs/storage.md). Tables are checked, not created. Default false.
   */
  readonly readOnly?: boolean;
  /** With `readOnly`: milliseconds between automatic refreshes. Default: only by `engine.refresh()`. */
  readonly refreshEvery?: number;
}

/** Options of `connect`. By default tables are checked, not created. */
export interface ConnectOptions extends DatabaseOptions, Omit<HBaseOptions, 'onEvent'> {
  /** Receives events: tables created or different, connections, slow requests and retries. */
  readonly onEvent?: (event: HBaseEvent | TablesEvent | LintEvent | OutboxEvent) => void;
}

/** The options that every way of opening a database has. */
export const DATABASE_OPTIONS = {
  entities: true,
  tables: true,
  subscribers: true,
  onEvent: true,
  onQuery: true,
  cursorSecret: true,
  log: true,
} as const;

/** Every option. A missing one is a compiler error. */
export const OPEN_OPTIONS: Readonly<Record<keyof OpenOptions, true>> = {
  path: true,
  telemetry: true,
  ...DATABASE_OPTIONS,
  fileSystem: true,
  clock: true,
  maxClockSkew: true,
  random: true,
  durability: true,
  background: true,
  workerPath: true,
  memstoreFlushSize: true,
  memstoreLimit: true,
  blockCacheSize: true,
  maxOpenFiles: true,
  maxFileSize: true,
  walSegmentSize: true,
  maxWalSegments: true,
  walPreparedSize: true,
  maxCellSize: true,
  maxDiskSize: true,
  compaction: true,
  timeToPurgeDeletes: true,
  scannerIdleTimeout: true,
  encryption: true,
  logArchive: true,
  automatic: true,
  createIfMissing: true,
  flushOnClose: true,
  readOnly: true,
  refreshEvery: true,
};

export const CONNECT_OPTIONS: Readonly<Record<keyof ConnectOptions, true>> = {
  ...DATABASE_OPTIONS,
  masters: true,
  configuration: true,
  zookeeper: true,
  user: true,
  authenticator: true,
  tls: true,
  resolveAddress: true,
  operationTimeout: true,
  rpcTimeout: true,
  scannerTimeout: true,
  metaTimeout: true,
  metaReplicaDelay: true,
  scannerIdleTimeout: true,
  connectTimeout: true,
  connectionIdleTimeout: true,
  adminTimeout: true,
  pause: true,
  retries: true,
  maxInFlight: true,
  maxMultiActions: true,
  maxMultiBytes: true,
  scannerCaching: true,
  scannerMaxResultSize: true,
  maxFrameSize: true,
  maxAnswerCells: true,
  quarantine: true,
  primaryCallTimeout: true,
  slowCall: true,
  telemetry: true,
  connectionAttributes: true,
  requestAttributes: true,
  cellBlockCompression: true,
};

/** Options of `openAdmin`. */
export type OpenAdminOptions = Omit<OpenOptions, keyof typeof DATABASE_OPTIONS | 'telemetry'>;

/** Options of `connectAdmin`. */
export type ConnectAdminOptions = Omit<ConnectOptions, keyof typeof DATABASE_OPTIONS>;

export const OPEN_ADMIN_OPTIONS: Readonly<Record<string, true>> = withoutEntities(OPEN_OPTIONS, 'telemetry');
export const CONNECT_ADMIN_OPTIONS: Readonly<Record<string, true>> = withoutEntities(CONNECT_OPTIONS);

function withoutEntities(options: Readonly<Record<string, true>>, also?: string): Record<string, true> {
  const left = Object.entries(options).filter(([name]) => !(name in DATABASE_OPTIONS || name === also));
  return Object.fromEntries(left);
}

export function checkPath(doing: string, path: unknown): void {
  if (typeof path === 'string' && path !== '') return;
  throw new InvalidArgumentError(
    `${doing} needs a path: the folder that the store is in, or is to be made in.`,
  );
}

/** Whether a store is opened read-only. @throws InvalidArgumentError on options that contradict it. */
export function isReadOnly(
  doing: string,
  { readOnly = false, refreshEvery, tables }: Partial<OpenOptions>,
): boolean {
  if (typeof readOnly !== 'boolean') {
    throw new InvalidArgumentError(`${doing}: readOnly is true or false, not ${describe(readOnly)}.`);
  }
  if (refreshEvery !== undefined && !(Number.isSafeInteger(refreshEvery) && refreshEvery > 0)) {
    throw new InvalidArgumentError(
      `${doing}: refreshEvery is a whole number of milliseconds above 0, not ${describe(refreshEvery)}.`,
    );
  }
  if (!readOnly && refreshEvery !== undefined) {
    throw new InvalidArgumentError(`${doing}: refreshEvery goes with readOnly: true alone.`);
  }
  if (readOnly && tables === 'create') {
    throw new InvalidArgumentError(
      `${doing}: with readOnly no table is made. Say tables: 'verify' or 'ignore', or leave it out.`,
    );
  }
  return readOnly;
}

/** The checked options of opening a database, before there is an engine. */
export interface Opening {
  readonly schema: Schema;
  readonly tables: TableHandling;
  readonly onEvent: ((event: TablesEvent | LintEvent | OutboxEvent) => void) | undefined;
  readonly reading: Reading;
  readonly log: OperationListener | undefined;
}

/** `handling`: the default handling of tables. */
export function prepare(
  doing: string,
  options: DatabaseOptions & { readonly onEvent?: unknown },
  handling: TableHandling,
): Opening {
  const { entities, tables = handling, subscribers, onQuery, cursorSecret } = options;
  const onEvent = options.onEvent as Opening['onEvent'];
  if (!isList(entities) || entities.length === 0) {
    throw new InvalidArgumentError(
      `${doing} needs entities: the classes that are stored, [Customer, Order].`,
    );
  }
  if (!['create', 'verify', 'ignore'].includes(tables)) {
    throw new InvalidArgumentError(
      `${doing}: tables is 'create', 'verify' or 'ignore', not ${describe(tables)}.`,
    );
  }
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw new InvalidArgumentError(`${doing}: onEvent is a function, not ${describe(onEvent)}.`);
  }
  const reading = checkReadSettings({ onQuery, cursorSecret });
  const log = logOf(doing, options.log);
  return { schema: compileSchema(entities, undefined, subscribers), tables, onEvent, reading, log };
}

/** Passes the events of a database to the application's listener. */
export class Listener {
  constructor(private readonly onEvent?: (event: TablesEvent | LintEvent | OutboxEvent) => void) {}

  /** Reports opened tables and lint's findings, which are looked for only where somebody listens. */
  opened(tables: EnsuredTables, lint: () => readonly LintFinding[]): void {
    if (this.onEvent === undefined) return;
    const news = tables.created.length + tables.stamped.length + tables.differences.length;
    if (news > 0) this.emit({ kind: 'tables', ...tables });
    const findings = lint().filter(({ severity }) => severity === 'warning');
    if (findings.length > 0) this.emit({ kind: 'lint', findings });
  }

  emit(event: TablesEvent | LintEvent | OutboxEvent): void {
    try {
      this.onEvent?.(event);
    } catch {
      // Errors of listeners are ignored, as in the store.
    }
  }
}
