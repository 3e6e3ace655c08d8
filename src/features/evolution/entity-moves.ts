import {
  compareBytes,
  concatBytes,
  equalBytes,
  startsWithBytes,
  toHex,
  toStringBinary,
} from '../../bytes/index.js';
import { counter } from '../../codec/index.js';
import { RowanError } from '../../errors.js';
import { endOf, markerUntil, versionOf } from '../../schema/marker.js';
import type {
  ColumnSchema,
  EntitySchema,
  FormerPlaceSchema,
  Marker,
  UpgradeSchema,
} from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import {
  Cell,
  CellType,
  columnName,
  Delete,
  Put,
  type Query,
  type Result,
  Result as Row,
  type RowMutation,
  StaleResult,
} from '../../table/index.js';
import { isCounted } from './former-places.js';

/** A column with the former places at which its values may still be stored. */
export interface ColumnMove {
  readonly column: ColumnSchema;
  readonly origins: readonly FormerPlaceSchema[];
  /** Versions kept by the column's family. */
  readonly kept: number;
  /**
   * Whether a write of the column deletes the cells at its former places. False where older versions are kept: the
   * delete would hide them too. There the newest cell counts, wherever it is stored.
   */
  readonly removes: boolean;
  /** Whether the values at all places are summed: increments of each place count. */
  readonly adds: boolean;
}

type Place = Pick<ColumnSchema, 'family' | 'qualifier'>;

/** A cell of a moved column. */
export interface Moved {
  readonly move: ColumnMove;
  /** The former place at which it is stored. Undefined: it is stored where it is declared. */
  readonly origin: FormerPlaceSchema | undefined;
  /** The qualifier within the column's family: the column's own, or that of a Map entry. */
  readonly qualifier: Uint8Array;
}

/** The moved columns of one entity: translates its cells between where they are stored and where they are declared. */
export class EntityMoves {
  readonly moves: readonly ColumnMove[];
  /** Whether its rows have a TTL. Then no cell can be moved: the moved cell would not expire. */
  readonly ends: boolean;

  constructor(readonly schema: EntitySchema) {
    const { property, milliseconds } = schema.timeToLive;
    this.ends = property !== undefined || milliseconds !== undefined;
    const kept = new Map(schema.table.descriptor.families.map(({ name, versions }) => [name, versions]));
    this.moves = schema.columns
      .filter(({ was }) => was.length > 0)
      .map((column) => ({
        column,
        origins: column.was,
        kept: kept.get(column.family) ?? 1,
        removes: column.kind !== 'versions' && column.was.every(({ family }) => kept.get(family) === 1),
        adds: isCounted(column),
      }));
  }

  /** Whether a row key belongs to this entity. */
  matches(row: Uint8Array): boolean {
    return this.schema.key.matches(row);
  }

  /** The moved column that a cell at a former place belongs to. */
  movedFrom(family: string, qualifier: Uint8Array): Moved | undefined {
    for (const move of this.moves) {
      for (const origin of move.origins) {
        const rest = behind(move, origin, family, qualifier);
        if (rest !== undefined) return { move, origin, qualifier: concatBytes(move.column.qualifier, rest) };
      }
    }
    return undefined;
  }

  /** The moved column that a cell at a declared place belongs to. */
  movedTo(family: string, qualifier: Uint8Array): Moved | undefined {
    for (const move of this.moves) {
      if (behind(move, move.column, family, qualifier) !== undefined)
        return { move, origin: undefined, qualifier };
    }
    return undefined;
  }

  /** The former places at which a declared cell may still be stored. */
  formerOf({ move, qualifier }: Moved): Place[] {
    const rest = behind(move, move.column, move.column.family, qualifier)!;
    return move.origins.map((origin) => ({
      family: origin.family,
      qualifier: concatBytes(origin.qualifier, rest),
    }));
  }

  /**
   * The row as it is declared: cells at former places become cells of their columns, with their timestamps. Of two
   * with the same timestamp the column's own counts. At most `versions` of each moved column. Counters are summed.
   * @throws RowanError `ERR_CODEC` when an old value cannot be decoded or migrated.
   */
  declared(result: Result, versions: number): Result {
    if (!result.cells.some(({ family, qualifier }) => this.movedFrom(family, qualifier) !== undefined)) {
      return result;
    }
    const cells: Cell[] = [];
    const moved = new Map<string, { readonly move: ColumnMove; readonly byTime: Map<number, Cell> }>();
    for (const cell of result.cells) {
      const from = this.movedFrom(cell.family, cell.qualifier);
      const found = from ?? this.movedTo(cell.family, cell.qualifier);
      if (found === undefined) {
        cells.push(cell);
        continue;
      }
      const { move } = found;
      const id = columnName(move.column.family, found.qualifier);
      const known = moved.get(id) ?? { move, byTime: new Map<number, Cell>() };
      moved.set(id, known);
      const own = from === undefined ? cell : this.moveCell(from, cell);
      if (move.adds) addUp(known.byTime, own);
      else if (from === undefined || !known.byTime.has(cell.timestamp)) known.byTime.set(cell.timestamp, own);
    }
    for (const { move, byTime } of moved.values()) {
      const newestFirst = [...byTime.values()].sort((a, b) => b.timestamp - a.timestamp);
      cells.push(...newestFirst.slice(0, Math.min(versions, move.kept)));
    }
    return rowLike(result, cells);
  }

