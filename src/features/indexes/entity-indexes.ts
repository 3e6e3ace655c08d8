import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { KeyError, RowanError } from '../../errors.js';
import { appendKey, BaseCodec, type KeyWriter, StoredText, takesStoredText, text } from '../../key/index.js';
import {
  type ColumnSchema,
  type EntitySchema,
  type IndexSchema,
  isSingleCell,
  ROW_PART,
  type RowReader,
  valueAt,
} from '../../schema/types.js';
import {
  type ColumnPuts,
  type MutationCell,
  type PackedPuts,
  RawRow,
  type Result,
} from '../../table/index.js';
import { appendEntryValue, encodeEntryValue, type IndexEntry, indexTableName } from './entry.js';

/** The index entries of a row: the one rule that writes, queries, builds and checks share. */

/** Whether a row meets the condition of a sparse index. */
type EntryCondition = (row: Result | RawRow) => boolean;

/** The compiled condition of a sparse index, and the columns that it reads. `undefined`: every row has entries. */
export interface CompiledWhere {
  readonly test: EntryCondition;
  readonly columns: readonly ColumnSchema[];
  /** The conditions as texts. All must hold. */
  readonly texts: readonly string[];
}

/** The indexes of one entity. */
export class EntityIndexes {
  readonly tableName: string;
  readonly all: readonly EntityIndex[];
  /** Columns that decide on entries or are stored in them. */
  readonly columns: readonly ColumnSchema[];
  private readonly reader: RowReader;
  private readonly none: readonly (readonly IndexEntry[])[];

  constructor(
    readonly schema: EntitySchema,
    whereOf: (index: IndexSchema) => CompiledWhere | undefined,
    indexes: readonly IndexSchema[] = schema.indexes,
  ) {
    this.tableName = indexTableName(schema.table.descriptor.name);
    this.all = indexes.map((index) => new EntityIndex(schema, index, whereOf(index)));
    this.columns = [...new Set(this.all.flatMap(({ columns }) => columns))];
    this.none = this.all.map(() => NONE);
    this.reader = schema.mapper.readerOf(new Set(indexes.flatMap(({ parts }) => parts)));
  }

  /** The entries of a row, for each index in their order. None for a row that is no entity. @throws KeyError. */
  entriesOf(row: Result): readonly (readonly IndexEntry[])[] {
    const entity = row.isEmpty ? null : this.reader.read(row);
    return entity === null ? this.none : this.all.map((index) => index.entriesOf(entity, row));
  }

  /**
   * As {@link entriesOf}, of a row that is about to be changed: a value that its codec cannot read has no entry. Otherwise nobody could
   * write or delete a row into which another program put wrong bytes.
   */
  formerEntriesOf(row: Result): readonly (readonly IndexEntry[])[] {
    try {
      return this.entriesOf(row);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return this.all.map((index) => index.formerEntriesOf(row));
    }
  }
}

/** Whether stored bytes are no value of their codec, or a value that no entry can hold. */
function isUnreadable(error: unknown): boolean {
  return error instanceof RowanError && (error.code === 'ERR_CODEC' || error.code === 'ERR_KEY');
}

const NONE: readonly IndexEntry[] = Object.freeze([]);
const NO_ROWS: readonly Uint8Array[] = Object.freeze([]);

/** One index of an entity. */
export class EntityIndex {
  /** Columns that decide on its entries or are stored in them. */
  readonly columns: readonly ColumnSchema[];
  /** Columns that decide which entries a row has. */
  readonly deciding: readonly ColumnSchema[];
  /** Reads the index parts of a row. */
  readonly reader: RowReader;
  /** Single cells that each entry needs: a row without one of them has no entry. */
  readonly needed: readonly ColumnSchema[];
  private readonly paths: readonly (readonly string[])[];

  constructor(
    readonly schema: EntitySchema,
    readonly index: IndexSchema,
    readonly where: CompiledWhere | undefined,
  ) {
    const { parts, included } = index;
    const columns = parts.flatMap((part) => schema.columnsByProperty.get(part) ?? []);
    this.deciding = [...new Set([...columns, ...(where?.columns ?? [])])];
    this.columns = [...new Set([...this.deciding, ...included])];
    this.reader = schema.mapper.readerOf(new Set(parts));
    this.needed = columns.filter(isSingleCell);
    this.paths = parts.map((part) => schema.columnsByProperty.get(part)?.path ?? [part]);
  }

