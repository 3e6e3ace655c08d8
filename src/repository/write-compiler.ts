import { ConflictError, UnsupportedError } from '../errors.js';
import type { KeyDictionaries } from '../key/index.js';
import { applyReadSet, type ReadSet, readAll } from '../query/projection.js';
import { liveFilter } from '../query/pushdown.js';
import type { ColumnSchema, EntitySchema, Marker } from '../schema/types.js';
import { Delete, FOREVER, Get, type RowMutation } from '../table/index.js';
import {
  AfterCommit,
  type Change,
  type ChangeOperation,
  type ChangeOutcome,
  type Deferred,
  type Expectation,
} from './change.js';
import {
  checkEntity,
  checkRequired,
  draftOf,
  mutableCopy,
  preparedPatch,
  restoring,
} from './entity-input.js';
import { Expiry, type WriteTtl } from './expiry.js';
import {
  applyWriteOptions,
  type ReplaceOptions,
  type RepositoryBatchOptions,
  replaceOptions,
  timestampOf,
  type WriteOptions,
} from './options.js';
import { PlainPuts } from './plain-puts.js';
import { replacementOf } from './replacement.js';
import { keyText, keyValues, notFound, type RepositoryContext, rowOfKey } from './row-access.js';
import { RowBuilder } from './row-builder.js';
import { type Existence, RowMarker } from './row-marker.js';
import { VersionLock } from './version-lock.js';

type Entity = Record<string, unknown>;

/** A condition on the row, and the error when it is not satisfied. */
export type Condition = Pick<Change, 'expects' | 'mismatch'>;

/** Makes the error of an insert whose entity exists. */
export type Existing = (entity: Entity) => ConflictError;

/** An entity after its hooks, with a function that restores the caller's object if nothing is written. */
export interface Prepared {
  readonly entity: Entity;
  readonly undo: (() => void) | undefined;
}

/** What all writes of an entity go by. */
interface WriteRules {
  readonly lock: VersionLock | undefined;
  readonly readSet: ReadSet;
  readonly required: readonly ColumnSchema[];
  readonly rowMarker: RowMarker;
  readonly absent: Expectation | undefined;
  /** Undefined where a put does more than write cells, an expiry aside. */
  readonly plain: PlainPuts | undefined;
  readonly existing: Existing;
}

/** Kept by schema: each transaction has repositories, and so compilers, of its own. */
const knownRules = new WeakMap<EntitySchema, WriteRules>();

function rulesOf(schema: EntitySchema): WriteRules {
  let rules = knownRules.get(schema);
  if (rules === undefined) {
    rules = makeRules(schema);
    knownRules.set(schema, rules);
  }
  return rules;
}

function makeRules(schema: EntitySchema): WriteRules {
  const { marker, lifecycle, columns, versionProperty } = schema;
  const lock = VersionLock.of(schema);
  const rowMarker = new RowMarker(schema);
  // The version of a new entity is not set yet.
  const required = columns.filter(({ required, property }) => required && property !== versionProperty);
  const hasHooks = lifecycle.beforeWrite !== undefined || lifecycle.afterWrite !== undefined;
  return {
    lock,
    readSet: readAll(schema),
    required,
    rowMarker,
    absent: marker && { ...marker, kind: 'absent' },
    plain: hasHooks || lock || rowMarker.deletedAt ? undefined : new PlainPuts(schema, required),
    existing: (entity) =>
      new ConflictError(
        `${schema.name} ${keyText(schema, entity)} exists already. Use put to overwrite it, or update to change it` +
          `${rowMarker.deletedAt === undefined ? '.' : '; if it was deleted, restore brings it back and purge makes room.'}`,
        { details: { entity: schema.name, key: keyValues(schema, entity) } },
      ),
  };
}

/**
 * Compiles every way of writing to change sets: the one place for versions, TTLs, stamps, hooks, checks and markers.
 */