  /** Translates a cell at a former place to a cell of the column. */
  moveCell({ move: { column }, origin, qualifier }: Moved, cell: Cell): Cell {
    return new Cell(
      cell.row,
      column.family,
      qualifier,
      cell.timestamp,
      cell.type,
      origin!.migrate === undefined ? cell.value : this.migrated(column, origin!, cell),
    );
  }

  private migrated(column: ColumnSchema, origin: FormerPlaceSchema, cell: Cell): Uint8Array {
    try {
      return column.codec.encode(origin.migrate!(origin.codec.decode(cell.value)));
    } catch (cause) {
      const { name } = this.schema;
      const place = `${origin.family}:${toStringBinary(origin.qualifier)}`;
      throw new RowanError(
        'ERR_CODEC',
        `Entity "${name}", property "${column.property}": the ${cell.value.length} bytes at its former place ${place} of row ` +
          `${toStringBinary(cell.row)} cannot be made a value of it (${origin.codec.name} to ${column.codec.name}). ` +
          `${cause instanceof Error ? cause.message : String(cause)} Correct the function in \`was\`, or the cell.`,
        {
          cause,
          details: {
            entity: name,
            property: column.property,
            table: this.schema.table.descriptor.name,
            family: origin.family,
            keyHex: toHex(cell.row),
          },
        },
      );
    }
  }
}

/** The rest of a qualifier after that of a place: the key of a Map entry. Undefined: the cell is not at the place. */
function behind(
  { column }: ColumnMove,
  place: Place,
  family: string,
  qualifier: Uint8Array,
): Uint8Array | undefined {
  if (place.family !== family) return undefined;
  const isThere =
    column.kind === 'columns'
      ? startsWithBytes(qualifier, place.qualifier)
      : equalBytes(qualifier, place.qualifier);
  return isThere ? qualifier.subarray(place.qualifier.length) : undefined;
}

/** Sums the values at the places of a counter, with the timestamp of the newest. */
function addUp(sum: Map<number, Cell>, cell: Cell): void {
  const [before] = sum.values();
  if (before === undefined) {
    sum.set(cell.timestamp, cell);
    return;
  }
  const { row, family, qualifier, type } = cell;
  const time = Math.max(before.timestamp, cell.timestamp);
  const value = counter.encode(BigInt.asIntN(64, counter.decode(before.value) + counter.decode(cell.value)));
  sum.clear();
  sum.set(time, new Cell(row, family, qualifier, time, type, value));
}

export function isAt(
  place: { readonly family: string; readonly qualifier: Uint8Array },
  family: string,
  qualifier: Uint8Array,
): boolean {
  return place.family === family && equalBytes(place.qualifier, qualifier);
}

/** A row with other cells, given in any order. */
function rowLike(stored: Result, cells: Cell[]): Result {
  const kind = stored.isStale ? StaleResult : Row;
  return new kind(stored.row, cells.sort(compareCells), stored.partial);
}

function compareCells(a: Cell, b: Cell): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier) || b.timestamp - a.timestamp;
}

/** A row of an older version, translated. */
interface Upgraded {
  readonly marker: Cell;
  /** Cells that the upgrades have read. */
  readonly read: readonly Cell[];
  /** The value of each column that upgrades set and that has not been written since. Undefined: no value. */
  readonly values: ReadonlyMap<ColumnSchema, Timed<Uint8Array | undefined>>;
}

/** A value with the timestamp of the newest cell from which it was computed. 0: of no cell. */
interface Timed<T> {
  readonly value: T;
  readonly time: number;
}

/**
 * The upgrades of one entity: translates rows that were written as an older version, in memory and in the table. The
 * marker tells the version. A row without a marker was not written as an entity, and stays as it is.
 */
export class EntityUpgrades {
  private readonly marker: Marker;
  private readonly upgrades: readonly UpgradeSchema[];
  /** Columns that upgrades set. */
  private readonly set: readonly ColumnSchema[];
  /** All columns, of any version, that upgrades read or set. */
  private readonly places: readonly Pick<ColumnSchema, 'family' | 'qualifier'>[];

