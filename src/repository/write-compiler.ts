/** Turns entities into engine operations, once for single calls and for batches. */

import { ConflictError, type RowanError, UnsupportedError } from '../errors.js';
import { DictionaryLayout } from '../key/index.js';
import { applyReadSet, type ReadSet, readAll } from '../query/projection.js';
import { type EntitySchema, MARKER_VALUE, type WriteOperation } from '../schema/types.js';
import { CheckAndMutate, filters, Get, type RowMutation, type RowMutations } from '../table/index.js';
import { applyWriteOptions, type WriteOptions } from './options.js';
import { asAction, keyText } from './row-access.js';
import { VersionLock } from './version-lock.js';

/** A write made ready. */
export interface CompiledWrite {
  readonly row: Uint8Array;
  readonly action: RowMutation | RowMutations | CheckAndMutate;
  /** The error when the check of `action` fails. */
  readonly onMismatch: (() => RowanError) | undefined;
  /** To be called when the write has taken effect, and awaited when it answers a promise. */
  readonly onSuccess: (() => void | Promise<void>) | undefined;
}

export class WriteCompiler {
  readonly lock: VersionLock | undefined;
  private readonly readSet: ReadSet;
  /** The key's layout, if it keeps texts as ids. */
  readonly dictionaries: DictionaryLayout | undefined;

  constructor(private readonly schema: EntitySchema) {
    this.lock = VersionLock.of(schema);
    this.readSet = readAll(schema);
    this.dictionaries = schema.key instanceof DictionaryLayout ? schema.key : undefined;
  }

  /**
   * Runs the hooks and checks that come before a write, and gives ids to the texts of the key. A promise only when one of
   * them needs it.
   */
  beforeWrite(entity: object, operation: WriteOperation): void | Promise<void> {
    const { beforeWrite } = this.schema.lifecycle;
    const source = entity as Record<string, unknown>;
    const done = beforeWrite?.(source, operation, Date.now());
    // A patch has no key.
    if (this.dictionaries === undefined || operation === 'update') return done;
    return this.giveIdsAfter(done, source, this.dictionaries);
  }

  private async giveIdsAfter(
    hooks: void | Promise<void>,
    entity: Record<string, unknown>,
    layout: DictionaryLayout,
  ): Promise<void> {
    await hooks;
    await layout.giveIds([entity]);
  }

  /** A copy of the patch, prepared by the hooks and checks of an update. */
  async preparePatch<P extends object>(patch: P): Promise<P> {
    const copy = { ...patch };
    await this.beforeWrite(copy, 'update');
    return copy;
  }

  put(entity: Record<string, unknown>, options: WriteOptions | undefined): CompiledWrite {
    const row = this.schema.mapper.rowOf(entity);
    const { lock } = this;
    if (lock === undefined) {
      const mutations = this.schema.mapper.toMutations(entity, row, options?.timestamp);
      applyWriteOptions(mutations, options);
      return {
        row,
        action: asAction(row, mutations),
        onMismatch: undefined,
        onSuccess: this.afterWrite(entity),
      };
    }
    const mutations = lock.mutationsOf(entity, row, options?.timestamp);
    applyWriteOptions(mutations, options);
    return {
      row,
      action: lock.check(row, entity[lock.property], mutations),
      onMismatch: () => lock.conflict(entity),
      onSuccess: this.afterWrite(entity),
    };
  }

  /** @throws UnsupportedError when the entity has no marker by which the engine could tell that there is none yet. */
  insert(entity: Record<string, unknown>, options: WriteOptions | undefined): CompiledWrite {
    const { schema, lock } = this;
    const { marker } = schema;
    if (marker === undefined) {
      throw new UnsupportedError(
        `${schema.name} has no marker column, so no check can tell whether a row exists. Use put, or declare marker: true.`,
        { details: { entity: schema.name } },
      );
    }
    const row = schema.mapper.rowOf(entity);
    const mutations =
      lock === undefined
        ? schema.mapper.toMutations(entity, row, options?.timestamp)
        : lock.mutationsOf(entity, row, options?.timestamp);
    applyWriteOptions(mutations, options);
    return {
      row,
      action: CheckAndMutate.ifNotExists(marker.family, marker.qualifier, asAction(row, mutations)),
      onMismatch: () => insertConflict(schema, entity),
      onSuccess: this.afterWrite(entity),
    };
  }

  private afterWrite(entity: Record<string, unknown>): CompiledWrite['onSuccess'] {
    const { lock } = this;
    const { afterWrite } = this.schema.lifecycle;
    if (lock === undefined) return afterWrite && (() => afterWrite(entity));
    return () => {
      lock.commit(entity);
      return afterWrite?.(entity);
    };
  }

  /** The mutations, if the row exists. */
  ifPresent(row: Uint8Array, mutations: readonly RowMutation[]): CheckAndMutate {
    const { marker } = this.schema;
    const action = asAction(row, mutations);
    return marker === undefined
      ? CheckAndMutate.ifFilter(filters.firstKeyOnly(), action)
      : CheckAndMutate.ifEquals(marker.family, marker.qualifier, MARKER_VALUE, action);
  }

  /** A get of everything the entity stores. */
  get(row: Uint8Array): Get {
    const get = new Get(row);
    applyReadSet(get, this.readSet);
    return get;
  }
}

function insertConflict(schema: EntitySchema, entity: unknown): ConflictError {
  return new ConflictError(
    `${schema.name} ${keyText(schema, entity)} exists already. Use put to overwrite it, or update to change it.`,
    { details: { entity: schema.name } },
  );
}
