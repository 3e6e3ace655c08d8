import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { MissingTextError } from '../key/index.js';
import type { EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import type { SyncTable, Table } from '../table/index.js';
import type { QueryExplanation } from './explanation.js';
import type { EntryRepair, IndexAccess } from './index-access.js';
import type { RelatedReaders } from './related/relation-loader.js';

/** What queries read from. */

/** A table, and the same table again if it answers without leaving the thread. */
export interface TableAccess {
  readonly table: Table;
  readonly sync: SyncTable | undefined;
  /**
   * Loads what a decoding lacked: a promise when that is why it failed, undefined for other errors. Undefined where
   * nothing is ever lacking.
   */
  readonly recover?: ((error: unknown) => Promise<void> | undefined) | undefined;
  /** The indexes of the entity that is read, with the table of their entries; undefined where it has none. */
  readonly indexing?:
    | {
        readonly access: IndexAccess;
        readonly entries: TableAccess;
        /** Of engines that write entries before and after the row. */
        readonly repair?: EntryRepair;
      }
    | undefined;
  /** The repositories of other entities of the database. */
  readonly related?: RelatedReaders | undefined;
  /** Told of every query when it has ended. */
  readonly onQuery?: QueryListener | undefined;
  /** Seals cursors, so that none can be forged: HMAC-SHA-256. */
  readonly cursorSecret?: Uint8Array | undefined;
  /** Names of entities whose cursors go on in this one, since their keys were changed to its. */
  readonly formerNames?: ((schema: EntitySchema) => readonly string[]) | undefined;
}

/** What an application says about all reads of a database. */
export interface ReadSettings {
  /** Told of every query when it has ended: its plan, rows, bytes and time. `queryLogger` makes one that writes lines. */
  readonly onQuery?: QueryListener | undefined;
  /**
   * Seals the cursors of pages (HMAC-SHA-256), so that who is handed one can make no other. 16 bytes or more, the same in
   * every process that takes them. Without it a cursor is held to be whole, but anybody can make one.
   */
  readonly cursorSecret?: string | Uint8Array | undefined;
}

/** The same, held to what it may be: what every table is read with. */
export type Reading = Pick<TableAccess, 'onQuery' | 'cursorSecret'>;

/** The least bytes of a secret that are worth the name. */
const LEAST_SECRET = 16;

/** @throws InvalidArgumentError when the secret is too short to be one, or the listener no function. */
export function checkReadSettings({ onQuery, cursorSecret }: ReadSettings): Reading {
  if (onQuery !== undefined && typeof onQuery !== 'function') {
    throw new InvalidArgumentError(`onQuery is a function, not ${describe(onQuery)}.`);
  }
  if (cursorSecret === undefined) return { onQuery, cursorSecret };
  const secret: unknown = typeof cursorSecret === 'string' ? toBytes(cursorSecret) : cursorSecret;
  if (!(secret instanceof Uint8Array) || secret.length < LEAST_SECRET) {
    throw new InvalidArgumentError(
      `cursorSecret must be a text or bytes of ${LEAST_SECRET} bytes or more. Make one with randomBytes(32), and keep it with the other secrets.`,
    );
  }
  return { onQuery, cursorSecret: Uint8Array.from(secret) };
}

/** Decoding that may lack something which can be fetched: the schema that wrote an Avro value, the text of an id. */

/** Loads what a decoding lacked. @throws the error itself when nothing can be loaded that would mend it. */
async function recoverOrThrow(access: TableAccess, error: unknown): Promise<void> {
  if (error instanceof MissingTextError) {
    await error.dictionary.values([error.id]);
    return;
  }
  const loading = access.recover?.(error);
  if (loading === undefined) throw error;
  await loading;
}

/** Decodes; what that lacked is loaded, and it is done again. A promise when something had to be loaded. */
export function recovering<T>(access: TableAccess, decode: () => T | Promise<T>): T | Promise<T> {
  try {
    const value = decode();
    return value instanceof Promise
      ? value.catch((error: unknown) => recoverAndRetry(access, error, decode))
      : value;
  } catch (error) {
    return recoverAndRetry(access, error, decode);
  }
}

/** Loads what failed for `error`, then decodes again. @throws the error itself when nothing mends it. */
export async function recoverAndRetry<T>(
  access: TableAccess,
  error: unknown,
  decode: () => T | Promise<T>,
): Promise<T> {
  await recoverOrThrow(access, error);
  return recovering(access, decode);
}

/** What is told of queries that were run. */

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
