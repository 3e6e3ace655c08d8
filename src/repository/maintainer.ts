/**
 * Maintainers: what features do with changes of an entity's rows. Two drivers run them. {@link StepDriver} is for
 * engines whose steps may write several rows. {@link IntentDriver} is for those whose step is one row (intent, row,
 * follow-up, done). docs/extending.md describes both.
 */

import { equalBytes, toLatin1 } from '../bytes/index.js';
import { UnsupportedError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import {
  type ColumnPuts,
  Delete,
  type Get,
  LATEST_TIMESTAMP,
  type OperationOptions,
  type PackedPuts,
  Put,
  type Result,
  type RowMutation,
  type Scan,
  type WaitingPut,
} from '../table/index.js';
import type { ChangeOperation } from './change.js';
import type { RowsAhead } from './remote/row-work.js';
import type { RowImage } from './row-image.js';

/** A change before it takes effect, with the whole row before and after it. */
export interface ChangeImage {
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  readonly before: RowImage;
  readonly after: RowImage;
  /** The mutations that lead from `before` to `after`. */
  readonly mutations: readonly RowMutation[];
}

/**
 * Reads of other rows while a change is decided. Synchronous: on HBase the function is run again once a read has been
 * answered.
 */
export interface ChangeStep {
  /** Reads a row of any table, including what this step has written. */
  readonly read: (get: Get, table: string) => Result;
  /** Scans rows of any table, as `read` sees them. */
  readonly scan: (scan: Scan, table: string) => readonly Result[];
}

/** A column of the changed row that is set by a feature, not by the application. */
export interface OwnColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
  /** Undefined: the column is deleted. */
  readonly value: Uint8Array | undefined;
  /** The TTL of the cell, ms, unless the change sets one. Undefined: without end. */
  readonly ttl?: number | undefined;
}

/** Mutations that set and delete columns of a row. */
export function columnMutations(
  row: Uint8Array,
  columns: readonly OwnColumn[],
  ttl: number | undefined,
): RowMutation[] {
  let put: Put | undefined;
  let del: Delete | undefined;
  for (const { family, qualifier, value } of columns) {
    if (value === undefined) {
      del ??= new Delete(row);
      del.addColumns(family, qualifier);
    } else {
      put ??= new Put(row).setTtl(ttl);
      put.addColumn(family, qualifier, value);
    }
  }
  if (put === undefined) return del === undefined ? [] : [del];
  return del === undefined ? [put] : [put, del];
}

/** A mutation of another row, applied with the change or not at all. */
export interface RowEffect {
  readonly table: string;
  readonly mutation: RowMutation;
}

/** A change of a row of another entity, with effects of its own. It is decided when its turn comes. */
export interface EntityChange {
  readonly entity: EntitySchema;
  readonly operation: ChangeOperation;
  readonly row: Uint8Array;
  /** Computes the mutations for the row as it is then. Empty: no change. */
  readonly resolve: (before: RowImage) => readonly RowMutation[];
  /**
   * The columns that it changes, where the row exists before and after and no column has to be amended afterwards.
   * Give the same array for each change of one kind.
   */
  readonly finalColumns?: readonly ColumnSchema[] | undefined;
}

/** A change of another row that a change causes. */
export type Effect = RowEffect | EntityChange;

/** The part of a maintainer that runs in the step of the change. */
export interface StepMaintainer {
  readonly name: string;
  /**
   * Columns of the row that the feature sets otherwise than the change does. Both drivers call it before the row is
   * written.
   */
  amend?(change: ChangeImage, step: ChangeStep): readonly OwnColumn[];
  /**
   * The effects of a change, applied in its step. Called in the turn in which the change is ordered: it must be
   * synchronous and must not change its arguments.
   * @throws an error to refuse the change.
   */
  effects(change: ChangeImage, step: ChangeStep): readonly Effect[];
  /** Whether a change of these columns alone ({@link EntityChange.finalColumns}) can have effects. Absent: it can. */
  isAffectedBy?(columns: readonly ColumnSchema[]): boolean;
  /**
   * Fast path for a put that creates a row. True: everything that `amend` and `effects` would return has been put
   * into the step. False: nothing was put, and they must be called. Absent: they must always be called.
   */
  readonly effectsOfNewRow?: ((put: Put, putLater: PutLater) => boolean) | undefined;
  /**
   * As `effectsOfNewRow` for packed puts, each of which creates a row: what `effects` would return for them, valid
   * until the next call. Undefined: they must be processed one by one. Effects that only rows which do not exist may have (entries of a
   * unique index) are marked (`ofNewRows`).
   */
  readonly effectsOfNewRows?: ((puts: PackedPuts) => ColumnPuts | undefined) | undefined;
}

export type PutLater = (put: WaitingPut) => void;

