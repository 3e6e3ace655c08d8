/** A moved table of an engine that answers in the same thread: what must have been moved first is moved in the step. */

import { toHex } from '../bytes/index.js';
import type {
  AtomicStep,
  CommitOutcome,
  Delete,
  Get,
  OperationOptions,
  Put,
  Result,
  RowRead,
  RowScan,
  Scan,
  SyncResultScanner,
  SyncTable,
  TableChange,
} from '../table/index.js';
import { MovedTable } from './moved-table.js';
import { settleRow, unsettled, upgradeOf } from './settle-row.js';
import type { TableMoves } from './table-moves.js';

/** The moves of a table, by its name; undefined: none. */
export type MovesOf = (table: string) => TableMoves | undefined;

type Steps = Required<Pick<SyncTable, 'atomic' | 'commit'>>;

export class MovedSyncTable extends MovedTable<SyncTable> implements SyncTable {
  readonly atomic: Steps['atomic'];
  readonly commit: Steps['commit'];

  constructor(inner: SyncTable, moves: TableMoves, movesOf: MovesOf, writesBack: boolean) {
    super(inner, moves, writesBack);
    const steps = movedSteps(inner, movesOf);
    this.atomic = steps.atomic;
    this.commit = steps.commit;
  }

  protected override async settle(items: Parameters<MovedTable['settle']>[0]): Promise<void> {
    const rows = items.filter((item) => this.moves.mustSettle(item)).map(({ row }) => row);
    if (rows.length === 0) return;
    await this.inner.atomic!((step) => {
      for (const row of rows) settleRow(step, this.name, this.moves, row);
    });
  }

  protected override async change(change: Put | Delete, options?: OperationOptions): Promise<void> {
    if (this.moves.upgradesOf(change.row) === undefined) return super.change(change, options);
    // One step, so that writes stand in the order in which they were asked for.
    await this.atomic((step) => void step.apply({ table: this.name, change }), options);
  }

  protected override async writeBack(rows: readonly Uint8Array[]): Promise<void> {
    await this.inner.atomic!((step) => {
      for (const row of rows) settleRow(step, this.name, this.moves, row);
    });
  }

  /** @throws UnsupportedError when its filter asks a moved column: nothing can be moved by a read that does not wait. */
  getSync(get: Get): Result {
    if (this.moves.mustSettle(get)) throw unsettled(this.name);
    return this.moves.declared(this.inner.getSync(this.moves.widened(get)), get.maxVersions);
  }

  scanSync(scan: Scan): SyncResultScanner {
    if (scan.raw) return this.inner.scanSync(scan);
    const scanner = this.inner.scanSync(this.moves.widened(scan));
    const declared = (result: Result): Result => this.moves.declared(result, scan.maxVersions);
    return {
      next: () => {
        const result = scanner.next();
        return result && declared(result);
      },
      nextBatch: (count) => scanner.nextBatch(count).map(declared),
      close: () => scanner.close(),
      *[Symbol.iterator]() {
        for (const result of scanner) yield declared(result);
      },
    };
  }
}

/** A table without moved columns, in whose steps tables with some may be read and written. */
export function withMovedSteps(inner: SyncTable, movesOf: MovesOf): SyncTable {
  return Object.assign(Object.create(inner) as SyncTable, movedSteps(inner, movesOf));
}

function movedSteps(inner: SyncTable, movesOf: MovesOf): Steps {
  return {
    commit: (decide, options?: OperationOptions): Promise<readonly CommitOutcome[]> =>
      inner.commit!((read) => {
        const groups = decide((get, table = inner.name) => declaredRead(read, movesOf(table), get, table));
        const upgraded = new Set<string>();
        return groups.map((group) =>
          group.flatMap((change) => settledChanges(movesOf, change, read, upgraded)),
        );
      }, options),
    atomic: (decide, options) =>
      inner.atomic!((step) => decide(new MovedStep(step, inner.name, movesOf)), options),
  };
}

/**
 * The change as the tables have it, behind what upgrades its row; `upgraded` are the rows of the step that need no upgrade any
 * more, since what is read does not see the changes before.
 */
function settledChanges(
  movesOf: MovesOf,
  { table, change }: TableChange,
  read: RowRead,
  upgraded: Set<string>,
): TableChange[] {
  const moves = movesOf(table);
  const upgrades = moves?.upgradesOf(change.row);
  if (upgrades !== undefined) {
    const id = `${table}/${toHex(change.row)}`;
    const first = upgraded.has(id) ? undefined : upgradeOf(upgrades, change.row, read, table);
    upgraded.add(id);
    return first === undefined
      ? [{ table, change }]
      : [
          { table, change: first },
          { table, change },
        ];
  }
  if (moves?.mustSettle(change)) throw unsettled(table);
  return [{ table, change: moves?.settled(change) ?? change }];
}

function declaredRead(read: RowRead, moves: TableMoves | undefined, get: Get, table: string): Result {
  if (moves === undefined) return read(get, table);
  return moves.declared(read(moves.widened(get), table), get.maxVersions);
}

class MovedStep implements AtomicStep {
  constructor(
    private readonly inner: AtomicStep,
    private readonly own: string,
    private readonly movesOf: MovesOf,
  ) {}

  readonly read: RowRead = (get, table = this.own) => {
    const moves = this.movesOf(table);
    if (moves?.mustSettle(get)) settleRow(this.inner, table, moves, get.row);
    return declaredRead(this.inner.read, moves, get, table);
  };

  /** @throws UnsupportedError when its filter asks a moved column. */
  readonly scan: RowScan = (scan, table = this.own) => {
    const moves = this.movesOf(table);
    if (moves === undefined || scan.raw) return this.inner.scan(scan, table);
    return this.inner.scan(moves.widened(scan), table).map((row) => moves.declared(row, scan.maxVersions));
  };

  apply({ table, change }: TableChange): Result {
    const moves = this.movesOf(table);
    if (moves === undefined) return this.inner.apply({ table, change });
    if (moves.mustSettle(change)) settleRow(this.inner, table, moves, change.row);
    return this.inner.apply({ table, change: moves.settled(change) });
  }

  attempt<T>(work: () => T): T {
    return this.inner.attempt(work);
  }
}
