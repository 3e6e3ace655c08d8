import { toHex } from '../../bytes/index.js';
import { isWriteRefused } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { isGet } from '../../table/get-and-scan.js';
import type {
  Append,
  AtomicStep,
  BatchAction,
  BatchOptions,
  BatchOutcome,
  CheckAndMutate,
  CheckAndMutateResult,
  CommitOutcome,
  Delete,
  Get,
  Increment,
  OperationOptions,
  Put,
  Result,
  ResultScanner,
  RowMutations,
  RowRead,
  RowScan,
  Scan,
  StepTable,
  SyncResultScanner,
  SyncTable,
  Table,
  TableChange,
} from '../../table/index.js';
import { isCheckAndMutate } from '../../table/row-mutations.js';
import type { TableViews } from '../feature.js';
import { cannotMigrate, migrateRow, moveCounts, upgradeChecked, upgradeOf } from './migrate-row.js';
import { type Change, TableMoves } from './table-moves.js';

/**
 * A table as its entities are declared, on an engine that answers asynchronously. Layers above do not see where the
 * values of moved columns are still stored.
 */
class MovedTable<T extends Table = Table> implements Table {
  constructor(
    protected readonly inner: T,
    protected readonly moves: TableMoves,
    /** Whether rows of an older version that are read by key may be rewritten. */
    private readonly writesBack: boolean,
  ) {}

  get name(): string {
    return this.inner.name;
  }

  get operationTimeout(): number | undefined {
    return this.inner.operationTimeout;
  }

  /**
   * Migrates the rows of requests that the engine evaluates on stored columns: conditions, filters, increments.
   * @throws UnsupportedError where migration and request cannot be one step.
   */
  protected async migrateFor(items: readonly (Get | Change | CheckAndMutate)[]): Promise<void> {
    const rows: Uint8Array[] = [];
    const counted: Uint8Array[] = [];
    for (const item of items) {
      if (!this.moves.mustMigrate(item)) continue;
      if (this.moves.upgradesOf(item.row) !== undefined) rows.push(item.row);
      else if (this.moves.onlyCounts(item)) counted.push(item.row);
      else throw cannotMigrate(this.name);
    }
    if (rows.length > 0) await this.writeBack(rows);
    if (counted.length > 0) await moveCounts(this.inner, this.moves, counted);
  }

  /** Rewrites rows of older versions. */
  protected async writeBack(rows: readonly Uint8Array[]): Promise<void> {
    const distinct = new Map(rows.map((row) => [toHex(row), row]));
    await Promise.all(
      [...distinct.values()].map((row) => upgradeChecked(this.inner, this.moves.upgradesOf(row)!, row)),
    );
  }

  /** Rows read by key, as declared. Rewrites rows of older versions where their upgrades ask for it and the reader may write. */
  private async read(results: readonly Result[], gets: readonly Get[]): Promise<Result[]> {
    const declared = results.map((result, i) => this.moves.declared(result, gets[i]!));
    if (!this.writesBack) return declared;
    const old = results.filter(
      (result, i) =>
        !result.isEmpty && !gets[i]!.raw && this.moves.upgradesOf(result.row)?.writesBack(result),
    );
    try {
      if (old.length > 0) await this.writeBack(old.map(({ row }) => row));
    } catch (error) {
      // The rows are known without it: who may only read gets them too.
      if (!isWriteRefused(error)) throw error;
    }
    return declared;
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    await this.migrateFor([get]);
    const [result] = await this.read([await this.inner.get(this.moves.widened(get), options)], [get]);
    return result!;
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    await this.migrateFor(gets);
    const wide = gets.map((get) => this.moves.widened(get));
    return this.read(await this.inner.getAll(wide, options), gets);
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    await this.migrateFor([get]);
    return this.inner.exists(this.moves.widened(get), options);
  }

  async put(put: Put, options?: OperationOptions): Promise<void> {
    await this.change(put, options);
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    const outcomes = await this.batch(puts, options);
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    await this.change(del, options);
  }

  /** Applies a put or a delete. */
  protected async change(change: Put | Delete, options?: OperationOptions): Promise<void> {
    if (this.moves.upgradesOf(change.row) !== undefined) await this.migrateFor([change]);
    const removing = this.moves.removingOld(change);
    if (removing.kind === 'put') await this.inner.put(removing, options);
    else if (removing.kind === 'delete') await this.inner.delete(removing, options);
    else await this.inner.mutateRow(removing, options);
  }

