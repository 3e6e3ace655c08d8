/** The driver of maintainers on engines whose steps may write several rows. */

import { RowanError } from '../errors.js';
import { type ColumnSchema, type EntitySchema, SHADOW_QUALIFIER } from '../schema/types.js';
import {
  type AtomicStep,
  CellType,
  columnName,
  Get,
  Put,
  type Result,
  type RowMutation,
} from '../table/index.js';
import { asAction } from './change.js';
import {
  type ChangeImage,
  columnMutations,
  type EntityChange,
  type OwnColumn,
  type StepMaintainer,
} from './maintainer.js';
import { newToken } from './remote/row-work.js';
import { areNewest, RowImage } from './row-image.js';

/** The most rows that one change may affect: all of them are one turn of the event loop and one WAL record. */
export const MAX_EFFECTS = 10_000;

/** A change whose row was read and whose mutations are computed. */
interface DecidedChange extends Pick<ChangeImage, 'operation' | 'row' | 'before' | 'mutations'> {
  readonly table: string;
  /** The family of the row's shadow; undefined: its entity has none. */
  readonly shadows: string | undefined;
}

/**
 * The driver of maintainers on engines whose steps may write several rows. It applies a change with the columns that
 * maintainers amend, their effects on other rows, and changes of other entities with their own effects. A queue holds
 * these, so that long chains need no deep stack.
 */
export class StepDriver {
  /** The maintainers affected by changes of the same columns. */
  private readonly affected = new WeakMap<readonly ColumnSchema[], readonly StepMaintainer[]>();

  constructor(
    /** The maintainers of an entity. */
    private readonly maintainersOf: (entity: EntitySchema) => readonly StepMaintainer[],
    /** The engine's time. */
    private readonly now: () => number,
  ) {}

  /** Applies a change with its effects. @throws errors of maintainers; RowanError `ERR_TOO_LARGE`. */
  apply(change: DecidedChange, maintainers: readonly StepMaintainer[], step: AtomicStep): Result {
    const queue: EntityChange[] = [];
    const result = this.one(change, maintainers, step, queue);
    if (queue.length > 0) this.drain(queue, step);
    return result;
  }

  /** Applies changes of entities' rows with their effects. @returns how many had something to change. */
  applyChanges(changes: readonly EntityChange[], step: AtomicStep): number {
    return changes.length === 0 ? 0 : this.drain([...changes], step);
  }

  private drain(queue: EntityChange[], step: AtomicStep): number {
    let changed = 0;
    // The queue grows meanwhile.
    for (let at = 0; at < queue.length; at++) {
      if (at === MAX_EFFECTS) throw tooMany(queue[at]!);
      const { entity, operation, row, resolve, finalColumns } = queue[at]!;
      const table = entity.table.descriptor.name;
      const before = RowImage.of(row, step.read(new Get(row), table));
      const mutations = resolve(before);
      if (mutations.length === 0) continue;
      changed++;
      const maintainers =
        finalColumns === undefined ? this.maintainersOf(entity) : this.affectedBy(finalColumns, entity);
      if (finalColumns !== undefined && maintainers.length === 0) {
        step.apply({ table, change: asAction(row, mutations) });
        continue;
      }
      const shadows = entity.marker?.family;
      const change = { table, operation, row, before, mutations, shadows };
      this.one(change, maintainers, step, queue);
    }
    return changed;
  }

  private affectedBy(columns: readonly ColumnSchema[], entity: EntitySchema): readonly StepMaintainer[] {
    let found = this.affected.get(columns);
    if (found === undefined) {
      found = this.maintainersOf(entity).filter((one) => one.isAffectedBy?.(columns) ?? true);
      this.affected.set(columns, found);
    }
    return found;
  }