export class WriteCompiler {
  readonly lock: VersionLock | undefined;
  /** Set for entities whose puts are cells only: no checks, no hooks, no reads. */
  readonly plain: PlainPuts | undefined;
  /** The key's layout, if it has dictionary parts. */
  readonly dictionaries: KeyDictionaries | undefined;
  private readonly expiry: Expiry | undefined;
  private readonly readSet: ReadSet;
  private readonly required: readonly ColumnSchema[];
  /** Properties that the repository sets, and restores when a write fails. */
  private readonly stamped: readonly string[];
  private readonly rowMarker: RowMarker;
  /** That no entity exists; undefined without a marker. */
  private readonly absent: Expectation | undefined;
  private readonly afterCommit: AfterCommit;
  /** Makes the error of an insert whose entity exists. */
  readonly existing: Existing;

  constructor(
    private readonly schema: EntitySchema,
    /** The engine's time, ms. */
    private readonly now: () => number,
    /** Set in a transaction: delays hooks until its end. */
    deferred?: Deferred,
  ) {
    const rules = rulesOf(schema);
    this.lock = rules.lock;
    this.readSet = rules.readSet;
    this.required = rules.required;
    this.rowMarker = rules.rowMarker;
    this.absent = rules.absent;
    this.existing = rules.existing;
    this.expiry = Expiry.of(schema, now);
    this.dictionaries = schema.key.dictionaries;
    this.stamped = schema.lifecycle.stamped;
    this.afterCommit = new AfterCommit(schema, this.lock, deferred);
    this.plain = this.expiry === undefined ? rules.plain : undefined;
  }

  /**
   * Runs the hooks and checks before the write of an entity, and assigns dictionary ids to texts of its key. Returns
   * a promise only when one of them is asynchronous.
   * @throws InvalidArgumentError on values that are no object, or lack a required column.
   */
  prepare(given: unknown, operation: 'put' | 'insert' | 'replace'): Prepared | Promise<Prepared> {
    checkEntity(this.schema, given, operation);
    const { beforeWrite } = this.schema.lifecycle;
    if (beforeWrite === undefined && this.lock === undefined && this.dictionaries === undefined) {
      checkRequired(this.schema, this.required, given);
      return { entity: given, undo: undefined };
    }
    const entity = Object.isExtensible(given) ? given : mutableCopy(given);
    const undo = this.stamped.length === 0 ? undefined : restoring(entity, this.stamped);
    try {
      const done = beforeWrite?.(entity, operation, this.now());
      if (done === undefined && this.dictionaries === undefined) {
        checkRequired(this.schema, this.required, entity);
        return { entity, undo };
      }
      return this.prepareLater(entity, done, undo);
    } catch (error) {
      undo?.();
      throw error;
    }
  }

  private async prepareLater(
    entity: Entity,
    done: void | Promise<void>,
    undo: (() => void) | undefined,
  ): Promise<Prepared> {
    try {
      await done;
      checkRequired(this.schema, this.required, entity);
      await this.dictionaries?.giveIds([entity]);
      return { entity, undo };
    } catch (error) {
      undo?.();
      throw error;
    }
  }

  /** A copy of the patch, after the hooks and checks of an update. */
  preparePatch<P extends object>(key: object, patch: P): Promise<P> {
    return preparedPatch(this.schema, key, patch, this.now);
  }

  /** Runs the hooks before a delete. */
  beforeDelete(key: object): void | Promise<void> {
    return this.schema.lifecycle.beforeDelete?.(draftOf(this.schema, key as Entity, {}));
  }

  put(prepared: Prepared, options: WriteOptions | undefined): Change {
    const row = this.schema.mapper.rowOf(prepared.entity);
    return this.putOf(
      prepared,
      row,
      this.mutationsOf(this.rowMarker.revived(prepared.entity), row, options),
      options,
    );
  }