/** The part of a feature that processes changes of one entity's rows, on every engine. */
export interface RowMaintainer extends StepMaintainer {
  /**
   * Whether a change has effects on other rows. Called before the row is written, and again when its reads have been
   * answered, so it must change nothing. @throws an error to refuse the change.
   */
  hasEffects(change: ChangeImage, step: ChangeStep): boolean;
  /**
   * Applies the effects of a row, computed from its present state and not from a change: repeating it is harmless,
   * and concurrent calls end in the same state. Called after the write, and by the process that finds an abandoned
   * intent.
   * @param share `declared`: a writer waits, and at most the declared number of rows is changed. `all`: every row.
   * @param settledAfter age in milliseconds from which the work of others is abandoned.
   * @returns whether it is complete; otherwise the outbox continues.
   */
  settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean>;
  /**
   * As `settle`, for distinct rows that this program has written. If present, it is called instead of `settle`, for many rows at a time,
   * after the calls of the writers have returned. The change may spare reads, but others may have changed the row since.
   * @returns for each row whether it is complete.
   */
  settleLater?(rows: readonly WrittenRow[], settledAfter: number): Promise<readonly boolean[]>;
  /** Writes rows in one call, ahead of its effects. It is used where no other feature follows the rows. */
  readonly ahead?: RowsAhead | undefined;
  /**
   * Fences the rows that an abandoned writer may have changed, so that its late requests fail. Called before its
   * effects are applied by another program. @returns false where others were changing them.
   */
  fence?(row: Uint8Array): Promise<boolean>;
}

/** A row before and after all that this program has written to it. */
export interface WrittenRow extends Pick<ChangeImage, 'row' | 'after'> {
  /** Undefined: it was not read. */
  readonly before: RowImage | undefined;
}

/** How many rows one call of `settle` may change. */
export type Share = 'all' | 'declared';

/**
 * Runs a function that reads other rows. The function may run several times: it must make the same reads for the same
 * answers, and change nothing. `options`: of each request to a server.
 */
export type StepReading = <T>(run: (step: ChangeStep) => T, options?: OperationOptions) => Promise<T>;

/** The parts of a database by which maintainers apply effects. */
export interface MaintainerContext {
  readonly reading: StepReading;
  /** Changes rows of entities, each with its own effects. @returns how many had something to change. */
  readonly applyChanges: (changes: readonly EntityChange[]) => Promise<number>;
  /** Fences rows of an entity; see {@link DataRows.fence}. @returns false where others were changing some of them. */
  fence(entity: EntitySchema, rows: readonly Uint8Array[]): Promise<boolean>;
  now(): number;
}

/**
 * Refuses mutations whose result a row image cannot show, so that effects could not follow.
 * @param has what the entity has, for the message.
 * @throws UnsupportedError on a ttl of a single write, and on deletes with a timestamp in the future.
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

/**
 * Refuses cells with a timestamp in the future, which would hide or outlive what other rows change here: that is of the present.
 * @param has as in {@link refuseUnfollowed}
 * @param columns the columns that others change; undefined: all
 * @throws UnsupportedError
 */
export function refuseAhead(
  schema: EntitySchema,
  has: string,
  mutations: readonly RowMutation[],
  now: () => number,
  columns?: readonly ColumnSchema[],
): void {
  for (const mutation of mutations) {
    if (mutation.kind !== 'put') continue;
    for (const { family, qualifier, timestamp } of mutation.cells) {
      if (timestamp === LATEST_TIMESTAMP || timestamp <= now()) continue;
      const concerns = columns?.some((one) => one.family === family && equalBytes(one.qualifier, qualifier));
      if (concerns === false) continue;
      throw unsupported(
        schema,
        has,
        'a write with a future timestamp',
        'Changes of other rows reach up to the present: leave out the timestamp.',
      );
    }
  }
}

function unsupported({ name }: EntitySchema, has: string, what: string, remedy: string): UnsupportedError {
  return new UnsupportedError(`${name} has ${has}, which cannot be combined with ${what}. ${remedy}`, {
    details: { entity: name },
  });
}

/** When the mutations write a column, and what, where it is known. Undefined: they do not write it. */
export function writtenColumn(
  mutations: readonly RowMutation[],
  { family, qualifier }: Pick<ColumnSchema, 'family' | 'qualifier'>,
): { readonly time: number; readonly value?: Uint8Array } | undefined {
  const name = toLatin1(qualifier);
  for (const mutation of mutations) {
    if (!('cells' in mutation)) {
      const { columns } = mutation;
      if (columns.some((one) => one.family === family && toLatin1(one.qualifier) === name))
        return { time: LATEST_TIMESTAMP };
      continue;
    }
    const cell = mutation.cells.find((one) => one.family === family && toLatin1(one.qualifier) === name);
    if (cell !== undefined)
      return { time: cell.timestamp, ...(mutation.kind === 'put' && { value: cell.value }) };
  }
  return undefined;
}