  constructor(readonly schema: EntitySchema) {
    const { upgrades, marker } = schema;
    this.upgrades = upgrades;
    this.marker = marker!;
    this.set = schema.columns.filter(({ upgraded }) => upgraded);
    this.places = [this.marker, ...upgrades.flatMap(({ old }) => old), ...this.set];
  }

  /** Whether a row key belongs to this entity. */
  matches(row: Uint8Array): boolean {
    return this.schema.key.matches(row);
  }

  /** Adds the columns that upgrades read to a request for columns. @returns whether any was added. */
  widen(query: Query, asked: ReadonlyMap<string, readonly Uint8Array[] | null>): boolean {
    if (!this.schema.families.some((family) => asked.has(family))) return false;
    let added = false;
    for (const { family, qualifier } of this.places) {
      if (asked.get(family) === null) continue;
      query.addColumn(family, qualifier);
      added = true;
    }
    return added;
  }

  /** Requests all columns that {@link upgradeMutations} needs. */
  readStored<Q extends Query>(query: Q): Q {
    for (const { family, qualifier } of this.places) query.addColumn(family, qualifier);
    return query;
  }

  isSet(family: string, qualifier: Uint8Array): boolean {
    return this.set.some((column) => isAt(column, family, qualifier));
  }

  /** Whether a stored row is of an older version. */
  isOld(stored: Result): boolean {
    return this.upgradesOf(stored).length > 0;
  }

  /** Whether such a stored row is rewritten when it is read. */
  writesBack(stored: Result): boolean {
    return this.upgradesOf(stored).some(({ writeBack }) => writeBack);
  }

  /**
   * The row as it is declared. @throws RowanError `ERR_CODEC` when an old value cannot be decoded, or the upgrade
   * throws or returns an invalid value.
   */
  declared(stored: Result): Result {
    const upgraded = this.upgraded(stored);
    if (upgraded === undefined) return stored;
    const { marker, read, values } = upgraded;
    const columns = [...values.keys()];
    const cells = stored.cells.filter(
      (cell) =>
        cell !== marker &&
        !columns.some((column) => isAt(column, cell.family, cell.qualifier)) &&
        (!read.includes(cell) || this.isColumn(cell)),
    );
    const put = (family: string, qualifier: Uint8Array, time: number, value: Uint8Array) =>
      cells.push(new Cell(stored.row, family, qualifier, time || marker.timestamp, CellType.Put, value));
    put(marker.family, marker.qualifier, marker.timestamp, this.markerOf(marker));
    for (const [{ family, qualifier }, { value, time }] of values) {
      if (value !== undefined) put(family, qualifier, time, value);
    }
    return rowLike(stored, cells);
  }

  /**
   * The mutations that turn a stored row, read by {@link readStored}, into one of the present version, at the
   * timestamps of its cells, so that later writes win. Empty when it is of the present version.
   */
  upgradeMutations(stored: Result): RowMutation[] {
    const upgraded = this.upgraded(stored);
    if (upgraded === undefined) return [];
    const { marker, read, values } = upgraded;
    const end = endOf(marker);
    const puts = new Map<number, Put>();
    const putAt = (time: number): Put => {
      const put =
        puts.get(time) ??
        new Put(stored.row, time).setTtl(end === undefined ? undefined : Math.max(1, end - time));
      puts.set(time, put);
      return put;
    };
    putAt(marker.timestamp).addColumn(marker.family, marker.qualifier, this.markerOf(marker));
    const gone = new Delete(stored.row);
    for (const cell of read) {
      if (!this.isColumn(cell)) gone.addColumns(cell.family, cell.qualifier, cell.timestamp);
    }
    for (const [{ family, qualifier }, { value, time }] of values) {
      if (value !== undefined) putAt(time || marker.timestamp).addColumn(family, qualifier, value);
      else {
        const old = stored.getLatest(family, qualifier);
        if (old !== undefined) gone.addColumns(family, qualifier, old.timestamp);
      }
    }
    return gone.cells.length === 0 ? [...puts.values()] : [...puts.values(), gone];
  }

  /** The stored marker of a row. Undefined: it has none. */
  markerIn(stored: Result): Cell | undefined {
    const { family, qualifier } = this.marker;
    return stored.getLatest(family, qualifier);
  }

  /** The marker of the present version. It expires when the row does. */
  private markerOf(marker: Cell): Uint8Array {
    return markerUntil(this.schema.version, endOf(marker));
  }

  private upgradesOf(stored: Result): readonly UpgradeSchema[] {
    const marker = this.markerIn(stored);
    const version = marker && versionOf(marker.value);
    if (version === undefined || version === this.schema.version) return [];
    const first = this.upgrades.findIndex(({ from }) => from === version);
    if (first < 0) throw this.unknown(version, stored.row);
    return this.upgrades.slice(first);
  }

