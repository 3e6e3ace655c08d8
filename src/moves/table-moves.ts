/**
 * The one owner of what it means that a column has moved: requests are widened by the places where its values may still
 * stand, answers are made of both, and writes go to the new place and take the old cells away.
 */

import { UnsupportedError } from '../errors.js';
import type { EntitySchema } from '../schema/types.js';
import { isGet } from '../table/get.js';
import {
  CellType,
  type CheckAndMutate,
  Delete,
  type Filter,
  type Get,
  LATEST_TIMESTAMP,
  type MutationCell,
  Put,
  type Query,
  type Result,
  type RowMutation,
  RowMutations,
} from '../table/index.js';
import { isCheckAndMutate } from '../table/row-mutations.js';
import { type ColumnMove, EntityMoves, isAt } from './entity-moves.js';
import { EntityUpgrades } from './entity-upgrades.js';

/** A change of one row. */
export type Change = RowMutation | RowMutations;

type Column = Pick<MutationCell, 'family' | 'qualifier'>;

/** The moved columns of one table's entities. */
export class TableMoves {
  private constructor(
    private readonly entities: readonly EntityMoves[],
    private readonly upgrades: readonly EntityUpgrades[],
  ) {}

  /** Undefined when no column of the table has moved and none of its entities is upgraded. */
  static of(schemas: readonly EntitySchema[]): TableMoves | undefined {
    const moved = schemas.filter(({ columns }) => columns.some(({ was }) => was.length > 0));
    const upgraded = schemas.filter(({ upgrades }) => upgrades.length > 0);
    if (moved.length + upgraded.length === 0) return undefined;
    return new TableMoves(
      moved.map((schema) => new EntityMoves(schema)),
      upgraded.map((schema) => new EntityUpgrades(schema)),
    );
  }

  /** The upgrades of the entity that a row is of, if there are any. */
  upgradesOf(row: Uint8Array): EntityUpgrades | undefined {
    return this.upgrades.find((entity) => entity.matches(row));
  }

  /** The entity that a row is of, if columns of it have moved. */
  entityOf(row: Uint8Array): EntityMoves | undefined {
    return this.entities.find((entity) => entity.matches(row));
  }

  /** The request with the former places of what it asks for; the same where there is nothing to add. */
  widened<Q extends Query>(query: Q): Q {
    if (query.asksForAll) return query;
    // Looking at the families of a request may change how it is kept: that is done to a copy.
    const wide = query.copy();
    let added = false;
    const asked = new Map(query.copy().families);
    for (const { moves } of this.entities) {
      for (const { column, origins } of moves) {
        const columns = asked.get(column.family);
        if (columns === undefined) continue;
        if (columns !== null && !columns.some((each) => isAt(column, column.family, each))) continue;
        for (const { family, qualifier } of origins) {
          if (asked.get(family) === null) continue;
          wide.addColumn(family, qualifier);
          added = true;
        }
      }
    }
    for (const entity of this.upgrades) if (entity.widen(wide, asked)) added = true;
    return added ? wide : query;
  }

  /** An answer as the entities are declared. @throws RowanError `ERR_CODEC` when an old value cannot be migrated. */
  declared(result: Result, versions: number): Result {
    if (result.isEmpty) return result;
    const moved = this.entityOf(result.row);
    if (moved !== undefined) return moved.declared(result, versions);
    return this.upgradesOf(result.row)?.declared(result) ?? result;
  }

  /**
   * Whether the engine itself looks at moved columns of the row: a filter or check of them, an increment, an append. Their
   * values must stand where they are looked for then. Whatever writes a row that may be upgraded has it upgraded before:
   * its marker says one version for all of its columns.
   */
  mustSettle(item: Get | Change | CheckAndMutate): boolean {
    const upgrades = this.upgradesOf(item.row);
    if (upgrades !== undefined) {
      if (!isGet(item)) return true;
      return (
        item.filter !== undefined &&
        asks(item.filter, (column) => upgrades.isSet(column.family, column.qualifier))
      );
    }
    const entity = this.entityOf(item.row);
    if (entity === undefined) return false;
    if (isGet(item))
      return item.filter !== undefined && asks(item.filter, (column) => isMoved(entity, column));
    if (!isCheckAndMutate(item)) return mutationsOf(item).some((mutation) => addsTo(entity, mutation));
    const { condition, action } = item;
    const asked =
      condition.kind === 'filter'
        ? asks(condition.filter, (column) => isMoved(entity, column))
        : isMoved(entity, condition);
    return asked || this.mustSettle(action);
  }

