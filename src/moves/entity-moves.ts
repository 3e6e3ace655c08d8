/** The moved columns of one entity: its cells as they are stored, and as they are declared. */

import {
  compareBytes,
  concatBytes,
  equalBytes,
  startsWithBytes,
  toHex,
  toLatin1,
  toStringBinary,
} from '../bytes/index.js';
import { counter } from '../codec/index.js';
import { RowanError } from '../errors.js';
import { isCounted } from '../schema/former-places.js';
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
  /** Whether what stands at all places is added up: increments of either place count. */
  readonly adds: boolean;
}

type Place = Pick<ColumnSchema, 'family' | 'qualifier'>;

/** A cell of a moved column, and where it belongs. */
export interface Moved {
  readonly move: ColumnMove;
  /** Where it stands; undefined: where it belongs. */
  readonly origin: FormerPlace | undefined;
  /** In the column's family: its own, or of a Map that of the entry. */
  readonly qualifier: Uint8Array;
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
        adds: isCounted(column),
      }));
  }

  /** Whether a row is one of this entity. */
  matches(row: Uint8Array): boolean {
    return this.schema.key.matches(row);
  }

  /** What a cell at a former place is of. */
  movedFrom(family: string, qualifier: Uint8Array): Moved | undefined {
    for (const move of this.moves) {
      for (const origin of move.origins) {
        const rest = behind(move, origin, family, qualifier);
        if (rest !== undefined) return { move, origin, qualifier: concatBytes(move.column.qualifier, rest) };
      }
    }
    return undefined;
  }

  /** What a cell is of that stands where it is declared. */
  movedTo(family: string, qualifier: Uint8Array): Moved | undefined {
    for (const move of this.moves) {
      if (behind(move, move.column, family, qualifier) !== undefined)
        return { move, origin: undefined, qualifier };
    }
    return undefined;
  }

  /** Where the values of a column that is declared at a qualifier may still stand. */
  formerOf({ move, qualifier }: Moved): Place[] {
    const rest = behind(move, move.column, move.column.family, qualifier)!;
    return move.origins.map((origin) => ({
      family: origin.family,
      qualifier: concatBytes(origin.qualifier, rest),
    }));
  }

  /**
   * The row as it is declared: cells of origins become cells of their columns, with their times; of two of the same time
   * the column's own counts. At most `versions` of each moved column. Counters are added up.
   * @throws RowanError `ERR_CODEC` when an old value cannot be read or migrated.
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
      const id = `${move.column.family}:${toLatin1(found.qualifier)}`;
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

  /** An origin's cell as one of the column. */
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

/** What of a qualifier stands behind that of a place: of a Map its key; undefined: the cell is not there. */
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

/** The sum of what stands at the places of a counter, at the time of the newest. */
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

/** A row with other cells, in whatever order they are given. */
export function rowLike(stored: Result, cells: Cell[]): Result {
  const kind = stored.isStale ? StaleResult : Row;
  return new kind(stored.row, cells.sort(compareCells), stored.partial);
}

function compareCells(a: Cell, b: Cell): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier) || b.timestamp - a.timestamp;
}
