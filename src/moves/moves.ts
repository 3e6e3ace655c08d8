/** The moved columns of a database's tables, and the tables as they are declared. */

import type { EntitySchema, TableSchema } from '../schema/types.js';
import type { Engine, Result, SyncTable, Table } from '../table/index.js';
import { MovedSyncTable, type MovesOf, withMovedSteps } from './moved-sync-table.js';
import { MovedTable } from './moved-table.js';
import { TableMoves } from './table-moves.js';

export class Moves {
  private readonly byTable = new Map<string, TableMoves>();
  private readonly of: MovesOf = (table) => this.byTable.get(table);

  /** The tables' entities, in place of those that were known of them. */
  declare(tables: readonly TableSchema[]): void {
    for (const { descriptor, entities } of tables) this.declareTable(descriptor.name, entities);
  }

  declareTable(name: string, entities: readonly EntitySchema[]): void {
    const moves = TableMoves.of(entities);
    if (moves === undefined) this.byTable.delete(name);
    else this.byTable.set(name, moves);
  }

  /** A row of a table, its newest cells, as its entity is declared. */
  declaredRow(table: string, row: Result): Result {
    return this.of(table)?.declared(row, 1) ?? row;
  }

  /**
   * The table as its entities are declared; the same where nothing has moved. Rows of older versions that are read by their
   * keys are written as upgraded where their upgrades say so, unless that is forbidden.
   */
  view(table: Table, writesBack = true): Table {
    if (this.byTable.size === 0) return table;
    const moves = this.of(table.name);
    if (!('atomic' in table)) return moves === undefined ? table : new MovedTable(table, moves, writesBack);
    const sync = table as SyncTable;
    return moves === undefined
      ? withMovedSteps(sync, this.of)
      : new MovedSyncTable(sync, moves, this.of, writesBack);
  }

  /** The engine with every table as it is declared. */
  viewOf(engine: Engine): Engine {
    const { transaction } = engine;
    return {
      name: engine.name,
      capabilities: engine.capabilities,
      admin: engine.admin,
      table: (name) => this.view(engine.table(name), false),
      now: () => engine.now(),
      observe: (table, observer) => engine.observe(table, observer),
      ...(transaction && { transaction: transaction.bind(engine) }),
      close: () => engine.close(),
    };
  }
}
