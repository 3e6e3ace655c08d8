/**
 * An entry of an index: one row of the index's table with one cell. docs/indexes.md has the bytes.
 *
 *     row    id 4 | the elements of the index | the data row, unless the index is unique
 *     value  state 1 | of a unique index: length of the data row (varint), data row
 *            | for each included column: 0, or length + 1 (varint) and the bytes of its cell
 */

import { concatBytes, copyBytes, toHex, VarintReader, varintLength, writeVarint } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { IndexSchema } from '../schema/types.js';

/** The only family of tables of indexes. FROZEN. */
export const INDEX_FAMILY = 'i';
/** The qualifier of an entry's only cell. FROZEN. */
export const ENTRY_QUALIFIER: Uint8Array = Uint8Array.of(0x5f);
/** The entry says what the data row says. FROZEN. */
export const VERIFIED = 1;
/** The entry was written before the data row, which decides whether it holds (HBase only). FROZEN. */
export const UNVERIFIED = 2;

export interface IndexEntry {
  readonly row: Uint8Array;
  readonly value: Uint8Array;
}

/** What the value of an entry holds. */
export interface EntryContent {
  readonly state: number;
  /** The row of the entity. */
  readonly dataRow: Uint8Array;
  /** The cells of the included columns, in their order; undefined where the entity has none. */
  readonly cells: readonly (Uint8Array | undefined)[];
}

/** The name of the table that the entries of a table's indexes stand in. */
export function indexTableName(table: string): string {
  return `${table}_idx`;
}

export function encodeEntryValue(
  index: IndexSchema,
  dataRow: Uint8Array,
  cells: readonly (Uint8Array | undefined)[],
  state = VERIFIED,
): Uint8Array {
  if (!index.unique && cells.length === 0) return state === VERIFIED ? PLAIN_VALUE : Uint8Array.of(state);
  const parts: Uint8Array[] = [Uint8Array.of(state)];
  if (index.unique) parts.push(varint(dataRow.length), dataRow);
  for (const cell of cells) {
    parts.push(varint(cell === undefined ? 0 : cell.length + 1));
    if (cell !== undefined) parts.push(cell);
  }
  return concatBytes(...parts);
}

const PLAIN_VALUE: Uint8Array = Uint8Array.of(VERIFIED);

/** @throws RowanError `ERR_CORRUPTION` when the bytes are none of an entry. */
export function decodeEntry(index: IndexSchema, row: Uint8Array, value: Uint8Array): EntryContent {
  const state = value[0];
  if (state !== VERIFIED && state !== UNVERIFIED) throw broken(index, row);
  const reader = new ValueReader(index, row, value);
  const dataRow = index.unique ? reader.bytes(reader.length()) : dataRowOf(index, row);
  const cells = index.included.map(() => {
    const length = reader.length();
    return length === 0 ? undefined : reader.bytes(length - 1);
  });
  reader.end();
  return { state, dataRow, cells };
}

function dataRowOf(index: IndexSchema, row: Uint8Array): Uint8Array {
  const found = index.layout.decodeLast(row);
  if (found instanceof Uint8Array) return found;
  throw broken(index, row);
}

/** Reads a value's lengths and bytes, none beyond its end. */
class ValueReader {
  private readonly numbers = new VarintReader();

  constructor(
    private readonly index: IndexSchema,
    private readonly row: Uint8Array,
    private readonly value: Uint8Array,
  ) {
    this.numbers.reset(value, 1, value.length);
  }

  /** @throws CorruptionError when there is no number. */
  length(): number {
    return this.numbers.read();
  }

  bytes(length: number): Uint8Array {
    const { numbers, value } = this;
    const start = numbers.position;
    if (length > value.length - start) throw broken(this.index, this.row);
    numbers.position = start + length;
    return copyBytes(value, start, start + length);
  }

  end(): void {
    if (this.numbers.position !== this.value.length) throw broken(this.index, this.row);
  }
}

function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(varintLength(value));
  writeVarint(bytes, 0, value);
  return bytes;
}

function broken(index: IndexSchema, row: Uint8Array): RowanError {
  return new RowanError(
    'ERR_CORRUPTION',
    `An entry of the index "${index.name}" cannot be read. Build it anew: rowan index build, or db.index(…).build().`,
    { details: { index: index.name, keyHex: toHex(row) } },
  );
}
