/**
 * What a feature does with the changes of an entity's rows: the interface by which the core knows features. Two drivers run
 * maintainers: {@link StepDriver} on engines that write several rows in one step, and {@link IntentDriver} on those whose one
 * step is a row (intent, row, follow-up, done). docs/extending.md walks through both.
 */

import { UnsupportedError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import {
  type Get,
  LATEST_TIMESTAMP,
  type Put,
  type Result,
  type RowMutation,
  type Scan,
  type WaitingPut,
} from '../table/index.js';
import type { ChangeOperation } from './change.js';
import type { RowImage } from './row-image.js';

/** A change that is about to take effect, with the whole row before it and after it. */
export interface ChangeImage {
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  readonly before: RowImage;
  readonly after: RowImage;
  /** What leads from one to the other. */
  readonly mutations: readonly RowMutation[];
}

/** Reads of other rows while a change is decided on. Synchronous: on HBase the function that reads is run again when the answer is there. */
export interface ChangeStep {
  /** A row of any table, with what this step has written before. */
  readonly read: (get: Get, table: string) => Result;
  /** Rows of any table, as `read` sees them. */
  readonly scan: (scan: Scan, table: string) => readonly Result[];
}

/** A column of the changed row that a feature sets, not the application. */
export interface OwnColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
  /** Undefined: it is deleted. */
  readonly value: Uint8Array | undefined;
  /** Milliseconds that the cell lives where the change itself does not say; undefined: without end. */
  readonly ttl?: number | undefined;
}

/** A mutation of another row, which takes effect with the change or not at all. */
export interface RowEffect {
  readonly table: string;
  readonly mutation: RowMutation;
}

/** A change of another row of an entity, with the effects of that change; decided on when its turn has come. */
export interface EntityChange {
  readonly entity: EntitySchema;
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  /** The mutations of the row as it is then; none: it stays. */
  readonly resolve: (before: RowImage) => readonly RowMutation[];
  /**
   * The columns that it changes, of a row that is there before and after, where nothing is to be amended behind it: it leaves the
   * row's own columns as they should be. The same list at each change of one kind.
   */
  readonly settled?: readonly ColumnSchema[] | undefined;
}

/** A change in another row that a change brings about. */
export type Effect = RowEffect | EntityChange;

/** The part of a maintainer that runs in one step with the change. */
export interface StepMaintainer {
  readonly name: string;
  /** Columns of the row itself that are other than the change leaves them. Both drivers ask it before the row is written. */
  amend?(change: ChangeImage, step: ChangeStep): readonly OwnColumn[];
  /**
   * The effects of a change, applied in its step. Called in the turn in which the change is ordered: it must not wait, and must not
   * change what it is given. @throws what refuses the change.
   */
  effects(change: ChangeImage, step: ChangeStep): readonly Effect[];
  /** Whether a change of these columns alone ({@link EntityChange.settled}) can have effects. Absent: it can. */
  isAffectedBy?(columns: readonly ColumnSchema[]): boolean;
  /**
   * Fast path for a put that makes a row: true when all that `amend` and `effects` would answer was put into the step; false when
   * they must be asked, and nothing was put. Absent: they always must.
   */
  readonly effectsOfNewRow?: ((put: Put, putLater: PutLater) => boolean) | undefined;
}

export type PutLater = (put: WaitingPut) => void;

/** A feature's part in the changes of one entity's rows, on every engine. */
export interface RowMaintainer extends StepMaintainer {
  /**
   * Whether a change has effects on other rows, asked before the row is written. Asked again when what it read has arrived, so it
   * changes nothing. @throws what refuses the change.
   */
  hasEffects(change: ChangeImage, step: ChangeStep): boolean;
  /**
   * Makes the effects of a row what they should be, from what the row is now and not from what was changed: calling it again does no
   * harm, and two that run at once end in the same. Called behind the write, and by whoever finds its intent left behind.
   * @param share `declared`: a writer waits, and only as many rows are changed as were declared; `all`: every row.
   * @param settledAfter milliseconds after which what another has begun is nobody's.
   * @returns whether it is done; if not, the outbox goes on with it.
   */
  settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean>;
  /**
   * Before effects are settled in the place of another writer: fences the rows that he may have changed for it, so that his late
   * requests take no effect. @returns whether it has; false where others were changing them.
   */
  fence?(row: Uint8Array): Promise<boolean>;
}

/** How many rows a settling may change. */
export type Share = 'all' | 'declared';

/** Runs a function that reads other rows. It must ask for the same when it is given the same, and change nothing. */
export type StepReading = <T>(run: (step: ChangeStep) => T) => Promise<T>;

/** The parts of a database by which maintainers settle effects. */
export interface MaintainerContext {
  readonly reading: StepReading;
  /** Changes rows of entities, each with its own effects; the number of those that had something to change. */
  readonly applyChanges: (changes: readonly EntityChange[]) => Promise<number>;
  /** Fences rows of an entity; see {@link DataRows.fence}. @returns whether none was being changed by others. */
  fence(entity: EntitySchema, rows: readonly Uint8Array[]): Promise<boolean>;
  now(): number;
}

/**
 * Refuses what the image of a row does not say, which no effect could follow.
 * @param has what the entity has, for the message.
 * @throws UnsupportedError on a ttl of a single write, and on deletes of a time to come.
 */
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
