/** What the rows of an entity make of entries: one owner of the rule for writes, queries, builds and checks. */

import { equalBytes, toLatin1 } from '../bytes/index.js';
import { KeyError } from '../errors.js';
import {
  type ColumnSchema,
  type EntitySchema,
  type IndexSchema,
  ROW_PART,
  type RowReader,
} from '../schema/types.js';
import { RawRow, type Result } from '../table/index.js';
import { encodeEntryValue, type IndexEntry, indexTableName } from './entry.js';

/** Whether a row meets the condition of a sparse index. */
export type EntryCondition = (row: Result | RawRow) => boolean;

/** The condition of an index compiled; undefined when every row has entries. And the columns that it tests. */
export interface CompiledWhere {
  readonly test: EntryCondition;
  readonly columns: readonly ColumnSchema[];
  /** What must all hold, as texts. */
  readonly texts: readonly string[];
}

/** The indexes of one entity, with what makes their entries. */
export class EntityIndexes {
  readonly tableName: string;
  readonly all: readonly EntityIndex[];
  /** Every column that decides on entries or stands in them. */
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

  /** The entries of a row for each of the indexes, in their order; none of a row that is no entity. @throws KeyError. */
  entriesOf(row: Result): readonly (readonly IndexEntry[])[] {
    const entity = row.isEmpty ? null : this.reader.read(row);
    return entity === null ? this.none : this.all.map((index) => index.entriesOf(entity, row));
  }
}

const NONE: readonly IndexEntry[] = Object.freeze([]);
const NO_ROWS: readonly Uint8Array[] = Object.freeze([]);

/** One index of an entity. */
export class EntityIndex {
  /** Every column that decides on its entries or stands in them. */
  readonly columns: readonly ColumnSchema[];
  /** Of its parts. */
  readonly reader: RowReader;
  /** Single cells that each entry comes from: without one of them there is none. */
  readonly needed: readonly ColumnSchema[];
  private readonly paths: readonly (readonly string[])[];

  constructor(
    readonly schema: EntitySchema,
    readonly index: IndexSchema,
    readonly where: CompiledWhere | undefined,
  ) {
    const { parts, included } = index;
    const columns = parts.flatMap((part) => schema.columnsByProperty.get(part) ?? []);
    this.columns = [...new Set([...columns, ...included, ...(where?.columns ?? [])])];
    this.reader = schema.mapper.readerOf(new Set(parts));
    this.needed = columns.filter(({ kind }) => kind === 'column' || kind === 'counter');
    this.paths = parts.map((part) => schema.columnsByProperty.get(part)?.path ?? [part]);
  }

  /** Of the row's entity, of which at least the parts were read. @throws KeyError on a value that no entry can hold. */
  entriesOf(entity: object, row: Result): readonly IndexEntry[] {
    const rows = this.rowsOf(entity, row);
    if (rows.length === 0) return NONE;
    const { index } = this;
    const cells = index.included.map(({ family, qualifier }) => row.getValue(family, qualifier));
    const value = encodeEntryValue(index, row.row, cells);
    return rows.map((entry) => ({ row: entry, value }));
  }

  /** Whether the row has this entry and no other. @throws as `entriesOf`. */
  hasEntry(row: Result | RawRow, entry: Uint8Array): boolean {
    const entity = row instanceof RawRow ? this.reader.readRaw(row) : this.reader.read(row);
    if (entity === null) return false;
    const rows = this.rowsOf(entity, row);
    return rows.length === 1 && equalBytes(rows[0]!, entry);
  }

  /** The rows of its entries, each once. @throws as `entriesOf`. */
  rowsOf(entity: object, row: Result | RawRow): readonly Uint8Array[] {
    const { index, where } = this;
    if (where !== undefined && !where.test(row)) return NO_ROWS;
    const values: Record<string, unknown> = { [ROW_PART]: row.row };
    const { parts, several } = index;
    let items: readonly unknown[] | undefined;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!;
      const value = valueAt(entity, this.paths[i]!);
      if (value === undefined || value === null) return NO_ROWS;
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

function valueAt(entity: object, path: readonly string[]): unknown {
  let value: unknown = entity;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}
