import { concatBytes, EMPTY_BYTES, equalBytes, toBytes } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  type Commit,
  type CommitRecorder,
  canonicalTableName,
  Put,
  type Result,
  type TableChange,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';
import { decodeEntry, encodeEntry, type RowEntry } from './entry.js';

/**
 * The table of changes on an engine with commits: a row for each commit, a column for each part of an entry. docs/formats.md has
 * the bytes.
 */

/** FROZEN. */
export const CHANGES_TABLE = 'rowan_changes';
export const CHANGES_FAMILY = 'c';
const END = Uint8Array.of(0);
/** Bytes of place and part number, after the table name. */
const NUMBERS = 6;
/** The most bytes of one part: cells have a size limit, rows have none. */
const PART = 512 * 1024;

export function changesDescriptor(): TableDescriptor {
  return tableDescriptor(CHANGES_TABLE, { [CHANGES_FAMILY]: {} });
}

/** The row of a commit. `number`: 0..2^53-1. */
export function commitRow(number: number): Uint8Array {
  const row = Buffer.alloc(8);
  row.writeBigUInt64BE(BigInt(number));
  return row;
}

export function commitNumber(row: Uint8Array): number {
  if (row.length !== 8)
    throw new CorruptionError('A row of the table of changes is not a valid commit.', {
      details: { table: CHANGES_TABLE },
    });
  return Number(Buffer.from(row).readBigUInt64BE());
}

/** The prefix of the columns that hold a table's entries. */
export function columnsOf(table: string): Uint8Array {
  return concatBytes(toBytes(table), END);
}

/** An entry of a commit. */
export interface CommitEntry extends RowEntry {
  readonly table: string;
}

/**
 * Adds the entry at index `place` of its commit.
 * @param maxCellSize the engine's largest cell, in bytes
 * @param column that of `columnsOf`
 */
export function addEntry(
  put: Put,
  entry: CommitEntry,
  place: number,
  maxCellSize = Number.POSITIVE_INFINITY,
  column: Uint8Array = columnsOf(entry.table),
): void {
  const bytes = encodeEntry(entry);
  const size = Math.max(1, Math.min(PART, maxCellSize - put.row.length - column.length - NUMBERS));
  for (let part = 0; part * size < bytes.length; part++) {
    const qualifier = Buffer.alloc(column.length + NUMBERS);
    qualifier.set(column);
    qualifier.writeUInt32BE(place, column.length);
    qualifier.writeUInt16BE(part, column.length + 4);
    put.addColumn(CHANGES_FAMILY, qualifier, bytes.subarray(part * size, (part + 1) * size));
  }
}

/** The entries of a commit in their order, without those of tables that were not requested. */
export function entriesOf(result: Result): CommitEntry[] {
  const found = new Map<number, { readonly table: string; readonly parts: Uint8Array[] }>();
  let table = '';
  let tableBytes: Uint8Array = EMPTY_BYTES;
  for (const { qualifier, value } of result.cells) {
    const end = qualifier.length - NUMBERS;
    const place = new DataView(qualifier.buffer, qualifier.byteOffset + end).getUint32(0);
    const known = found.get(place);
    if (known !== undefined) {
      known.parts.push(value);
      continue;
    }
    const name = qualifier.subarray(0, end - 1);
    if (!equalBytes(name, tableBytes)) {
      table = Buffer.from(name).toString();
      tableBytes = name;
    }
    found.set(place, { table, parts: [value] });
  }
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([, { table, parts }]) => ({
      table,
      ...decodeEntry(parts.length === 1 ? parts[0]! : concatBytes(...parts)),
    }));
}

/**
 * The embedded change log: writes an entry for each changed row of entities with `changes`, in the step that changes
 * them.
 */
export class ChangeRecorder implements CommitRecorder {
  private readonly byTable = new Map<string, EntitySchema[]>();
  private readonly columns = new Map<string, Uint8Array>();

  constructor(
    entities: readonly EntitySchema[],
    private readonly onCommitted: () => void,
    private readonly maxCellSize?: number,
  ) {
    for (const entity of entities) {
      const name = canonicalTableName(entity.table.descriptor.name);
      this.byTable.set(name, [...(this.byTable.get(name) ?? []), entity]);
      this.columns.set(name, columnsOf(name));
    }
  }

  get tables(): readonly string[] {
    return [...this.byTable.keys()];
  }

  wants(table: string, row: Uint8Array): boolean {
    return this.keptFor(table, row) > 0;
  }

  /** One put for each retention time: the cells of a put expire together. */
  record({ number, durability, rows }: Commit): TableChange[] {
    const puts = new Map<number, Put>();
    rows.forEach((changed, place) => {
      const kept = this.keptFor(changed.table, changed.row);
      const put = puts.get(kept) ?? new Put(commitRow(number)).setTtl(kept).setDurability(durability);
      puts.set(kept, put);
      addEntry(put, changed, place, this.maxCellSize, this.columns.get(changed.table));
    });
    return [...puts.values()].map((change) => ({ table: CHANGES_TABLE, change }));
  }

  committed(): void {
    this.onCommitted();
  }

  /** Retention time in milliseconds. 0: the row is of no entity with `changes`. */
  private keptFor(table: string, row: Uint8Array): number {
    const entities = this.byTable.get(table) ?? [];
    return entities.reduce(
      (most, { key, changesKept }) => (key.matches(row) ? Math.max(most, changesKept ?? 0) : most),
      0,
    );
  }
}
