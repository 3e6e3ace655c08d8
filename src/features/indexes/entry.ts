/**
 * An entry of an index: one row of the index's table with one cell. docs/indexes-internals.md has the bytes.
 *
 *     row    id 4 | the elements of the index | the data row, unless the index is unique
 *     value  state 1 | where it is 2, the token of the change that wrote it, 8
 *            | of a unique index: length of the data row (varint), data row
 *            | for each included column: 0, or length + 1 (varint) and the bytes of its cell
 *
 * A note of an eventual index, which records that an entry must be checked (embedded engine), is in the same table:
 *
 *     row    complement of the id 4 | the entry's row after its id
 *     value  1
 *
 * The list of a row's entries in eventual indexes, which stands beside the row's shadow (HBase):
 *
 *     value  for each entry, in the order of their bytes: length (varint) | its row without the data row
 */

import {
  compareBytes,
  concatBytes,
  copyBytes,
  copySlice,
  EMPTY_BYTES,
  toHex,
  VarintReader,
  varintLength,
  writeVarint,
} from '../../bytes/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import type { KeyWriter } from '../../key/codecs/index.js';
import { type IndexSchema, TOKEN_LENGTH } from '../../schema/types.js';
import { type TableDescriptor, tableDescriptor } from '../../table/index.js';

/** The only family of tables of indexes. FROZEN. */
export const INDEX_FAMILY = 'i';
/** The qualifier of an entry's only cell. FROZEN. */
export const ENTRY_QUALIFIER: Uint8Array = Uint8Array.of(0x5f);
/** The state of an entry that its data row confirms. FROZEN. */
export const VERIFIED = 1;
/**
 * The state of an entry that was written before its data row. The row decides whether it is valid (HBase only).
 * FROZEN.
 */
export const UNVERIFIED = 2;

const ID_LENGTH = 4;

export interface IndexEntry {
  readonly row: Uint8Array;
  readonly value: Uint8Array;
}

/** The decoded value of an entry. */
interface EntryContent {
  readonly state: number;
  /** The token of the change that wrote it, if the entry is unverified. */
  readonly token: Uint8Array | undefined;
  /** The row of the entity. */
  readonly dataRow: Uint8Array;
  /** The cells of the included columns, in their order; undefined for absent ones. */
  readonly cells: readonly (Uint8Array | undefined)[];
}

/** The name of the table that holds the entries of a table's indexes. */
export function indexTableName(table: string): string {
  return `${table}_idx`;
}

/** The table that holds the index entries of a table. */
export function indexTableDescriptor(table: string): TableDescriptor {
  return tableDescriptor(indexTableName(table), { [INDEX_FAMILY]: {} });
}

/** The prefix of the notes of an eventual index. */
export function notePrefix(id: Uint8Array): Uint8Array {
  return id.map((byte) => byte ^ 0xff);
}

/** The row of the note about an entry; and back, the entry that a note is about. */
export function noteRow(entry: Uint8Array): Uint8Array {
  const row = entry.slice();
  for (let i = 0; i < ID_LENGTH; i++) row[i] = row[i]! ^ 0xff;
  return row;
}

/** The list of these entries, each without the data row. No bytes: of none. */
export function encodeList(entries: readonly Uint8Array[]): Uint8Array {
  const parts = [...entries].sort(compareBytes).flatMap((entry) => {
    const length = new Uint8Array(varintLength(entry.length));
    writeVarint(length, 0, entry.length);
    return [length, entry];
  });
  return concatBytes(...parts);
}

/** The entries of a list, as views of its bytes. @throws CorruptionError on malformed bytes. */
export function decodeList(list: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = [];
  const reader = new VarintReader();
  reader.reset(list, 0, list.length);
  while (reader.position < list.length) {
    const end = reader.read() + reader.position;
    if (end > list.length || end - reader.position < ID_LENGTH)
      throw new CorruptionError(
        "The list of a row's entries cannot be read. Drop the eventual indexes of the entity and build them again: db.index(…).",
        { details: { listHex: toHex(list) } },
      );
    entries.push(list.subarray(reader.position, end));
    reader.position = end;
  }
  return entries;
}

export function encodeEntryValue(
  index: IndexSchema,
  dataRow: Uint8Array,
  cells: readonly (Uint8Array | undefined)[],
): Uint8Array {
  if (!index.unique && cells.length === 0) return PLAIN_VALUE;
  let length = 1;
  if (index.unique) length += varintLength(dataRow.length) + dataRow.length;
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    length += cell === undefined ? 1 : varintLength(cell.length + 1) + cell.length;
  }
  const value = new Uint8Array(length);
  value[0] = VERIFIED;
  let at = 1;
  if (index.unique) {
    at = writeVarint(value, at, dataRow.length);
    value.set(dataRow, at);
    at += dataRow.length;
  }
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    at = writeVarint(value, at, cell === undefined ? 0 : cell.length + 1);
    if (cell === undefined) continue;
    copySlice(cell, 0, cell.length, value, at);
    at += cell.length;
  }
  return value;
}

