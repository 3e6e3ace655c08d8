/**
 * The entries of rows told from their cells, those of a put that makes a row or those that a scan has found: without an
 * image of the row, and without an entity. Only what single cells and the key decide: other indexes take the row as it is read.
 */

import { equalBytes } from '../bytes/index.js';
import { BaseCodec } from '../key/codecs/index.js';
import { type ColumnSchema, ROW_PART } from '../schema/types.js';
import { type MutationCell, RawRow } from '../table/index.js';
import type { EntityIndex, EntityIndexes } from './entity-indexes.js';
import { encodeEntryValue } from './entry.js';

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

  /**
   * Adds the rows and values of its entries, of a row with nothing but an entity's cells. They are new bytes.
   * @throws what codecs and keys throw, with some of them added: `EntityIndexes.entriesOf` tells it better.
   */
  addTo(rows: Uint8Array[], values: Uint8Array[], of: RowCells | RawRow): void {
    for (let i = 0; i < this.indexes.length; i++) this.indexes[i]!.addTo(rows, values, of);
  }
}

/** One index. */
class NewEntry {
  private readonly parts: readonly PlacedColumn[];
  private readonly included: readonly PlacedColumn[];
  /** Those of the data row's key. */
  private readonly keyParts: readonly string[];
  /** Filled again for each row. */
  private readonly values: Record<string, unknown> = {};
  private readonly held: (Uint8Array | undefined)[] = [];

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

  addTo(rows: Uint8Array[], entries: Uint8Array[], of: RowCells | RawRow): void {
    const { parts, keyParts, index, values, included, held } = this;
    const { row } = of;
    if (keyParts.length > 0) index.schema.key.decodeInto(row, values);
    for (let i = 0; i < keyParts.length; i++) {
      const value = values[keyParts[i]!];
      if (value === undefined || value === null) return;
    }
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!;
      const value = part.valueIn(of);
      if (value === undefined || value === null) return;
      values[part.name] = value;
    }
    values[ROW_PART] = row;
    for (let i = 0; i < included.length; i++) held[i] = included[i]!.bytesIn(of);
    const entry = index.index.layout.encode(values);
    entries.push(encodeEntryValue(index.index, row, held));
    rows.push(entry);
  }
}

/** A column, and where it stood in the last row: the rows of an entity mostly have the same columns. */
class PlacedColumn {
  private place = 0;

  constructor(
    readonly column: ColumnSchema,
    readonly name: string,
  ) {}

  /** Decoded; undefined when the row has none. */
  valueIn(from: RowCells | RawRow): unknown {
    const { codec } = this.column;
    if (!(from instanceof RawRow) || !(codec instanceof BaseCodec)) {
      const bytes = this.bytesIn(from);
      return bytes && codec.decode(bytes);
    }
    const at = this.placeIn(from);
    return at < 0 ? undefined : codec.read(from.bytes, from.starts[at]!, from.ends[at]!);
  }

  /** As stored; undefined when the row has none. */
  bytesIn(from: RowCells | RawRow): Uint8Array | undefined {
    if (from instanceof RawRow) {
      const at = this.placeIn(from);
      return at < 0 ? undefined : from.valueAt(at);
    }
    const { cells } = from;
    const there = cells[this.place];
    if (there !== undefined && this.isOf(there.family, there.qualifier)) return there.value;
    for (let i = 0; i < cells.length; i++) {
      const { family, qualifier, value } = cells[i]!;
      if (!this.isOf(family, qualifier)) continue;
      this.place = i;
      return value;
    }
    return undefined;
  }

  /** Of its cell; -1 when there is none. */
  private placeIn({ families, qualifiers, count }: RawRow): number {
    const { place } = this;
    if (place < count && this.isOf(families[place]!, qualifiers[place]!)) return place;
    for (let i = 0; i < count; i++) {
      if (!this.isOf(families[i]!, qualifiers[i]!)) continue;
      this.place = i;
      return i;
    }
    return -1;
  }

  private isOf(family: string, qualifier: Uint8Array): boolean {
    const { column } = this;
    return (
      (qualifier === column.qualifier || equalBytes(qualifier, column.qualifier)) && family === column.family
    );
  }
}