  private one(
    change: DecidedChange,
    maintainers: readonly StepMaintainer[],
    step: AtomicStep,
    queue: EntityChange[],
  ): Result {
    const { operation, table, row, before, shadows } = change;
    let { mutations } = change;
    let after: RowImage;
    let result: Result;
    if (areNewest(mutations, before, this.now())) {
      after = before.after(mutations);
      const own = ownColumns({ operation, row, before, after, mutations }, shadows, maintainers, step);
      const joined = own.length === 0 ? mutations : joinColumns(row, mutations, own);
      result = step.apply({ table, change: asAction(row, joined ?? mutations) });
      if (joined === undefined) [mutations, after] = applyAfter(change, mutations, after, own, step);
      else if (joined !== mutations) {
        mutations = joined;
        after = before.after(joined);
      }
    } else {
      result = step.apply({ table, change: asAction(row, mutations) });
      after = RowImage.of(row, step.read(new Get(row), table));
      const own = ownColumns({ operation, row, before, after, mutations }, shadows, maintainers, step);
      if (own.length > 0) [mutations, after] = applyAfter(change, mutations, after, own, step);
    }
    const image: ChangeImage = { operation, row, before, after, mutations };
    for (const maintainer of maintainers) {
      for (const effect of maintainer.effects(image, step)) {
        if ('entity' in effect) queue.push(effect);
        else step.apply({ table: effect.table, change: effect.mutation });
      }
    }
    return result;
  }
}

function ownColumns(
  image: ChangeImage,
  shadows: DecidedChange['shadows'],
  maintainers: readonly StepMaintainer[],
  step: AtomicStep,
): readonly OwnColumn[] {
  const { after } = image;
  // A connection that has read the row writes it on condition that its shadow is the same.
  let own: OwnColumn[] | undefined =
    step.isShared && shadows !== undefined && !after.isEmpty
      ? [{ family: shadows, qualifier: SHADOW_QUALIFIER, value: newToken() }]
      : undefined;
  for (const maintainer of maintainers) {
    if (maintainer.amend === undefined) continue;
    const columns = maintainer.amend(image, step);
    if (columns.length > 0) own = own === undefined ? [...columns] : [...own, ...columns];
  }
  return own ?? NOTHING;
}

const NOTHING: readonly never[] = Object.freeze([]);

/**
 * Adds the columns to the change itself. Undefined where the change deletes or sets one of them: a single timestamp
 * would be wrong.
 */
function joinColumns(
  row: Uint8Array,
  mutations: readonly RowMutation[],
  own: readonly OwnColumn[],
): readonly RowMutation[] | undefined {
  const names = new Set(own.map(({ family, qualifier }) => columnName(family, qualifier)));
  let put: Put | undefined;
  for (const mutation of mutations) {
    if (mutation.kind === 'delete') {
      const whole = mutation.cells.length === 0;
      if (whole || mutation.cells.some(({ type }) => type === CellType.DeleteFamily)) return undefined;
    }
    const cells = 'cells' in mutation ? mutation.cells : mutation.columns;
    if (cells.some(({ family, qualifier }) => names.has(columnName(family, qualifier)))) return undefined;
    if (mutation.kind === 'put') put ??= mutation;
  }
  if (put === undefined || own.some(({ value }) => value === undefined)) return undefined;
  const joined = new Put(row, put.timestamp).setDurability(put.durability).setTtl(put.ttl);
  joined.cells.push(...put.cells);
  for (const { family, qualifier, value } of own) joined.addColumn(family, qualifier, value!);
  return mutations.map((mutation) => (mutation === put ? joined : mutation));
}

/** Writes the columns as a second change, which gets a later timestamp where needed. */
function applyAfter(
  { table, row }: DecidedChange,
  mutations: readonly RowMutation[],
  after: RowImage,
  own: readonly OwnColumn[],
  step: AtomicStep,
): [readonly RowMutation[], RowImage] {
  const durability = mutations[0]?.durability;
  const ttl = mutations.find((mutation) => mutation.kind !== 'delete')?.ttl ?? own[0]!.ttl;
  const later = columnMutations(row, own, ttl);
  if (durability !== undefined) for (const mutation of later) mutation.setDurability(durability);
  step.apply({ table, change: asAction(row, later) });
  return [[...mutations, ...later], after.after(later)];
}

function tooMany({ entity }: EntityChange): RowanError {
  return new RowanError(
    'ERR_TOO_LARGE',
    `The change has effects on more than ${MAX_EFFECTS} rows of ${entity.name} and other entities (copies, cascades). A change is one step, so nothing was written. ` +
      'Change or delete the others first, in batches: find(…).deleteAll().',
    { details: { entity: entity.name } },
  );
}
