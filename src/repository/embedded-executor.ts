import { RowanError } from '../errors.js';
import { type ColumnSchema, type EntitySchema, SHADOW_QUALIFIER } from '../schema/types.js';
import {
  type AtomicStep,
  CellType,
  type CheckAndMutateResult,
  type ColumnPuts,
  columnName,
  Delete,
  Get,
  type OperationOptions,
  type PackedPuts,
  Put,
  Result,
  type RowMutation,
  type RowRead,
  type StepTable,
  takesPackedPuts,
} from '../table/index.js';
import {
  applyAction,
  asAction,
  type Change,
  type ChangeExecutor,
  type ChangeOutcome,
  checked,
  DONE,
  deleteOutlived,
  type Expectation,
  getIf,
  isSatisfiedBy,
  resolvedFor,
} from './change.js';
import type { ChangeImage, EntityChange, OwnColumn, PutLater, StepMaintainer } from './maintainer.js';
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
      const { entity, operation, row, resolve, finalColumns: settled } = queue[at]!;
      const table = entity.table.descriptor.name;
      const before = RowImage.of(row, step.read(new Get(row), table));
      const mutations = resolve(before);
      if (mutations.length === 0) continue;
      changed++;
      const maintainers =
        settled === undefined ? this.maintainersOf(entity) : this.affectedBy(settled, entity);
      if (settled !== undefined && maintainers.length === 0) {
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
    const { table, row, before } = change;
    let { mutations } = change;
    let after: RowImage;
    let result: Result;
    if (areNewest(mutations, before, this.now())) {
      after = before.after(mutations);
      const own = ownColumns({ ...change, after }, maintainers, step);
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
      const own = ownColumns({ ...change, after }, maintainers, step);
      if (own.length > 0) [mutations, after] = applyAfter(change, mutations, after, own, step);
    }
    const image: ChangeImage = { operation: change.operation, row, before, after, mutations };
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
  image: ChangeImage & Pick<DecidedChange, 'shadows'>,
  maintainers: readonly StepMaintainer[],
  step: AtomicStep,
): readonly OwnColumn[] {
  const { shadows, after } = image;
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

function tooMany({ entity }: EntityChange): RowanError {
  return new RowanError(
    'ERR_TOO_LARGE',
    `The change has effects on more than ${MAX_EFFECTS} rows of ${entity.name} and other entities (copies, cascades). A change is one step, so nothing was written. ` +
      'Change or delete the others first, in batches: find(…).deleteAll().',
    { details: { entity: entity.name } },
  );
}

/** Changes processed in one turn of the event loop. */
const TURN = 1024;

/** The executor of the embedded engine: reading and writing of a change are one step. */
export class EmbeddedExecutor implements ChangeExecutor {
  readonly write: ChangeExecutor['write'];
  readonly writeIf: ChangeExecutor['writeIf'];
  readonly putAll: ChangeExecutor['putAll'];
  readonly putPacked: ChangeExecutor['putPacked'];
  readonly insertPacked: ChangeExecutor['insertPacked'];

  constructor(
    private readonly table: StepTable,
    private readonly maintainers: readonly StepMaintainer[],
    /** Without maintainers: changes have no effects. */
    private readonly driver = new StepDriver(
      () => [],
      () => 0,
    ),
    /** The family of the shadows of rows; undefined: they have none. */
    private readonly shadows: string | undefined = undefined,
  ) {
    if (maintainers.length === 0) {
      this.write = (row, mutations, options) => this.alone(row, mutations, options);
      this.writeIf = (row, mutations, expected, options) =>
        this.table.checkAndMutate(checked(row, [expected], mutations), options).then(isSuccess);
    }
    const { effectsOfNewRow, effectsOfNewRows } = maintainers.length === 1 ? maintainers[0]! : NO_FAST_PATHS;
    // Elsewhere the puts may be kept longer than the call lasts.
    const packed = takesPackedPuts(table);
    const effectsOfInserts = maintainers.length === 0 ? noEffects : effectsOfNewRows;
    this.insertPacked =
      packed && effectsOfInserts
        ? (puts, absent, mismatch, options, atomic) => {
            const insert = (from: number, to: number, step: AtomicStep): ChangeOutcome[] => {
              const turn = puts.slice(from, to);
              if (!step.isShared && putNewRows(turn, step, effectsOfInserts))
                return turn.rows.map(() => DONE);
              return turn.toPuts().map((put, i) => {
                const change = insertOf(put, absent, () => mismatch(from + i));
                return atomic ? { ok: true, result: this.apply(change, step) } : this.attempt(change, step);
              });
            };
            const { length } = puts.rows;
            return atomic
              ? this.table.atomic((step) => insert(0, length, step), options)
              : this.inTurns(length, options, insert);
          }
        : undefined;
    if (effectsOfNewRow === undefined && effectsOfNewRows === undefined) return;
    this.putAll = (puts, options) =>
      this.inTurns(puts.length, options, (from, to, step) =>
        this.putTurn(puts.slice(from, to), step, effectsOfNewRow),
      );
    if (effectsOfNewRows === undefined || !packed) return;
    this.putPacked = (puts, options) =>
      this.inTurns(puts.rows.length, options, (from, to, step) => {
        const turn = puts.slice(from, to);
        return !step.isShared && putNewRows(turn, step, effectsOfNewRows)
          ? turn.rows.map(() => DONE)
          : this.putTurn(turn.toPuts(), step, effectsOfNewRow);
      });
  }

  run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (change.reads === undefined && change.markerApart === undefined && this.maintainers.length === 0)
      return this.direct(change, options);
    return this.table.atomic((step) => this.apply(change, step), options);
  }

  /** A put's promise is the table's own, without one around it. */
  private alone(
    row: Uint8Array,
    mutations: readonly RowMutation[],
    options: OperationOptions | undefined,
  ): Promise<void> {
    const action = asAction(row, mutations);
    if (action.kind === 'put') return this.table.put(action, options);
    return applyAction(this.table, action, options).then(noResult);
  }

  private direct(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (change.expects.length > 0) return this.checked(change, options);
    try {
      return applyAction(this.table, asAction(change.row, change.resolve(undefined).mutations), options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private async checked(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const check = checked(change.row, change.expects, change.resolve(undefined).mutations);
    const { success, result } = await this.table.checkAndMutate(check, options);
    if (!success) throw change.mismatch!();
    return result ?? Result.EMPTY;
  }

  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    return this.inTurns(changes.length, options, (from, to, step) =>
      changes.slice(from, to).map((change) => this.attempt(change, step)),
    );
  }

  /** Calls `decide` for up to {@link TURN} items at a time, each time in a step. */
  private async inTurns(
    count: number,
    options: OperationOptions | undefined,
    decide: (from: number, to: number, step: AtomicStep) => readonly ChangeOutcome[],
  ): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (let from = 0; from < count; from += TURN)
      outcomes.push(...(await this.table.atomic((step) => decide(from, from + TURN, step), options)));
    return outcomes;
  }

  /** Fast path for puts that create rows, if there is one. Other puts go the general way. */
  private putTurn(
    puts: readonly Put[],
    step: AtomicStep,
    effectsOfNewRow: StepMaintainer['effectsOfNewRow'],
  ): readonly ChangeOutcome[] {
    const table = this.table.name;
    const putLater: PutLater | undefined =
      effectsOfNewRow === undefined || step.isShared || step.putLater === undefined
        ? undefined
        : (later) => step.putLater!(later);
    let put: Put;
    const putNew = (): boolean => {
      if (!effectsOfNewRow!(put, putLater!)) return false;
      step.apply({ table, change: put });
      return true;
    };
    return puts.map((each): ChangeOutcome => {
      put = each;
      try {
        if (putLater !== undefined && step.read(new Get(put.row)).isEmpty && step.attempt(putNew))
          return DONE;
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        return { ok: false, error };
      }
      return this.attempt(changeOf(put), step);
    });
  }

  /** Applies one change. If it is refused, none of it is written. */
  private attempt(change: Change, step: AtomicStep): ChangeOutcome {
    try {
      return { ok: true, result: step.attempt(() => this.apply(change, step)) };
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      return { ok: false, error };
    }
  }

  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]> {
    return this.table.atomic((step) => changes.map((change) => this.apply(change, step)), options);
  }

  /** Applies a change with its effects. @throws the change's mismatch; errors of maintainers. */
  private apply(change: Change, step: AtomicStep): Result {
    const { row, expects } = change;
    const watched = this.maintainers.length > 0;
    const reads = watched ? new Get(row) : readsOf(change);
    let before = reads && RowImage.of(row, step.read(reads));
    if (!expects.every((expectation) => holds(row, expectation, step.read))) throw change.mismatch!();
    const { mutations, remains, isDated, ...resolved } =
      before === undefined ? change.resolve(before) : resolvedFor(change, before);
    if (mutations.length === 0) return Result.EMPTY;
    const outlived = remains?.in(RowImage.of(row, step.read(remains.reads))) ?? resolved.outlived;
    const { operation } = change;
    const table = this.table.name;
    // A separate change: what follows a delete gets a later timestamp, even within the millisecond.
    if (outlived !== undefined && outlived.length > 0)
      step.apply({ table, change: deleteOutlived(row, outlived, isDated === true ? undefined : step.time) });
    if (remains !== undefined && watched) before = RowImage.of(row, step.read(new Get(row)));
    if (!watched) return step.apply({ table, change: asAction(row, mutations) });
    const { shadows } = this;
    const decided = { table, operation, row, before: before!, mutations, shadows };
    return this.driver.apply(decided, this.maintainers, step);
  }
}