  /**
   * The entries of a row. `entity` has at least the index parts. @throws KeyError on a value that no entry can hold.
   */
  entriesOf(entity: object, row: Result): readonly IndexEntry[] {
    const rows = this.rowsOf(entity, row);
    if (rows.length === 0) return NONE;
    const { index } = this;
    const cells = index.included.map(({ family, qualifier }) => row.getValue(family, qualifier));
    const value = encodeEntryValue(index, row.row, cells);
    return rows.map((entry) => ({ row: entry, value }));
  }

  /** As {@link EntityIndexes.formerEntriesOf}. */
  formerEntriesOf(row: Result): readonly IndexEntry[] {
    try {
      const entity = row.isEmpty ? null : this.reader.read(row);
      return entity === null ? NONE : this.entriesOf(entity, row);
    } catch (error) {
      if (isUnreadable(error)) return NONE;
      throw error;
    }
  }

  /** Whether the row has this entry and no other. @throws as `entriesOf`. */
  hasEntry(row: Result | RawRow, entry: Uint8Array): boolean {
    const entity = row instanceof RawRow ? this.reader.readRaw(row) : this.reader.read(row);
    if (entity === null) return false;
    const rows = this.rowsOf(entity, row);
    return rows.length === 1 && equalBytes(rows[0]!, entry);
  }

  /** The rows of its entries, without duplicates. @throws as `entriesOf`. */
  rowsOf(entity: object, row: Result | RawRow): readonly Uint8Array[] {
    const { index, where } = this;
    if (where !== undefined && !where.test(row)) return NO_ROWS;
    const values: Record<string, unknown> = { [ROW_PART]: row.row };
    const { parts, several } = index;
    let items: readonly unknown[] | undefined;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!;
      const value = valueAt(entity, this.paths[i]!);
      if (value === undefined) return NO_ROWS;
      if (part === several) items = this.itemsOf(value);
      else values[part] = value;
    }
    if (items === undefined) return [this.encode(values)];
    const rows = new Map<string, Uint8Array>();
    for (const item of items) {
      if (item === undefined || item === null) continue;
      values[several!] = item;
      const entry = this.encode(values);
      rows.set(toLatin1(entry), entry);
    }
    return [...rows.values()];
  }

  private itemsOf(value: unknown): readonly unknown[] {
    if (value instanceof Map) return [...(this.index.each === 'keys' ? value.keys() : value.values())];
    return Array.isArray(value) ? value : [value];
  }

  private encode(values: Readonly<Record<string, unknown>>): Uint8Array {
    try {
      return this.index.layout.encode(values);
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      throw new KeyError(
        `${error.message} The index "${this.index.name}" cannot hold the value: store another, or index a digest of it.`,
        { cause: error, details: { ...error.details, entity: this.schema.name, index: this.index.name } },
      );
    }
  }
}

/** A row as its newest cells. */
export interface RowCells {
  readonly row: Uint8Array;
  readonly cells: readonly ValueCell[];
}

type ValueCell = Pick<MutationCell, 'family' | 'qualifier' | 'value'>;

/**
 * Fast path: index entries straight from cells, of a put that creates a row or of a scanned row, without a row image
 * and without an entity. Only for indexes decided by single cells and the key.
 */
export class NewEntries {
  /** The packed row whose entries are made. Reused for each row. */
  private readonly row = new RawRow();

  private constructor(private readonly indexes: readonly NewEntry[]) {}

  /**
   * Undefined when an index needs the general path: eventual, with a condition, over columns of several cells, or unique, unless
   * `unique` says that the caller looks whether its entries are new.
   */
  static of({ schema, all }: EntityIndexes, unique = false): NewEntries | undefined {
    if (schema.marker === undefined) return undefined;
    const indexes: NewEntry[] = [];
    for (const each of all) {
      const { eventual, several, parts, included } = each.index;
      if ((each.index.unique && !unique) || eventual || several !== undefined || each.where !== undefined)
        return undefined;
      const columns = parts.map((part) => schema.columnsByProperty.get(part));
      const single = [...columns, ...included].every(
        (column) => column === undefined || column.kind === 'column',
      );
      if (!single) return undefined;
      indexes.push(new NewEntry(each, columns));
    }
    return new NewEntries(indexes);
  }

