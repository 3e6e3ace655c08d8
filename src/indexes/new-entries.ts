/**
 * The entries of rows told from their cells, those of a put that makes a row or those that a scan has found: without an
 * image of the row, and without an entity. Only what single cells and the key decide: other indexes take the row as it is read.
 */

import { equalBytes } from '../bytes/index.js';
import { BaseCodec, StoredText, takesStoredText, text } from '../key/index.js';
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
    const { parts, included, layout } = index.index;
    this.parts = columns.flatMap((column, i) =>
      column === undefined
        ? []
        : new PlacedColumn(column, parts[i]!, column.codec === text && takesStoredText(layout, parts[i]!)),
    );
    this.included = included.map((column) => new PlacedColumn(column, '', false));
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
  /** Taken for the value where the entry holds the same bytes. */
  private readonly stored: StoredText | undefined;

  constructor(
    readonly column: ColumnSchema,
    readonly name: string,
    copies: boolean,
  ) {
    this.stored = copies ? new StoredText() : undefined;
  }

  /** As the layout takes it; undefined when the row has none. */
  valueIn(of: RowCells | RawRow): unknown {
    const { stored } = this;
    const { codec } = this.column;
    if (!(of instanceof RawRow) || !(codec instanceof BaseCodec)) {
      const bytes = this.bytesIn(of);
      return bytes && (stored?.take(bytes, 0, bytes.length) ? stored : codec.decode(bytes));
    }
    const at = this.placeIn(of);
    if (at < 0) return undefined;
    const { bytes, starts, ends } = of;
    const start = starts[at]!;
    const end = ends[at]!;
    return stored?.take(bytes, start, end) ? stored : codec.read(bytes, start, end);
  }

  /** As stored; undefined when the row has none. */
  bytesIn(of: RowCells | RawRow): Uint8Array | undefined {
    if (of instanceof RawRow) {
      const at = this.placeIn(of);
      return at < 0 ? undefined : of.valueAt(at);
    }
    const { cells } = of;
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
