/** A moved table of an engine that answers in the same thread: what must have been moved first is moved in the step. */

import {
  type AtomicStep,
  type CommitOutcome,
  Get,
  type OperationOptions,
  type Result,
  RowMutations,
  type RowRead,
  type RowScan,
  type Scan,
  type SyncResultScanner,
  type SyncTable,
  type TableChange,
} from '../table/index.js';
import { MovedTable, unsettled } from './moved-table.js';
import { moveMutations, readMoved, type TableMoves } from './table-moves.js';

/** The moves of a table, by its name; undefined: none. */
export type MovesOf = (table: string) => TableMoves | undefined;

type Steps = Required<Pick<SyncTable, 'atomic' | 'commit'>>;

export class MovedSyncTable extends MovedTable<SyncTable> implements SyncTable {
  readonly atomic: Steps['atomic'];
  readonly commit: Steps['commit'];

  constructor(inner: SyncTable, moves: TableMoves, movesOf: MovesOf) {
    super(inner, moves);
    const steps = movedSteps(inner, movesOf);
    this.atomic = steps.atomic;
    this.commit = steps.commit;
  }

  protected override async settle(items: Parameters<MovedTable['settle']>[0]): Promise<void> {
    const rows = items.filter((item) => this.moves.mustSettle(item)).map(({ row }) => row);
    if (rows.length === 0) return;
    await this.inner.atomic!((step) => {
      for (const row of rows) moveRow(step, this.name, this.moves, row);
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
        return groups.map((group) => group.map((change) => settledChange(movesOf, change)));
      }, options),
    atomic: (decide, options) =>
      inner.atomic!((step) => decide(new MovedStep(step, inner.name, movesOf)), options),
  };
}

function settledChange(movesOf: MovesOf, { table, change }: TableChange): TableChange {
  const moves = movesOf(table);
  if (moves?.mustSettle(change)) throw unsettled(table);
  return { table, change: moves?.settled(change) ?? change };
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
    if (moves?.mustSettle(get)) moveRow(this.inner, table, moves, get.row);
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
    if (moves.mustSettle(change)) moveRow(this.inner, table, moves, change.row);
    return this.inner.apply({ table, change: moves.settled(change) });
  }

  attempt<T>(work: () => T): T {
    return this.inner.attempt(work);
  }
}

/** Moves one row in a step. @throws UnsupportedError when it ends. */
function moveRow(step: AtomicStep, table: string, moves: TableMoves, row: Uint8Array): void {
  const entity = moves.entityOf(row);
  if (entity === undefined) return;
  const mutations = moveMutations(entity, step.read(readMoved(new Get(row), [entity]), table));
  if (mutations.length === 0) return;
  if (entity.ends) throw unsettled(table);
  step.apply({ table, change: new RowMutations(row).add(...mutations) });
}
