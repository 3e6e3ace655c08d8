/**
 * The one owner of what it means that a column has moved: requests are widened by the places where its values may still
 * stand, answers are made of both, and writes go to the new place and take the old cells away.
 */

import { counter } from '../../codec/index.js';
import { UnsupportedError } from '../../errors.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import { isGet } from '../../table/get-and-scan.js';
import {
  type Cell,
  CellType,
  type CheckAndMutate,
  columnName,
  Delete,
  type Filter,
  type Get,
  Increment,
  LATEST_TIMESTAMP,
  type MutationCell,
  Put,
  type Query,
  type Result,
  type RowMutation,
  RowMutations,
} from '../../table/index.js';
import { isCheckAndMutate } from '../../table/row-mutations.js';
import { type ColumnMove, EntityMoves, EntityUpgrades } from './entity-moves.js';

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

  /** The request, extended by the former places of its columns; the same object if there are none. */
  widened<Q extends Query>(query: Q): Q {
    if (query.asksForAll || query.raw) return query;
    // Looking at the families of a request may change how it is kept: that is done to a copy.
    const wide = query.copy();
    let added = false;
    const asked = new Map(query.copy().families);
    const whole = new Set([...asked].filter(([, columns]) => columns === null).map(([family]) => family));
    const add = (family: string, qualifier?: Uint8Array): void => {
      if (whole.has(family)) return;
      added = true;
      if (qualifier !== undefined) {
        wide.addColumn(family, qualifier);
        return;
      }
      whole.add(family);
      wide.addFamily(family);
    };
    for (const entity of this.entities) {
      for (const { column, origins } of entity.moves) {
        const columns = asked.get(column.family);
        if (columns === null) {
          for (const { family, qualifier } of origins)
            add(family, column.kind === 'columns' ? undefined : qualifier);
        }
        for (const qualifier of columns ?? []) {
          const found = entity.movedTo(column.family, qualifier);
          if (found?.move.column !== column) continue;
          for (const former of entity.formerOf(found)) add(former.family, former.qualifier);
        }
      }
    }
    for (const entity of this.upgrades) if (entity.widen(wide, asked)) added = true;
    return added ? wide : query;
  }

  /**
   * The answer to a query as the entities are declared; that to a raw one is as stored.
   * @throws RowanError `ERR_CODEC` when an old value cannot be migrated.
   */
  declared(result: Result, { maxVersions: versions, raw }: Pick<Query, 'maxVersions' | 'raw'>): Result {
    if (result.isEmpty || raw) return result;
    const moved = this.entityOf(result.row);
    if (moved !== undefined) return moved.declared(result, versions);
    return this.upgradesOf(result.row)?.declared(result) ?? result;
  }

  /**
   * Whether the engine itself looks at moved columns of the row: a filter or check of them, an increment, an append. Their
   * values must stand where they are looked for then. Whatever writes a row that may be upgraded has it upgraded before, unless it
   * removes the row: its marker says one version for all of its columns.
   */
  mustMigrate(item: Get | Change | CheckAndMutate): boolean {
    if (isGet(item) && item.raw) return false;
    const upgrades = this.upgradesOf(item.row);
    if (upgrades !== undefined) {
      if (!isGet(item)) return !removesAll(item);
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
    return asked || this.mustMigrate(action);
  }

  /** Whether it is only increments of moved counters that need the row to be migrated. */
  onlyCounts(item: Get | Change | CheckAndMutate): boolean {
    if (isGet(item) || isCheckAndMutate(item)) return false;
    const entity = this.entityOf(item.row);
    return (
      entity !== undefined &&
      mutationsOf(item).every((mutation) => mutation.kind !== 'append' || !addsTo(entity, mutation))
    );
  }

  /** The change with what removes the old cells of the columns that it writes. */
  removingOld<C extends Change>(change: C): C | RowMutations {
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

/** Whether a change leaves nothing of its row that an upgrade could read. */
function removesAll(change: Change | CheckAndMutate): boolean {
  return change.kind === 'delete' && change.cells.length === 0 && change.timestamp === LATEST_TIMESTAMP;
}

function mutationsOf(change: Change): readonly RowMutation[] {
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

function isMoved(entity: EntityMoves, column: Column): boolean {
  return entity.movedTo(column.family, column.qualifier) !== undefined;
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
        if (column.kind === 'columns') throw entriesOf(column, entity.schema);
        if (type === CellType.DeleteFamily) gone.addColumns(origin.family, origin.qualifier, timestamp);
        else gone.addColumn(origin.family, origin.qualifier, timestamp);
      }
    }
    return;
  }
  const found = entity.movedTo(family, qualifier);
  if (found === undefined || (type === CellType.Put && !found.move.removes)) return;
  if (type === CellType.Delete && timestamp === LATEST_TIMESTAMP) throw newestOf(found.move, entity.schema);
  for (const origin of entity.formerOf(found)) {
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

function entriesOf({ property }: ColumnSchema, { name }: EntitySchema): UnsupportedError {
  return new UnsupportedError(
    `${name}.${property} is moving from one family to another, so the family alone cannot be deleted. ` +
      'Delete the row, or the entries; or have the move done first: rowan schema apply.',
    { details: { entity: name, property } },
  );
}

/**
 * What moves the old cells of a row as it was read (every version of the moved columns and of their origins): puts at their
 * times, and deletes up to them, so that what is written later is left alone. Counters are not among them. Empty when there is
 * nothing to move.
 */
export function moveMutations(entity: EntityMoves, row: Result): RowMutation[] {
  if (row.isEmpty) return [];
  const put = new Put(row.row);
  const gone = new Delete(row.row);
  const taken = new Map<string, Set<number>>();
  for (const cell of row.cells) {
    const found = entity.movedFrom(cell.family, cell.qualifier);
    if (found === undefined || found.move.adds) continue;
    const { family } = found.move.column;
    const id = columnName(family, found.qualifier);
    const times =
      taken.get(id) ?? new Set(row.getColumnCells(family, found.qualifier).map(({ timestamp }) => timestamp));
    taken.set(id, times);
    if (!times.has(cell.timestamp)) {
      times.add(cell.timestamp);
      put.addColumn(family, found.qualifier, entity.moveCell(found, cell).value, cell.timestamp);
    }
    // The newest of its column comes first.
    const newest = row.getLatest(cell.family, cell.qualifier) === cell;
    if (newest) gone.addColumns(cell.family, cell.qualifier, cell.timestamp);
  }
  if (gone.cells.length === 0) return [];
  return put.cells.length === 0 ? [gone] : [put, gone];
}

/** A counter's cell at a former place. */
interface OldCount {
  readonly cell: Cell;
  /** Where it belongs. */
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly count: bigint;
}

/** The counters of a row that stand at former places. */
function oldCounts(entity: EntityMoves, row: Result): OldCount[] {
  return row.cells.flatMap((cell) => {
    const found = entity.movedFrom(cell.family, cell.qualifier);
    if (found?.move.adds !== true) return [];
    const { column } = found.move;
    return [{ cell, family: column.family, qualifier: found.qualifier, count: counter.decode(cell.value) }];
  });
}

/**
 * What moves the counters of a row in a step: they are added to what stands where they belong, and deleted. Their time is that of the
 * move.
 */
export function countMutations(entity: EntityMoves, row: Result): RowMutation[] {
  return oldCounts(entity, row).flatMap(({ cell, family, qualifier, count }) => [
    new Increment(row.row).addColumn(family, qualifier, count),
    new Delete(row.row).addColumns(cell.family, cell.qualifier, cell.timestamp),
  ]);
}

/**
 * What moves the counters of a row without looking: they are added where they belong, and taken away where they stood, where zero stays.
 * However many do so, and whoever counts meanwhile, the sum is right. Undefined when there is nothing to move.
 */
export function countTransfer(entity: EntityMoves, row: Result): Increment | undefined {
  const counts = oldCounts(entity, row).filter(({ count }) => count !== 0n);
  if (counts.length === 0) return undefined;
  const transfer = new Increment(row.row).setReturnResults(false);
  for (const { cell, family, qualifier, count } of counts) {
    transfer.addColumn(family, qualifier, count);
    transfer.addColumn(cell.family, cell.qualifier, BigInt.asIntN(64, -count));
  }
  return transfer;
}

/** Whether a row has cells at former places; `zeros`: whether counters that are zero are such. */
export function hasOldCells(entity: EntityMoves, row: Result, zeros: boolean): boolean {
  return row.cells.some(({ family, qualifier, value }) => {
    const found = entity.movedFrom(family, qualifier);
    return found !== undefined && (zeros || !found.move.adds || counter.decode(value) !== 0n);
  });
}

/** Asks for all that moves must see. */
export function readMoved<Q extends Query>(query: Q, entities: readonly EntityMoves[]): Q {
  query.readAllVersions();
  const places = entities.flatMap(({ moves }) =>
    moves.flatMap(({ column, origins }) =>
      [column, ...origins].map(({ family, qualifier }) => ({
        family,
        qualifier,
        whole: column.kind === 'columns',
      })),
    ),
  );
  const whole = new Set(places.filter((place) => place.whole).map(({ family }) => family));
  for (const family of whole) query.addFamily(family);
  for (const { family, qualifier } of places) if (!whole.has(family)) query.addColumn(family, qualifier);
  return query;
}
