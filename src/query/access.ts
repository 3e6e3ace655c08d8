/** What queries read from. */

import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import type { EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import type { SyncTable, Table } from '../table/index.js';
import type { QueryListener } from './events.js';
import type { EntryRepair, IndexAccess } from './index-access.js';
import type { RelatedReaders } from './related/relation-loader.js';

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