  /** The change with what removes the old cells of the columns that it writes. */
  settled<C extends Change>(change: C): C | RowMutations {
    const entity = this.entityOf(change.row);
    if (entity === undefined) return change;
    const added = mutationsOf(change).flatMap((mutation) => {
      if (mutation.kind !== 'put' && mutation.kind !== 'delete') return [];
      const gone = new Delete(mutation.row).setDurability(mutation.durability);
      for (const cell of mutation.cells) removeOld(entity, cell, gone);
      return gone.cells.length === 0 ? [] : [gone];
    });
    if (added.length === 0) return change;
    return new RowMutations(change.row).add(...mutationsOf(change), ...added);
  }
}

function mutationsOf(change: Change): readonly RowMutation[] {
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

function isMoved(entity: EntityMoves, column: Column): boolean {
  return entity.moveTo(column.family, column.qualifier) !== undefined;
}

function addsTo(entity: EntityMoves, mutation: RowMutation): boolean {
  if (mutation.kind !== 'append' && mutation.kind !== 'increment') return false;
  return (mutation.columns as readonly Column[]).some((column) => isMoved(entity, column));
}

/** Whether a filter compares one of these columns. Others look at rows, or at whatever cells there are. */
function asks(filter: Filter, isMeant: (column: Column) => boolean): boolean {
  if (filter.kind === 'list') return filter.filters.some((each) => asks(each, isMeant));
  if (filter.kind === 'while' || filter.kind === 'skip') return asks(filter.filter, isMeant);
  return 'qualifier' in filter && isMeant(filter);
}

function removeOld(entity: EntityMoves, cell: MutationCell, gone: Delete): void {
  const { family, qualifier, timestamp, type } = cell;
  if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) {
    for (const { column, origins } of entity.moves) {
      if (column.family !== family) continue;
      for (const origin of origins) {
        if (origin.family === family) continue;
        if (type === CellType.DeleteFamily) gone.addColumns(origin.family, origin.qualifier, timestamp);
        else gone.addColumn(origin.family, origin.qualifier, timestamp);
      }
    }
    return;
  }
  const move = entity.moveTo(family, qualifier);
  if (move === undefined || (type === CellType.Put && !move.removes)) return;
  if (type === CellType.Delete && timestamp === LATEST_TIMESTAMP) throw newestOf(move, entity.schema);
  for (const origin of move.origins) {
    if (type === CellType.Delete) gone.addColumn(origin.family, origin.qualifier, timestamp);
    else gone.addColumns(origin.family, origin.qualifier, timestamp);
  }
}

function newestOf({ column }: ColumnMove, { name }: EntitySchema): UnsupportedError {
  return new UnsupportedError(
    `${name}.${column.property} is moving from one column to another, so its newest version alone cannot be deleted. ` +
      'Delete the column, or a version by its timestamp; or have the move done first: rowan schema apply.',
    { details: { entity: name, property: column.property } },
  );
}

/**
 * What moves the old cells of a row as it was read (every version of the moved columns and of their origins): puts at their
 * times, and deletes up to them, so that what is written later is left alone. Empty when there is nothing to move.
 */
export function moveMutations(entity: EntityMoves, row: Result): RowMutation[] {
  if (row.isEmpty) return [];
  const put = new Put(row.row);
  const gone = new Delete(row.row);
  for (const move of entity.moves) {
    const { column, origins } = move;
    const taken = new Set(
      row.getColumnCells(column.family, column.qualifier).map(({ timestamp }) => timestamp),
    );
    for (const origin of origins) {
      const cells = row.getColumnCells(origin.family, origin.qualifier);
      if (cells.length === 0) continue;
      for (const cell of cells) {
        if (taken.has(cell.timestamp)) continue;
        taken.add(cell.timestamp);
        put.addColumn(column.family, column.qualifier, entity.moveCell(move, cell).value, cell.timestamp);
      }
      gone.addColumns(origin.family, origin.qualifier, cells[0]!.timestamp);
    }
  }
  if (gone.cells.length === 0) return [];
  return put.cells.length === 0 ? [gone] : [put, gone];
}

/** Asks for all that `moveMutations` must see. */
export function readMoved<Q extends Query>(query: Q, entities: readonly EntityMoves[]): Q {
  query.readAllVersions();
  for (const { moves } of entities) {
    for (const { column, origins } of moves) {
      query.addColumn(column.family, column.qualifier);
      for (const origin of origins) query.addColumn(origin.family, origin.qualifier);
    }
  }
  return query;
}
