import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { MissingTextError } from '../key/index.js';
import type { EntitySchema, IndexSchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import type { SyncTable, Table } from '../table/index.js';
import type { Operations, QueryListener } from './operations.js';
import type { AccessPath } from './query-spec.js';
import type { RelatedReaders } from './related/relation-loader.js';

// — Access to the tables that queries read.

/**
 * The state of an index. `active`: queries use it. `building`: writes maintain it, but it lacks rows. `disabled`: a
 * program that does not know it has written since.
 */
export type IndexState = 'building' | 'active' | 'disabled';

/** The access paths of an entity in an open database. */
export interface PathAccess {
  readonly indexes: {
    readonly all: readonly AccessPath[];
    /** The table of their entries. */
    readonly tableName: string;
  };
  /** Undefined: unknown, because the database was opened with `tables: 'ignore'`. */
  stateOf(index: IndexSchema): IndexState | undefined;
}

/** Receives unverified entries that a query read. It returns at once and repairs them in the background. */
export interface EntryRepair {
  note(entry: { readonly index: AccessPath; readonly row: Uint8Array }): void;
  /** The timestamp from which on entries may belong to changes in progress, ms. */
  since(): number;
}

/** A table; `sync` is the same table if it is synchronous. */
export interface TableAccess {
  readonly table: Table;
  readonly sync: SyncTable | undefined;
  /**
   * Loads what decoding lacked. Returns a promise when that was the cause of the error, undefined for other errors.
   * Absent where nothing can be lacking.
   */
  readonly recover?: ((error: unknown) => Promise<void> | undefined) | undefined;
  /** The indexes of the entity, with the table of their entries. Undefined: it has none. */
  readonly indexing?:
    | {
        readonly access: PathAccess;
        readonly entries: TableAccess;
        /** Set for engines that write entries before and after the row. */
        readonly repair?: EntryRepair;
      }
    | undefined;
  /** The readers of related entities. */
  readonly related?: RelatedReaders | undefined;
  /** Observers of reads and writes. */
  readonly operations?: Operations | undefined;
  /** The secret that seals cursors (HMAC-SHA-256), so that none can be forged. */
  readonly cursorSecret?: Uint8Array | undefined;
  /** Former names of entities whose keys were changed to those of this one: their cursors stay valid. */
  readonly formerNames?: ((schema: EntitySchema) => readonly string[]) | undefined;
}

/** Settings of all reads of a database. */
export interface ReadSettings {
  /**
   * Called with every finished query: its plan, rows, bytes and time. `queryLogger` makes a listener that writes
   * lines.
   */
  readonly onQuery?: QueryListener | undefined;
  /**
   * Seals the cursors of pages with HMAC-SHA-256, so that clients cannot forge any. At least 16 bytes, the same in
   * every process that reads the cursors. Without it a cursor has a checksum only.
   */
  readonly cursorSecret?: string | Uint8Array | undefined;
}

/** The checked settings. */
export interface Reading extends Pick<TableAccess, 'cursorSecret'> {
  readonly onQuery?: QueryListener | undefined;
}

/** The least bytes of a secret. */
const MIN_SECRET = 16;

/** @throws InvalidArgumentError when the secret is too short, or the listener no function. */
export function checkReadSettings({ onQuery, cursorSecret }: ReadSettings): Reading {
  if (onQuery !== undefined && typeof onQuery !== 'function') {
    throw new InvalidArgumentError(`onQuery is a function, not ${describe(onQuery)}.`);
  }
  if (cursorSecret === undefined) return { onQuery, cursorSecret };
  const secret: unknown = typeof cursorSecret === 'string' ? toBytes(cursorSecret) : cursorSecret;
  if (!(secret instanceof Uint8Array) || secret.length < MIN_SECRET) {
    throw new InvalidArgumentError(
      `cursorSecret must be a text or bytes of ${MIN_SECRET} bytes or more. Make one with randomBytes(32), and keep it with the other secrets.`,
    );
  }
  return { onQuery, cursorSecret: Uint8Array.from(secret) };
}

// — Decoding that may have to load something: the schema that an Avro value was written with, or the text of a
// dictionary id.

/** Loads what decoding lacked. @throws the error itself when nothing can be loaded. */
async function recoverOrThrow(access: TableAccess, error: unknown): Promise<void> {
  if (error instanceof MissingTextError) {
    await error.dictionary.values([error.id]);
    return;
  }
  const loading = access.recover?.(error);
  if (loading === undefined) throw error;
  await loading;
}

/** Decodes. If something is lacking, loads it and decodes again; then the result is a promise. */
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

/** Loads what caused the error, then decodes again. @throws the error itself when nothing can be loaded. */
export async function recoverAndRetry<T>(
  access: TableAccess,
  error: unknown,
  decode: () => T | Promise<T>,
): Promise<T> {
  await recoverOrThrow(access, error);
  return recovering(access, decode);
}
