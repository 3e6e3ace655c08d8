/** The moved columns of one entity: its cells as they are stored, and as they are declared. */

import { compareBytes, equalBytes, toHex, toStringBinary } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { ColumnSchema, EntitySchema, FormerPlace } from '../schema/types.js';
import { Cell, type Result, Result as Row, StaleResult } from '../table/index.js';

/** A column with the places where its values may still stand. */
export interface ColumnMove {
  readonly column: ColumnSchema;
  readonly origins: readonly FormerPlace[];
  /** Versions that the column's family keeps. */
  readonly kept: number;
  /**
   * Whether a write of the column removes what stands at its origins. Not where older versions are kept: those would be
   * hidden with it, and the newest cell counts wherever it stands.
   */
  readonly removes: boolean;
}

export class EntityMoves {
  readonly moves: readonly ColumnMove[];
  /** Whether its rows end: then no cell can be moved, since what it is moved to would not. */
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
      }));
  }

  /** Whether a row is one of this entity. */
  matches(row: Uint8Array): boolean {
    return this.schema.key.matches(row);
  }

  /** The move whose origin, or whose column, a cell is of. */
  moveFrom(family: string, qualifier: Uint8Array): ColumnMove | undefined {
    return this.moves.find(({ origins }) => origins.some((place) => isAt(place, family, qualifier)));
  }

  moveTo(family: string, qualifier: Uint8Array): ColumnMove | undefined {
    return this.moves.find(({ column }) => isAt(column, family, qualifier));
  }

  /**
   * The row as it is declared: cells of origins become cells of their columns, with their times; of two of the same time
   * the column's own counts. At most `versions` of each moved column.
   * @throws RowanError `ERR_CODEC` when an old value cannot be read or migrated.
   */
  declared(result: Result, versions: number): Result {
    if (!result.cells.some(({ family, qualifier }) => this.moveFrom(family, qualifier) !== undefined)) {
      return result;
    }
    const cells: Cell[] = [];
    const moved = new Map<ColumnMove, Map<number, Cell>>();
    for (const cell of result.cells) {
      const from = this.moveFrom(cell.family, cell.qualifier);
      const move = from ?? this.moveTo(cell.family, cell.qualifier);
      if (move === undefined) {
        cells.push(cell);
        continue;
      }
      const byTime = moved.get(move) ?? new Map<number, Cell>();
      moved.set(move, byTime);
      if (from === undefined) byTime.set(cell.timestamp, cell);
      else if (!byTime.has(cell.timestamp)) byTime.set(cell.timestamp, this.moveCell(move, cell));
    }
    for (const [{ kept }, byTime] of moved) {
      const newestFirst = [...byTime.values()].sort((a, b) => b.timestamp - a.timestamp);
      cells.push(...newestFirst.slice(0, Math.min(versions, kept)));
    }
    return rowLike(result, cells);
  }

  /** An origin's cell as one of the column. */
  moveCell(move: ColumnMove, cell: Cell): Cell {
    const { column, origins } = move;
    const origin = origins.find((place) => isAt(place, cell.family, cell.qualifier))!;
    return new Cell(
      cell.row,
      column.family,
      column.qualifier,
      cell.timestamp,
      cell.type,
      origin.migrate === undefined ? cell.value : this.migrated(column, origin, cell),
    );
  }

  private migrated(column: ColumnSchema, origin: FormerPlace, cell: Cell): Uint8Array {
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

export function isAt(
  place: { readonly family: string; readonly qualifier: Uint8Array },
  family: string,
  qualifier: Uint8Array,
): boolean {
  return place.family === family && equalBytes(place.qualifier, qualifier);
}

/** A row with other cells, in whatever order they are given. */
export function rowLike(stored: Result, cells: Cell[]): Result {
  const kind = stored.isStale ? StaleResult : Row;
  return new kind(stored.row, cells.sort(compareCells), stored.partial);
}

function compareCells(a: Cell, b: Cell): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier) || b.timestamp - a.timestamp;
}
