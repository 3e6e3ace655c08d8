import type { EnsuredTables } from '../ddl/index.js';
import { InvalidArgumentError, type RowanError } from '../errors.js';
import type { HBaseEvent } from '../hbase/index.js';
import type { HBaseOptions } from '../hbase/options.js';
import { compileSchema } from '../mapper/index.js';
import { checkReadSettings, type Reading, type ReadSettings } from '../query/index.js';
import type { EntitySubscriber, LintFinding, Schema } from '../schema/index.js';
import type { EntityClass } from '../schema/types.js';
import type { StoreEvent } from '../store/events.js';
import type { EmbeddedOptions } from '../store/options.js';
import { describe, isList } from '../table/checks.js';

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
  /** What is told of the entities' writes and reads beside their own hooks (docs/entities.md). Default: none. */
  readonly subscribers?: readonly EntitySubscriber[] | undefined;
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
  /** Told of tables that were made or are not as declared, of flushes, compactions, splits, stalls and corruption. */
  readonly onEvent?: (event: StoreEvent | TablesEvent | LintEvent | OutboxEvent) => void;
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
} as const;

/** Every option there is: the compiler misses one that is not listed. */
export const OPEN_OPTIONS: Readonly<Record<keyof OpenOptions, true>> = {
  path: true,
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
export type OpenAdminOptions = Omit<OpenOptions, keyof typeof DATABASE_OPTIONS>;

/** Options of `connectAdmin`. */
export type ConnectAdminOptions = Omit<ConnectOptions, keyof typeof DATABASE_OPTIONS>;

export const OPEN_ADMIN_OPTIONS: Readonly<Record<string, true>> = withoutEntities(OPEN_OPTIONS);
export const CONNECT_ADMIN_OPTIONS: Readonly<Record<string, true>> = withoutEntities(CONNECT_OPTIONS);

function withoutEntities(options: Readonly<Record<string, true>>): Record<string, true> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !(name in DATABASE_OPTIONS)));
}

export function checkPath(doing: string, path: unknown): void {
  if (typeof path === 'string' && path !== '') return;
  throw new InvalidArgumentError(
    `${doing} needs a path: the folder that the store is in, or is to be made in.`,
  );
}

/** How a database is to be opened, checked before there is an engine. */
export interface Opening {
  readonly schema: Schema;
  readonly tables: TableHandling;
  readonly onEvent: ((event: TablesEvent | LintEvent | OutboxEvent) => void) | undefined;
  readonly reading: Reading;
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
  return { schema: compileSchema(entities, undefined, subscribers), tables, onEvent, reading };
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