  private putOf(
    { entity, undo }: Prepared,
    row: Uint8Array,
    mutations: readonly RowMutation[],
    options: WriteOptions | undefined,
  ): Change {
    const version = this.lock && entity[this.lock.property];
    return this.whole('put', entity, row, undo, mutations, options, {
      expects: this.lock === undefined ? NOTHING : [this.lock.expect(version)],
      mismatch: this.lock && (() => this.lock!.conflict(entity, version)),
    });
  }

  /**
   * @param existing makes the error where the entity exists
   * @throws UnsupportedError when the entity has no marker, so that the engine could not check that it is new.
   */
  insert({ entity, undo }: Prepared, options: WriteOptions | undefined, existing = this.existing): Change {
    const { schema } = this;
    if (schema.marker === undefined) {
      throw new UnsupportedError(
        `${schema.name} has no marker column, so no check can tell whether a row exists. Use put, or declare marker: true.`,
        { details: { entity: schema.name } },
      );
    }
    const row = rowOfKey(schema, entity, 'insert');
    return this.whole('insert', entity, row, undo, this.mutationsOf(entity, row, options), options, {
      expects: [this.absent!],
      mismatch: () => existing(entity),
    });
  }

  /** Inserts an entity that is cells only. Undefined, and nothing is done: it needs a change set. */
  insertPlain(
    entity: unknown,
    options: WriteOptions | undefined,
    context: RepositoryContext,
    existing = this.existing,
  ): Promise<void> | undefined {
    const { absent } = this;
    return absent && this.plain?.insertOne(entity, options, context, absent, existing);
  }

  /** Sets columns of an entity that is cells only. Undefined, and nothing is done: it needs a change set. */
  updatePlain(
    key: Readonly<Entity>,
    patch: unknown,
    options: WriteOptions | undefined,
    context: RepositoryContext,
  ): Promise<void> | undefined {
    return this.absent && this.plain?.update(key, patch, options, context, this.rowMarker.exists);
  }

  /**
   * Inserts many entities that are cells only, as `insert` one by one would. Undefined, and nothing is done: some need a change set, or
   * are refused.
   */
  async insertAll(
    entities: readonly unknown[],
    options: RepositoryBatchOptions,
    context: RepositoryContext,
    existing = this.existing,
  ): Promise<ChangeOutcome[] | undefined> {
    const { absent } = this;
    return absent && this.plain?.insert(entities as readonly Entity[], options, context, absent, existing);
  }

  /**
   * As `put`, and deletes everything that the entity does not have; with `unknown: 'remove'` undeclared columns too.
   */
  replace(prepared: Prepared, given: ReplaceOptions | undefined): Change {
    const { removes, rest: options } = replaceOptions(given);
    const row = rowOfKey(this.schema, prepared.entity, 'replace');
    const mutations = this.mutationsOf(prepared.entity, row, options);
    const put = this.putOf(prepared, row, mutations, options);
    return replacementOf(this.schema, this.lock?.column, prepared.entity, put, mutations, removes, options);
  }

  /** Restores a soft-deleted entity. One that is not deleted stays unchanged. */
  restore(row: Uint8Array, key: Readonly<Entity>, options: WriteOptions | undefined): Change {
    const patch = { [this.rowMarker.deletedAt!.property]: null };
    return this.update(row, key, patch, options, undefined, 'withDeleted');
  }

