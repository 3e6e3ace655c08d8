import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import type { EntryRepair, IndexAccess } from '../features/indexes/query/access.js';
import { MissingTextError } from '../key/index.js';
import type { EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import type { SyncTable, Table } from '../table/index.js';
import type { Operations, QueryListener } from './operations.js';
import type { RelatedReaders } from './related/relation-loader.js';

/** The tables that queries read. */

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
  /** Who is told of what is read and written. */
  readonly operations?: Operations | undefined;
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
export interface Reading extends Pick<TableAccess, 'cursorSecret'> {
  readonly onQuery?: QueryListener | undefined;
}

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