  async increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    await this.migrateFor([increment]);
    return this.inner.increment(increment, options);
  }

  async append(append: Append, options?: OperationOptions): Promise<Result> {
    await this.migrateFor([append]);
    return this.inner.append(append, options);
  }

  async mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    await this.migrateFor([mutations]);
    return this.inner.mutateRow(this.moves.removingOld(mutations), options);
  }

  async checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    await this.migrateFor([check]);
    return this.inner.checkAndMutate(this.checkRemovingOld(check), options);
  }

  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    await this.migrateFor(actions);
    const outcomes = await this.inner.batch(
      actions.map((action): BatchAction => {
        if (isGet(action)) return this.moves.widened(action);
        return isCheckAndMutate(action) ? this.checkRemovingOld(action) : this.moves.removingOld(action);
      }),
      options,
    );
    return outcomes.map((outcome, i) => {
      const action = actions[i]!;
      if (!outcome.ok || !isGet(action)) return outcome;
      return { ...outcome, result: this.moves.declared(outcome.result, action) };
    });
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    if (scan.raw) return this.inner.scan(scan, options);
    const scanner = this.inner.scan(this.moves.widened(scan), options);
    const declared = (result: Result): Result => this.moves.declared(result, scan);
    return {
      next: async () => {
        const result = await scanner.next();
        return result && declared(result);
      },
      nextBatch: async (count, bytes) => (await scanner.nextBatch(count, bytes)).map(declared),
      close: () => scanner.close(),
      async *[Symbol.asyncIterator]() {
        for await (const result of scanner) yield declared(result);
      },
    };
  }

  private checkRemovingOld(check: CheckAndMutate): CheckAndMutate {
    return check.withAction(this.moves.removingOld(check.action));
  }
}

/** The moves of a table, by name. Undefined: none. */
type MovesOf = (table: string) => TableMoves | undefined;

type Steps = Pick<StepTable, 'atomic' | 'commit'>;

/** A view of a table on an engine that answers synchronously. Migrations are part of the same step. */
class MovedSyncTable extends MovedTable<SyncTable> implements SyncTable {
  readonly atomic: Steps['atomic'];
  readonly commit: Steps['commit'];

  constructor(inner: SyncTable, moves: TableMoves, movesOf: MovesOf, writesBack: boolean) {
    super(inner, moves, writesBack);
    const steps = movedSteps(inner, movesOf);
    this.atomic = steps.atomic;
    this.commit = steps.commit;
  }

  protected override async migrateFor(items: Parameters<MovedTable['migrateFor']>[0]): Promise<void> {
    const rows = items.filter((item) => this.moves.mustMigrate(item)).map(({ row }) => row);
    if (rows.length === 0) return;
    await this.inner.atomic!((step) => {
      for (const row of rows) migrateRow(step, this.name, this.moves, row);
    });
  }

  protected override async change(change: Put | Delete, options?: OperationOptions): Promise<void> {
    if (this.moves.upgradesOf(change.row) === undefined) return super.change(change, options);
    // One step, so that writes keep their order.
    await this.atomic((step) => void step.apply({ table: this.name, change }), options);
  }

  protected override async writeBack(rows: readonly Uint8Array[]): Promise<void> {
    await this.inner.atomic!((step) => {
      for (const row of rows) migrateRow(step, this.name, this.moves, row);
    });
  }

  /** @throws UnsupportedError when its filter is on a moved column: a synchronous read cannot migrate rows. */
  getSync(get: Get): Result {
    if (this.moves.mustMigrate(get)) throw cannotMigrate(this.name);
    return this.moves.declared(this.inner.getSync(this.moves.widened(get)), get);
  }

  scanSync(scan: Scan): SyncResultScanner {
    if (scan.raw) return this.inner.scanSync(scan);
    const scanner = this.inner.scanSync(this.moves.widened(scan));
    const declared = (result: Result): Result => this.moves.declared(result, scan);
    return {
      next: () => {
        const result = scanner.next();
        return result && declared(result);
      },
      nextBatch: (count, bytes) => scanner.nextBatch(count, bytes).map(declared),
      close: () => scanner.close(),
      *[Symbol.iterator]() {
        for (const result of scanner) yield declared(result);
      },
    };
  }
}