/** The columns to read: those the change depends on, and the marker where it may be left as it is. */
function readsOf({ row, reads, markerApart }: Change): Get | undefined {
  if (reads !== undefined || markerApart === undefined) return reads;
  return new Get(row).addColumn(markerApart.family, markerApart.qualifier);
}

function noResult(): void {}

function isSuccess({ success }: CheckAndMutateResult): boolean {
  return success;
}

const NO_FAST_PATHS: Pick<StepMaintainer, 'effectsOfNewRow' | 'effectsOfNewRows'> = {};

/** False, and nothing is put: the rows are not certain to be new, or the puts have to be processed one by one. */
function putNewRows(
  puts: PackedPuts,
  step: AtomicStep,
  effectsOfNewRows: (puts: PackedPuts) => ColumnPuts | 'none' | undefined,
): boolean {
  try {
    return step.putNewRows?.(puts, () => effectsOfNewRows(puts)) ?? false;
  } catch (error) {
    // Nothing was put. Put one by one, some of the rows may be accepted.
    if (error instanceof RowanError) return false;
    throw error;
  }
}

/** No row changes with these puts. */
function noEffects(): 'none' {
  return 'none';
}

/** A put of an entity that must not exist. */
function insertOf(put: Put, absent: Expectation, mismatch: () => RowanError): Change {
  return { ...changeOf(put), operation: 'insert', expects: [absent], mismatch };
}

/** A put without expectations and hooks, as a change. */
function changeOf(put: Put): Change {
  return {
    operation: 'put',
    row: put.row,
    expects: [],
    mismatch: undefined,
    reads: undefined,
    resolve: () => ({ mutations: [put], seen: [] }),
    onApplied: undefined,
    onFailed: undefined,
  };
}

function holds(row: Uint8Array, expectation: Expectation, read: RowRead): boolean {
  if (expectation.kind === 'filter') return !read(getIf(row, [expectation])).isEmpty;
  const { family, qualifier } = expectation;
  return isSatisfiedBy(
    expectation,
    read(new Get(row).addColumn(family, qualifier)).getValue(family, qualifier),
  );
}
