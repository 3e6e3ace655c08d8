import { type RowanError, UnsupportedError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import {
  type Get,
  LATEST_TIMESTAMP,
  type OperationOptions,
  type Put,
  type Result,
  type RowMutation,
  type Scan,
  type WaitingPut,
} from '../table/index.js';
import type { Change, ChangeOperation } from './change.js';
import type { RowImage } from './row-image.js';

/** How change sets take effect. One interface, because engines differ in what is one step. */

/** What became of one change of several. */
export type ChangeOutcome =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: RowanError };

/** A change that is about to take effect, with the whole row before it and after it. */
export interface ChangeImage {
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  readonly before: RowImage;
  readonly after: RowImage;
  /** What leads from one to the other. */
  readonly mutations: readonly RowMutation[];
}

/** What a participant may ask for while a change is decided on. */
export interface ChangeStep {
  /** A row of any table, with what this step has written before. */
  readonly read: (get: Get, table: string) => Result;
  /** Rows of any table, as `read` sees them. */
  readonly scan: (scan: Scan, table: string) => readonly Result[];
}

/** A column of the changed row that is not the application's to say. */
export interface OwnColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
  /** Undefined: it is deleted. */
  readonly value: Uint8Array | undefined;
  /** Milliseconds that the cell lives where the change itself does not say; undefined: without end. */
  readonly ttl?: number | undefined;
}

/** A mutation of another row, which takes effect with the change or not at all. */
export interface FollowUp {
  readonly table: string;
  readonly mutation: RowMutation;
}

/** A change of another row of an entity, with all that takes part in such changes; decided on when its turn has come. */
export interface EntityChange {
  readonly entity: EntitySchema;
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  /** What is to be done; nothing: none. */
  readonly resolve: (before: RowImage) => readonly RowMutation[];
  /**
   * The columns that it changes, of a row that is there before and after, where nothing is to be amended behind it: it leaves the
   * row's own columns as they should be. The same list at each change of one kind.
   */
  readonly settled?: readonly ColumnSchema[] | undefined;
}

/**
 * Takes part in every change of an entity's rows: what indexes, copies and summaries are made of. `follow` is called in
 * the turn in which the change is ordered; it must not wait, and must not change what it is given. What it throws keeps
 * the change out.
 */
export interface ChangeParticipant {
  readonly name: string;
  /** Columns of the row itself that are other than the change leaves them, before it is applied or with it. */
  amend?(change: ChangeImage, step: ChangeStep): readonly OwnColumn[];
  follow(change: ChangeImage, step: ChangeStep): readonly (FollowUp | EntityChange)[];
  /** Whether `follow` can have anything to do behind a change of these columns alone ({@link EntityChange.settled}). Absent: it can. */
  concerns?(columns: readonly ColumnSchema[]): boolean;
  /**
   * The short way for a put that makes a row: true when everything that `amend` and `follow` would answer was put into
   * the step; false when they must be asked, and nothing was. Absent: they always must.
   */
  readonly followNew?: ((put: Put, putLater: PutLater) => boolean) | undefined;
}

export type PutLater = (put: WaitingPut) => void;

/** Applies the changes of one table. */
export interface ChangeExecutor {
  /** @throws the change's mismatch, or what the engine throws; nothing was written then. */
  run(change: Change, options: OperationOptions | undefined): Promise<Result>;
  /** Each change for itself, an outcome for each; changes of one row in their order. */
  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]>;
  /** Puts of nothing but entities' cells, as `runAll` applies them; absent: they are to be given to `runAll`. */
  readonly putAll?:
    | ((puts: readonly Put[], options: OperationOptions | undefined) => Promise<ChangeOutcome[]>)
    | undefined;
  /** All changes or none; each sees what stands before it. @throws the first that cannot be, or `ERR_UNSUPPORTED`. */
  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]>;
}

/** What the image of a row does not say, and nothing that follows the row could follow: one rule for indexes and copies. */

/** @throws UnsupportedError on a ttl of a single write, and on deletes of a time to come. `has`: what follows the entity. */
export function refuseUnfollowed(
  schema: EntitySchema,
  has: string,
  mutations: readonly RowMutation[],
  now: () => number,
): void {
  for (const mutation of mutations) {
    if (mutation.kind !== 'delete') {
      if (mutation.ttl === undefined || schema.timeToLive.lifelong) continue;
      throw unsupported(
        schema,
        has,
        'a ttl for a single write',
        'Declare how long the entity lives: @Ttl on a property, or @Entity({ ttl }).',
      );
    }
    const times = [mutation.timestamp, ...mutation.cells.map(({ timestamp }) => timestamp)];
    if (times.every((time) => time === LATEST_TIMESTAMP || time <= now())) continue;
    throw unsupported(
      schema,
      has,
      'a delete of a time to come',
      'Delete up to the present: leave out the timestamp.',
    );
  }
}

function unsupported({ name }: EntitySchema, has: string, what: string, mend: string): UnsupportedError {
  return new UnsupportedError(`${name} has ${has}, which do not go together with ${what}. ${mend}`, {
    details: { entity: name },
  });
}
