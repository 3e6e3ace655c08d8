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

/** What a database is told when it is opened, and the checks of it. */

/**
 * What happens to the declared tables when a database is opened. `create`: missing ones are created, others checked
 * against the declarations; `verify`: a missing or contradicting one is an error; `ignore`: nothing.
 */
export type TableHandling = 'create' | 'verify' | 'ignore';

export interface DatabaseOptions extends ReadSettings {
  /** The entity classes, each with `@Entity`. */
  readonly entities: readonly EntityClass[];
  readonly tables?: TableHandling;
  /** What is told of the entities' writes and reads beside their own hooks (docs/entity-hooks.md). Default: none. */
  readonly subscribers?: readonly EntitySubscriber[] | undefined;
  /**
   * Writes a line for each operation: what was asked, its plan, ranges, rows, bytes and time; values are left out. `true`: all
   * of them, to standard error. Default: none.
   */
  readonly log?: boolean | LogOptions | undefined;
}

/** What a database tells of its tables when they are opened: what was made, and which options are not as declared. */
export interface TablesEvent extends EnsuredTables {
  readonly kind: 'tables';
}

/** Copies, or entries of eventual indexes, could not be written behind a write; they are tried again with the next one, or when the database is opened. */
export interface OutboxEvent {
  readonly kind: 'outbox';
  readonly error: RowanError;
}

/** What a database tells of its declarations when it is opened: what costs in nearly every program (docs/lint.md). */
export interface LintEvent {
  readonly kind: 'lint';
  readonly findings: readonly LintFinding[];
}

/** Options of `open`. Tables are created by default. */
export interface OpenOptions extends DatabaseOptions, EmbeddedOptions {
  /** The folder of the store; it is made when it is not there. */
  readonly path: string;
  /**
   * The module `@opentelemetry/api`: a span for each operation of repositories and queries, and figures of the store
   * (docs/observing.md). Default: none are made.
   */
  readonly telemetry?: TelemetryApi;
  /** Told of tables that were made or are not as declared, of flushes, compactions, splits, stalls and corruption. */
  readonly onEvent?: (event: StoreEvent | TablesEvent | LintEvent | OutboxEvent) => void;
  /**
   * Read the store beside the process that has it open, or without one: no lock is taken, nothing is written, and every write is
   * refused (docs/storage.md). Tables are checked then, not made. Default false.
   */
  readonly readOnly?: boolean;
  /** With `readOnly`: milliseconds after which the database shows what is new by itself; default: only by `engine.refresh()`. */
  readonly refreshEvery?: number;
}

/** Options of `connect`. Tables are checked by default, and created only when asked for. */
export interface ConnectOptions extends DatabaseOptions, Omit<HBaseOptions, 'onEvent'> {
  /** Told of tables that were made or are not as declared, of connections made and lost, of slow requests and retries. */
  readonly onEvent?: (event: HBaseEvent | TablesEvent | LintEvent | OutboxEvent) => void;
}

const DATABASE_OPTIONS = {
  entities: true,
  tables: true,
  subscribers: true,
  onEvent: true,
  onQuery: true,
  cursorSecret: true,
  log: true,
} as const;

/** Every option there is: the compiler misses one that is not listed. */
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
  compaction: true,
  timeToPurgeDeletes: true,
  scannerIdleTimeout: true,
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

/** Whether a store is to be read only. @throws InvalidArgumentError for what does not go with it. */
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

/** How a database is to be opened, checked before there is an engine. */
export interface Opening {
  readonly schema: Schema;
  readonly tables: TableHandling;
  readonly onEvent: ((event: TablesEvent | LintEvent | OutboxEvent) => void) | undefined;
  readonly reading: Reading;
  readonly log: OperationListener | undefined;
}

/** `handling`: what happens to the tables unless the options say it. */
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

/** Who is told of what a database itself does, if anybody. */

export class Listener {
  constructor(private readonly onEvent?: (event: TablesEvent | LintEvent | OutboxEvent) => void) {}

  /** What was made of tables, and what lint says of their declarations. */
  opened(tables: EnsuredTables, all: readonly LintFinding[]): void {
    const news = tables.created.length + tables.stamped.length + tables.differences.length;
    if (news > 0) this.tell({ kind: 'tables', ...tables });
    const findings = all.filter(({ severity }) => severity === 'warning');
    if (findings.length > 0) this.tell({ kind: 'lint', findings });
  }

  tell(event: TablesEvent | LintEvent | OutboxEvent): void {
    try {
      this.onEvent?.(event);
    } catch {
      // What a listener throws is dropped, as in the store.
    }
  }
}