  /** Adds the entries of packed puts that create rows. @throws as `addTo`. */
  addPacked(entries: ColumnPuts, out: KeyWriter, puts: PackedPuts): void {
    const { columns, rows, rowEnds, cells, valueEnds, bytes } = puts;
    const { indexes, row } = this;
    row.bytes = bytes;
    let cell = 0;
    let from = puts.start;
    for (let i = 0; i < rows.length; i++) {
      row.begin(rows[i]!);
      for (const end = rowEnds[i]!; cell < end; cell++) {
        const { family, qualifier } = columns[cells[cell]!]!;
        const at = row.count++;
        // Mostly the row before had the same column here, and comparing costs less than writing.
        if (row.families[at] !== family) row.families[at] = family;
        if (row.qualifiers[at] !== qualifier) row.qualifiers[at] = qualifier;
        row.starts[at] = from;
        from = valueEnds[cell]!;
        row.ends[at] = from;
      }
      for (let k = 0; k < indexes.length; k++) indexes[k]!.addPlaced(entries, out, row);
    }
    entries.bytes = out.buffer;
  }

  /** Adds the entries of a row to puts whose bytes are those of `out`. @throws as `addTo`. */
  addRaw(entries: ColumnPuts, out: KeyWriter, of: RawRow): void {
    for (let k = 0; k < this.indexes.length; k++) this.indexes[k]!.addPlaced(entries, out, of);
    entries.bytes = out.buffer;
  }

  /**
   * Adds the rows and values of the entries, as new bytes, for a row that has only the entity's cells.
   * @throws errors of codecs and keys, after some entries were added. `EntityIndexes.entriesOf` gives the better
   * message.
   */
  addTo(rows: Uint8Array[], values: Uint8Array[], of: RowCells | RawRow): void {
    for (let i = 0; i < this.indexes.length; i++) this.indexes[i]!.addTo(rows, values, of);
  }
}

/** The fast path of one index. */
class NewEntry {
  private readonly parts: readonly PlacedColumn[];
  private readonly included: readonly PlacedColumn[];
  /** The parts of the data row's key. */
  private readonly keyParts: readonly string[];
  /** Reused for each row. */
  private readonly values: Record<string, unknown> = {};
  private readonly held: (Uint8Array | undefined)[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];

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
    if (!this.take(of)) return;
    const { index, values, included, held } = this;
    for (let i = 0; i < included.length; i++) held[i] = included[i]!.bytesIn(of);
    const entry = index.index.layout.encode(values);
    entries.push(encodeEntryValue(index.index, of.row, held));
    rows.push(entry);
  }

  addPlaced(entries: ColumnPuts, out: KeyWriter, of: RawRow): void {
    if (!this.take(of)) return;
    const { index, values, included, starts, ends } = this;
    appendKey(index.index.layout, values, out);
    const rowEnd = out.length;
    for (let i = 0; i < included.length; i++) {
      const at = included[i]!.placeIn(of);
      starts[i] = at < 0 ? -1 : of.starts[at]!;
      ends[i] = at < 0 ? -1 : of.ends[at]!;
    }
    appendEntryValue(out, index.index, of.row, of.bytes, starts, ends);
    if (index.index.unique) entries.ofNewRows.push(entries.count);
    entries.rowEnds.push(rowEnd);
    entries.valueEnds.push(out.length);
  }

  /** Sets `values` to the parts of a row's entry. False: the row has none. */
  private take(of: RowCells | RawRow): boolean {
    const { parts, keyParts, index, values } = this;
    const { row } = of;
    if (keyParts.length > 0) index.schema.key.decodeInto(row, values);
    for (let i = 0; i < keyParts.length; i++) {
      const value = values[keyParts[i]!];
      if (value === undefined || value === null) return false;
    }
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!;
      const value = part.valueIn(of);
      if (value === undefined || value === null) return false;
      values[part.name] = value;
    }
    values[ROW_PART] = row;
    return true;
  }
}

/** A column, with its position in the last row: rows of an entity mostly have the same columns. */
class PlacedColumn {
  private place = 0;
  /** Used as the value where the entry stores the same bytes. */
  private readonly stored: StoredText | undefined;

  constructor(
    readonly column: ColumnSchema,
    readonly name: string,
    copies: boolean,
  ) {
    this.stored = copies ? new StoredText() : undefined;
  }

  /** The value for the key layout. Undefined: the row has none. */
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

  /** The stored bytes. Undefined: the row has none. */
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

  /** The position of its cell. -1: there is none. */
  placeIn({ families, qualifiers, count }: RawRow): number {
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