  /**
   * @param condition of a `check`; its mismatch takes precedence over that of a missing entity. @throws errors of
   * compiling the patch.
   */
  update(
    row: Uint8Array,
    key: Readonly<Entity>,
    patch: object,
    options: WriteOptions | undefined,
    condition?: Condition,
    existence: Existence = 'live',
  ): Change {
    const { schema, lock, rowMarker } = this;
    const { afterUpdate } = schema.lifecycle;
    const given = { ...(patch as Entity) };
    const life = this.expiry?.ttlOf(given, options);
    if (schema.timeToLive.property !== undefined) delete given[schema.timeToLive.property];
    const expected = lock && given[lock.property];
    if (lock !== undefined) delete given[lock.property];
    const builder = new RowBuilder(schema, row, timestampOf(options)).set(given as never);
    const mutations = builder.build(life?.own !== undefined || expected !== undefined);
    applyWriteOptions(mutations, options);
    const markerApart = this.markerApart(mutations, options);
    const there = rowMarker.expect(existence);
    const onApplied = this.afterCommit.hook(
      'update',
      afterUpdate && (() => afterUpdate(draftOf(schema, key, given))),
    );
    const missing =
      condition?.mismatch ?? (() => notFound(schema, key, existence === 'live' ? 'update' : 'restore'));
    if (lock === undefined && life === undefined) {
      return {
        operation: 'update',
        row,
        markerApart,
        expects: condition === undefined ? there : [...condition.expects, ...there],
        mismatch: missing,
        reads: undefined,
        resolve: () => ({ mutations, seen: NOTHING }),
        onApplied,
        onFailed: undefined,
      };
    }
    return {
      operation: 'update',
      row,
      markerApart,
      expects: condition?.expects ?? NOTHING,
      mismatch: missing,
      reads: this.readsOf(row, life),
      resolve: (before) => {
        const image = before!;
        if (!rowMarker.isIn(image, existence)) throw missing();
        const seen = [...there];
        let changed: readonly RowMutation[] = mutations;
        if (lock !== undefined) {
          const stored = lock.stored(image);
          if (expected !== undefined && expected !== stored)
            throw lock.conflict({ ...key, ...given }, expected);
          changed = lock.counted(mutations, stored);
          seen.push(lock.expect(stored));
        }
        if (life === undefined) return { mutations: changed, seen };
        const lived = this.expiry!.apply(changed, image, life);
        return { ...lived, seen: [...seen.slice(1), ...lived.seen] };
      },
      onApplied,
      onFailed: undefined,
    };
  }

  /** Deletes the row; with `@DeletedAt` stores the time of deletion instead. */
  delete(
    row: Uint8Array,
    key: Readonly<Entity>,
    options: WriteOptions | undefined,
    condition?: Condition,
  ): Change {
    const { rowMarker, schema } = this;
    const { deletedAt } = rowMarker;
    if (deletedAt === undefined) return this.purge(row, key, options, condition);
    const patch = { [deletedAt.property]: new Date(this.now()) };
    const update = this.update(row, key, patch, options, condition);
    const { afterDelete } = schema.lifecycle;
    return {
      ...update,
      expects: condition?.expects ?? NOTHING,
      mismatch: condition?.mismatch,
      reads: update.reads ?? this.readsOf(row, undefined),
      // A missing or soft-deleted entity stays unchanged, also one that has been purged since it was read.
      resolve: (before) => {
        if (!rowMarker.isIn(before!, 'live')) return { mutations: NOTHING, seen: NOTHING };
        const resolved = update.resolve(before);
        return { ...resolved, seen: [...rowMarker.expect('live'), ...resolved.seen] };
      },
      onApplied: this.afterCommit.hook(
        'delete',
        afterDelete && (() => afterDelete(draftOf(schema, key, patch))),
      ),
    };
  }

  /** Deletes the row with all of its cells. */
  purge(
    row: Uint8Array,
    key: Readonly<Entity>,
    options: WriteOptions | undefined,
    condition?: Condition,
  ): Change {
    const del = new Delete(row, timestampOf(options));
    applyWriteOptions([del], options);
    const { afterDelete } = this.schema.lifecycle;
    return {
      operation: 'delete',
      row,
      expects: condition?.expects ?? NOTHING,
      mismatch: condition?.mismatch,
      reads: undefined,
      resolve: () => ({ mutations: [del], seen: NOTHING }),
      onApplied: this.afterCommit.hook(
        'delete',
        afterDelete && (() => afterDelete(draftOf(this.schema, key, {}))),
      ),
      onFailed: undefined,
    };
  }