/**
 * Appends the value that `encodeEntryValue` returns. The cell of included column i is bytes[starts[i]..ends[i]); a start of -1 stands
 * for none.
 */
export function appendEntryValue(
  out: KeyWriter,
  { unique }: IndexSchema,
  dataRow: Uint8Array,
  bytes: Uint8Array,
  starts: readonly number[],
  ends: readonly number[],
): void {
  out.push(VERIFIED);
  if (unique) {
    out.ensure(MAX_VARINT_BYTES);
    out.length = writeVarint(out.buffer, out.length, dataRow.length);
    out.append(dataRow);
  }
  for (let i = 0; i < starts.length; i++) {
    const start = starts[i]!;
    const length = start < 0 ? -1 : ends[i]! - start;
    out.ensure(MAX_VARINT_BYTES + length);
    out.length = writeVarint(out.buffer, out.length, length + 1);
    if (start < 0) continue;
    copySlice(bytes, start, length, out.buffer, out.length);
    out.length += length;
  }
}

const MAX_VARINT_BYTES = 10;
const PLAIN_VALUE: Uint8Array = Uint8Array.of(VERIFIED);
/** The value of every note. FROZEN. */
export const NOTE_VALUE: Uint8Array = PLAIN_VALUE;

/** The unverified form of an entry's value, which a change writes before its row. */
export function unverifiedValue(value: Uint8Array, token: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(UNVERIFIED), token, value.subarray(1));
}

/** @throws RowanError `ERR_CORRUPTION` on malformed bytes. */
export function decodeEntry(index: IndexSchema, row: Uint8Array, value: Uint8Array): EntryContent {
  const reader = new EntryReader(index);
  reader.read(row, value, 0, value.length);
  return {
    state: reader.state,
    token: reader.state === VERIFIED ? undefined : copyBytes(value, 1, 1 + TOKEN_LENGTH),
    dataRow: reader.dataRow,
    cells: index.included.map((_, i) =>
      reader.starts[i]! < 0 ? undefined : copyBytes(value, reader.starts[i], reader.ends[i]),
    ),
  };
}

/** Shared: numbers are read one at a time. */
const numbers = new VarintReader();

/** Decodes entries of one index without allocating objects. Its fields are overwritten by each. */
export class EntryReader {
  state = 0;
  /** The row of the entity, a copy. */
  dataRow: Uint8Array = EMPTY_BYTES;
  /** Offsets of the included columns' cells in the decoded bytes. -1: absent. */
  readonly starts: number[];
  readonly ends: number[];

  constructor(private readonly index: IndexSchema) {
    this.starts = index.included.map(() => -1);
    this.ends = index.included.map(() => -1);
  }

  /**
   * Decodes the entry at `row` whose value is bytes[start..end). `behind`: where the data row begins in `row`, if
   * known, for an index that is not unique.
   * @throws RowanError `ERR_CORRUPTION` on malformed bytes; CorruptionError on a malformed number.
   */
  read(row: Uint8Array, bytes: Uint8Array, start: number, end: number, behind = -1): void {
    const { index, starts, ends } = this;
    const state = start < end ? bytes[start]! : 0;
    if (state !== VERIFIED && state !== UNVERIFIED) throw broken(index, row);
    this.state = state;
    const from = state === VERIFIED ? start + 1 : start + 1 + TOKEN_LENGTH;
    if (from > end) throw broken(index, row);
    numbers.reset(bytes, from, end);
    if (index.unique) {
      const to = this.behind(row, numbers.read(), end);
      this.dataRow = copyBytes(bytes, numbers.position, to);
      numbers.position = to;
    } else {
      this.dataRow = behind < 0 ? dataRowOf(index, row) : copyBehind(row, behind);
    }
    for (let i = 0; i < starts.length; i++) {
      const length = numbers.read();
      starts[i] = length === 0 ? -1 : numbers.position;
      if (length === 0) continue;
      ends[i] = this.behind(row, length - 1, end);
      numbers.position = ends[i]!;
    }
    if (numbers.position !== end) throw broken(index, row);
  }

  /** The offset after so many bytes. */
  private behind(row: Uint8Array, length: number, end: number): number {
    if (length > end - numbers.position) throw broken(this.index, row);
    return numbers.position + length;
  }
}

function copyBehind(row: Uint8Array, start: number): Uint8Array {
  const copy = new Uint8Array(row.length - start);
  copySlice(row, start, copy.length, copy, 0);
  return copy;
}

/** The data row of an entry of an index that is not unique. @throws RowanError `ERR_CORRUPTION` when it has none. */
export function dataRowOf(index: IndexSchema, row: Uint8Array): Uint8Array {
  const found = index.layout.decodeLast(row);
  if (found instanceof Uint8Array) return found;
  throw broken(index, row);
}

function broken(index: IndexSchema, row: Uint8Array): RowanError {
  return new RowanError(
    'ERR_CORRUPTION',
    `An entry of the index "${index.name}" cannot be read. Build it anew: rowan index build, or db.index(…).build().`,
    { details: { index: index.name, keyHex: toHex(row) } },
  );
}
