/**
 * The entries of rows told from their cells, those of a put that makes a row or those that a scan has found: without an
 * image of the row, and without an entity. Only what single cells and the key decide: other indexes take the row as it is read.
 */

import { equalBytes } from '../bytes/index.js';
import { type ColumnSchema, ROW_PART } from '../schema/types.js';
import type { MutationCell } from '../table/index.js';
import type { EntityIndex, EntityIndexes } from './entity-indexes.js';
import { encodeEntryValue, type IndexEntry } from './entry.js';

/** A row by its newest cells. */
export interface RowCells {
  readonly row: Uint8Array;
  readonly cells: readonly ValueCell[];
}

type ValueCell = Pick<MutationCell, 'family' | 'qualifier' | 'value'>;

export class NewEntries {
  private constructor(private readonly indexes: readonly NewEntry[]) {}

  /** Undefined when one of the indexes is more: unique, eventual, sparse by a condition, or of what is no single cell. */
  static of({ schema, all }: EntityIndexes): NewEntries | undefined {
    if (schema.marker === undefined) return undefined;
    const indexes: NewEntry[] = [];
    for (const each of all) {
      const { unique, eventual, several, parts, included } = each.index;
      if (unique || eventual || several !== undefined || each.where !== undefined) return undefined;
      const columns = parts.map((part) => schema.columnsByProperty.get(part));
      const single = [...columns, ...included].every(
        (column) => column === undefined || column.kind === 'column',
      );
      if (!single) return undefined;
      indexes.push(new NewEntry(each, columns));
    }
    return new NewEntries(indexes);
  }

  /** Of a row with nothing but an entity's cells. @throws what codecs and keys throw: `EntityIndexes.entriesOf` tells it better. */
  entriesOf(row: RowCells): readonly IndexEntry[] {
    const out: IndexEntry[] = [];
    for (let i = 0; i < this.indexes.length; i++) {
      const entry = this.indexes[i]!.entryOf(row);
      if (entry !== undefined) out.push(entry);
    }
    return out;
  }
}

/** One index. */
class NewEntry {
  private readonly parts: readonly PlacedColumn[];
  private readonly included: readonly PlacedColumn[];
  /** Those of the data row's key. */
  private readonly keyParts: readonly string[];

  constructor(
    private readonly index: EntityIndex,
    columns: readonly (ColumnSchema | undefined)[],
  ) {
    const { parts, included } = index.index;
    this.parts = columns.flatMap((column, i) =>
      column === undefined ? [] : new PlacedColumn(column, parts[i]!),
    );
    this.included = included.map((column) => new PlacedColumn(column, ''));
    this.keyParts = parts.filter((_, i) => columns[i] === undefined);
  }

  entryOf({ row, cells }: RowCells): IndexEntry | undefined {
    const { parts, keyParts, index } = this;
    const values: Record<string, unknown> = {};
    if (keyParts.length > 0) index.schema.key.decodeInto(row, values);
    for (let i = 0; i < keyParts.length; i++) {
      const value = values[keyParts[i]!];
      if (value === undefined || value === null) return undefined;
    }
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!;
      const bytes = part.valueIn(cells);
      const value = bytes && part.column.codec.decode(bytes);
      if (value === undefined || value === null) return undefined;
      values[part.name] = value;
    }
    values[ROW_PART] = row;
    const { included } = this;
    const held: (Uint8Array | undefined)[] = [];
    for (let i = 0; i < included.length; i++) held.push(included[i]!.valueIn(cells));
    return { row: index.index.layout.encode(values), value: encodeEntryValue(index.index, row, held) };
  }
}

/** A column, and where it stood in the last row: the rows of an entity mostly have the same columns. */
class PlacedColumn {
  private place = 0;

  constructor(
    readonly column: ColumnSchema,
    readonly name: string,
  ) {}

  valueIn(cells: readonly ValueCell[]): Uint8Array | undefined {
    const there = cells[this.place];
    if (there !== undefined && this.isOf(there)) return there.value;
    for (let i = 0; i < cells.length; i++) {
      if (!this.isOf(cells[i]!)) continue;
      this.place = i;
      return cells[i]!.value;
    }
    return undefined;
  }

  private isOf({ family, qualifier }: ValueCell): boolean {
    const { column } = this;
    return (
      (qualifier === column.qualifier || equalBytes(qualifier, column.qualifier)) && family === column.family
    );
  }
}