  private upgraded(stored: Result): Upgraded | undefined {
    const upgrades = this.upgradesOf(stored);
    if (upgrades.length === 0) return undefined;
    const marker = this.markerIn(stored)!;
    const read = new Set<Cell>();
    const values = new Map<string, Timed<unknown>>();
    // A newer stored cell wins: a program of the old version has written the row since.
    const newer = ({ family, qualifier, property }: ColumnSchema): Cell | undefined => {
      const cell = stored.getLatest(family, qualifier);
      if (cell === undefined || read.has(cell)) return undefined;
      return cell.timestamp > (values.get(property)?.time ?? 0) ? cell : undefined;
    };
    for (const upgrade of upgrades) {
      const old: Record<string, unknown> = {};
      let newest = 0;
      for (const column of upgrade.old) {
        const cell = newer(column);
        if (cell !== undefined) {
          read.add(cell);
          values.set(column.property, { value: this.decoded(column, cell, upgrade), time: cell.timestamp });
        }
        const found = values.get(column.property);
        if (found === undefined) continue;
        old[column.property] = found.value;
        newest = Math.max(newest, found.time);
      }
      const given = this.run(upgrade, old, stored.row);
      for (const name of upgrade.sets) {
        const value = given[name] ?? undefined;
        values.set(name, { value, time: value === undefined ? 0 : newest });
      }
    }
    const set = new Set(upgrades.flatMap(({ sets }) => sets));
    const encoded = new Map<ColumnSchema, Timed<Uint8Array | undefined>>();
    for (const column of this.set) {
      const found = set.has(column.property) ? values.get(column.property) : undefined;
      // Set by an upgrade of a version before the row's, or by a program of the present version since.
      if (found === undefined || newer(column) !== undefined) continue;
      encoded.set(column, { value: this.encoded(column, found.value, stored.row), time: found.time });
    }
    return { marker, read: [...read], values: encoded };
  }

  private run({ from, sets, upgrade }: UpgradeSchema, old: Record<string, unknown>, row: Uint8Array) {
    let given: unknown;
    try {
      given = upgrade(old);
    } catch (cause) {
      throw this.failed(`@Upgrade(${from}) threw`, row, cause);
    }
    if (typeof given !== 'object' || given === null || given instanceof Promise)
      throw this.failed(`@Upgrade(${from}) gave ${describe(given)}, which is no object of properties`, row);
    const beyond = Object.keys(given).find((name) => !sets.includes(name));
    if (beyond !== undefined)
      throw this.failed(`@Upgrade(${from}) gave "${beyond}", which it does not name in \`sets\``, row);
    return given as Readonly<Record<string, unknown>>;
  }

  private decoded(column: ColumnSchema, cell: Cell, { from }: UpgradeSchema): unknown {
    try {
      return column.codec.decode(cell.value);
    } catch (cause) {
      const place = `${column.family}:${toStringBinary(column.qualifier)}`;
      throw this.failed(
        `"${column.property}" at ${place}, which @Upgrade(${from}) reads, is no ${column.codec.name}`,
        cell.row,
        cause,
      );
    }
  }

  private encoded(column: ColumnSchema, value: unknown, row: Uint8Array): Uint8Array | undefined {
    if (value === undefined) return undefined;
    try {
      return column.codec.encode(value);
    } catch (cause) {
      throw this.failed(
        `what its upgrades make of "${column.property}" is no ${column.codec.name}`,
        row,
        cause,
      );
    }
  }

  /** Whether a cell is at the place of a present column that no upgrade sets. */
  private isColumn({ family, qualifier }: Cell): boolean {
    return this.schema.columns.some((column) => isAt(column, family, qualifier));
  }

  private failed(what: string, row: Uint8Array, cause?: unknown): RowanError {
    const reason = cause instanceof Error ? ` ${cause.message}` : '';
    return new RowanError(
      'ERR_CODEC',
      `Entity "${this.schema.name}", row ${toStringBinary(row)}: ${what}.${reason} Correct the upgrade, or the row.`,
      { cause, details: this.details(row) },
    );
  }

  private unknown(version: number, row: Uint8Array): RowanError {
    const { name, version: own } = this.schema;
    const why =
      version > own
        ? `this program knows it up to version ${own}. Use the declarations of the program that wrote it`
        : `no @Upgrade from that version is declared. Declare the one that there was`;
    return new RowanError(
      'ERR_CODEC',
      `Entity "${name}", row ${toStringBinary(row)}: it was written as version ${version}, and ${why}.`,
      { details: this.details(row) },
    );
  }

  private details(row: Uint8Array) {
    return { entity: this.schema.name, table: this.schema.table.descriptor.name, keyHex: toHex(row) };
  }
}