/** A table without moved columns whose steps may include tables with some. */
function withMovedSteps(inner: SyncTable, movesOf: MovesOf): SyncTable {
  return Object.assign(Object.create(inner) as SyncTable, movedSteps(inner, movesOf));
}

function movedSteps(inner: SyncTable, movesOf: MovesOf): Steps {
  return {
    commit: (decide, options?: OperationOptions): Promise<readonly CommitOutcome[]> =>
      inner.commit!((read) => {
        const groups = decide((get, table = inner.name) => declaredRead(read, movesOf(table), get, table));
        const upgraded = new Set<string>();
        return groups.map((group) =>
          group.flatMap((change) => migratedChanges(movesOf, change, read, upgraded)),
        );
      }, options),
    atomic: (decide, options) =>
      inner.atomic!((step) => decide(new MovedStep(step, inner.name, movesOf)), options),
  };
}

/**
 * The change in terms of stored columns, after the upgrade of its row. `upgraded`: rows already upgraded in this
 * step, which its reads do not show yet.
 */
function migratedChanges(
  movesOf: MovesOf,
  given: TableChange,
  read: RowRead,
  upgraded: Set<string>,
): TableChange[] {
  const { table, change } = given;
  const moves = movesOf(table);
  const upgrades = moves?.upgradesOf(change.row);
  if (upgrades !== undefined) {
    const id = `${table}/${toHex(change.row)}`;
    const first = upgraded.has(id) ? undefined : upgradeOf(upgrades, change.row, read, table);
    upgraded.add(id);
    return first === undefined ? [given] : [first, given];
  }
  if (moves?.mustMigrate(change)) throw cannotMigrate(table);
  return [{ ...given, change: moves?.removingOld(change) ?? change }];
}

function declaredRead(read: RowRead, moves: TableMoves | undefined, get: Get, table: string): Result {
  if (moves === undefined) return read(get, table);
  return moves.declared(read(moves.widened(get), table), get);
}

class MovedStep implements AtomicStep {
  constructor(
    private readonly inner: AtomicStep,
    private readonly own: string,
    private readonly movesOf: MovesOf,
  ) {}

  get time(): number {
    return this.inner.time;
  }

  get isShared(): boolean {
    return this.inner.isShared;
  }

  readonly read: RowRead = (get, table = this.own) => {
    const moves = this.movesOf(table);
    if (moves?.mustMigrate(get)) migrateRow(this.inner, table, moves, get.row);
    return declaredRead(this.inner.read, moves, get, table);
  };

  /** @throws UnsupportedError when its filter is on a moved column. */
  readonly scan: RowScan = (scan, table = this.own) => {
    const moves = this.movesOf(table);
    if (moves === undefined || scan.raw) return this.inner.scan(scan, table);
    return this.inner.scan(moves.widened(scan), table).map((row) => moves.declared(row, scan));
  };

  apply(given: TableChange): Result {
    const { table, change } = given;
    const moves = this.movesOf(table);
    if (moves === undefined) return this.inner.apply(given);
    if (moves.mustMigrate(change)) migrateRow(this.inner, table, moves, change.row);
    return this.inner.apply({ ...given, change: moves.removingOld(change) });
  }

  attempt<T>(work: () => T): T {
    return this.inner.attempt(work);
  }
}

const NEWEST = { maxVersions: 1, raw: false } as const;

/** The moved columns and the upgrades of a database's tables. Creates the views that hide them. */
export class MovedTables implements TableViews {
  private readonly byTable = new Map<string, TableMoves>();
  private readonly of: MovesOf = (table) => this.byTable.get(table);

  declareTable(name: string, entities: readonly EntitySchema[]): void {
    const moves = TableMoves.of(entities);
    if (moves === undefined) this.byTable.delete(name);
    else this.byTable.set(name, moves);
  }

  declaredRow(table: string, row: Result): Result {
    return this.of(table)?.declared(row, NEWEST) ?? row;
  }

  view(table: Table, writesBack: boolean): Table {
    if (this.byTable.size === 0) return table;
    const moves = this.of(table.name);
    if (!('atomic' in table)) return moves === undefined ? table : new MovedTable(table, moves, writesBack);
    const sync = table as SyncTable;
    return moves === undefined
      ? withMovedSteps(sync, this.of)
      : new MovedSyncTable(sync, moves, this.of, writesBack);
  }
}