  /** Any mutations of a row, without hooks and versions. They get the row's TTL. */
  mutate(
    row: Uint8Array,
    mutations: readonly RowMutation[],
    options: WriteOptions | undefined,
    condition?: Condition,
  ): Change {
    applyWriteOptions(mutations, options);
    const life = this.expiry?.ttlOf(undefined, options);
    return {
      operation: 'mutate',
      row,
      markerApart: this.markerApart(mutations, options),
      expects: condition?.expects ?? NOTHING,
      mismatch: condition?.mismatch,
      reads: life && this.expiry!.reads(row, life),
      resolve: (before) =>
        life === undefined ? { mutations, seen: NOTHING } : this.expiry!.apply(mutations, before!, life),
      onApplied: undefined,
      onFailed: undefined,
    };
  }

  /**
   * The marker, if the mutations write nothing else in its family, and it has neither TTL nor explicit timestamp, so
   * that an existing one can be kept.
   */
  private markerApart(
    mutations: readonly RowMutation[],
    options: WriteOptions | undefined,
  ): Marker | undefined {
    const { marker, table } = this.schema;
    if (marker === undefined || this.expiry !== undefined) return undefined;
    if (options?.ttl !== undefined || options?.timestamp !== undefined) return undefined;
    const family = table.descriptor.families.find(({ name }) => name === marker.family)!;
    if (family.ttl !== FOREVER) return undefined;
    let marked = false;
    for (const mutation of mutations) {
      for (const cell of 'cells' in mutation ? mutation.cells : mutation.columns) {
        if (cell.family !== marker.family) continue;
        if (!('value' in cell) || cell.value !== marker.value) return undefined;
        marked = true;
      }
    }
    return marked ? marker : undefined;
  }

  /** The same change with a condition of the caller. */
  onlyIf(change: Change, expects: readonly Expectation[], mismatch: NonNullable<Change['mismatch']>): Change {
    return { ...change, expects: [...expects, ...change.expects], mismatch };
  }

  /** The columns that an update must read because it depends on stored values. */
  private readsOf(row: Uint8Array, life: WriteTtl | undefined): Get {
    const reads = life === undefined ? new Get(row) : this.expiry!.reads(row, life);
    this.lock?.addTo(reads);
    this.rowMarker.addTo(reads, life !== undefined);
    return reads;
  }

  private mutationsOf(entity: Entity, row: Uint8Array, options: WriteOptions | undefined): RowMutation[] {
    const { lock } = this;
    const mutations =
      lock === undefined
        ? this.schema.mapper.toMutations(entity, row, timestampOf(options))
        : lock.mutationsOf(entity, row, timestampOf(options));
    applyWriteOptions(mutations, options);
    return mutations;
  }

  private whole(
    operation: ChangeOperation,
    entity: Entity,
    row: Uint8Array,
    failed: (() => void) | undefined,
    mutations: readonly RowMutation[],
    options: WriteOptions | undefined,
    { expects, mismatch }: Pick<Change, 'expects' | 'mismatch'>,
  ): Change {
    const { expiry } = this;
    const life = expiry?.ttlOf(entity, options);
    return {
      operation,
      row,
      expects,
      mismatch,
      reads: life && expiry!.reads(row, life),
      resolve: (before) =>
        life === undefined ? { mutations, seen: NOTHING } : expiry!.apply(mutations, before!, life),
      onApplied: this.afterCommit.afterWrite(operation, entity, failed),
      onFailed: failed,
    };
  }

  /** A get of all columns of the entity. */
  get(row: Uint8Array): Get {
    const get = new Get(row);
    applyReadSet(get, this.readSet);
    const living = liveFilter(this.schema);
    return living === undefined ? get : get.setFilter(living);
  }
}

const NOTHING: readonly never[] = Object.freeze([]);
