/**
 * Entries of the table rowan_changes: the effect of a commit on one row. docs/formats.md has the bytes.
 *
 *     entry   version uint8 | row length varint | row | before | after
 *     image   cells varint | cell ...
 *     cell    family length varint | family | qualifier length varint | qualifier | timestamp varint | value length varint | value
 *             in after, for a cell that is as before: 00 | its place in before varint
 */

import {
  copyBytes,
  copySlice,
  EMPTY_BYTES,
  equalBytes,
  toBytes,
  VarintReader,
  varintLength,
  writeVarint,
} from '../../bytes/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import { Cell, CellType, Result } from '../../table/index.js';

const VERSION = 1;
const NEVER = -1;

/** The row before and after a commit. */
export interface RowEntry {
  readonly row: Uint8Array;
  readonly before: Result;
  readonly after: Result;
}

export function encodeEntry({ row, before, after }: RowEntry): Uint8Array {
  const places = placesOf(after.cells, before.cells);
  const writer = new EntryWriter(sizeOf(row, before, after, places));
  writer.byte(VERSION);
  writer.bytes(row);
  writer.number(before.cells.length);
  for (const cell of before.cells) writer.cell(cell);
  writer.number(after.cells.length);
  after.cells.forEach((cell, i) => {
    if (places[i] === NEVER) {
      writer.cell(cell);
    } else {
      writer.number(0);
      writer.number(places[i]!);
    }
  });
  return writer.buffer;
}

/** @throws CorruptionError on malformed bytes; RowanError `ERR_FORMAT_VERSION` on a newer version. */
export function decodeEntry(bytes: Uint8Array): RowEntry {
  const reader = new EntryReader(bytes);
  const version = reader.number();
  if (version !== VERSION) throw newer(version);
  const row = reader.bytes();
  const before = reader.image(row, []);
  const after = reader.image(row, before.cells);
  return { row, before, after };
}

/** For each cell, the index of an equal cell in `before`. Both lists are in the same order. */
function placesOf(after: readonly Cell[], before: readonly Cell[]): number[] {
  let next = 0;
  return after.map((cell) => {
    for (let passed = 0; passed < before.length; passed++) {
      const place = (next + passed) % before.length;
      const other = before[place]!;
      if (cell.family !== other.family || !equalBytes(cell.qualifier, other.qualifier)) continue;
      next = place + 1;
      return cell.timestamp === other.timestamp && equalBytes(cell.value, other.value) ? place : NEVER;
    }
    return NEVER;
  });
}

function newer(version: number): RowanError {
  return new RowanError(
    'ERR_FORMAT_VERSION',
    `An entry of a change has version ${version}; this program reads version ${VERSION}. Open the store with a newer rowan-orm.`,
  );
}

function sizeOf(row: Uint8Array, before: Result, after: Result, places: readonly number[]): number {
  let size = 1 + sized(row.length) + varintLength(before.cells.length) + varintLength(after.cells.length);
  for (const cell of before.cells) size += cellSize(cell);
  after.cells.forEach((cell, i) => {
    size += places[i] === NEVER ? cellSize(cell) : 1 + varintLength(places[i]!);
  });
  return size;
}

function cellSize({ family, qualifier, timestamp, value }: Cell): number {
  return (
    sized(familyBytes(family).length) +
    sized(qualifier.length) +
    varintLength(timestamp) +
    sized(value.length)
  );
}

/** The name of a family that was needed last. Cells of one family follow one another, mostly in many entries. */
let lastFamily = '';
let lastFamilyBytes: Uint8Array = EMPTY_BYTES;

function familyBytes(family: string): Uint8Array {
  if (family !== lastFamily) {
    lastFamilyBytes = toBytes(family);
    lastFamily = family;
  }
  return lastFamilyBytes;
}

function familyName(bytes: Uint8Array): string {
  if (!equalBytes(bytes, lastFamilyBytes)) {
    lastFamily = utf8(bytes);
    // Of a Buffer, `slice` would be a view.
    lastFamilyBytes = copyBytes(bytes);
  }
  return lastFamily;
}

function utf8({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString();
}

function sized(length: number): number {
  return varintLength(length) + length;
}

class EntryWriter {
  readonly buffer: Buffer;
  private at = 0;

  constructor(size: number) {
    this.buffer = Buffer.allocUnsafe(size);
  }

  byte(value: number): void {
    this.buffer[this.at++] = value;
  }

  number(value: number): void {
    this.at = writeVarint(this.buffer, this.at, value);
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    copySlice(value, 0, value.length, this.buffer, this.at);
    this.at += value.length;
  }

  cell({ family, qualifier, timestamp, value }: Cell): void {
    this.bytes(familyBytes(family));
    this.bytes(qualifier);
    this.number(timestamp);
    this.bytes(value);
  }
}

class EntryReader {
  private readonly numbers = new VarintReader();

  constructor(private readonly source: Uint8Array) {
    this.numbers.reset(source, 0, source.length);
  }

  number(): number {
    return this.numbers.read();
  }

  bytes(length = this.number()): Uint8Array {
    const { numbers, source } = this;
    const end = numbers.position + length;
    if (end > source.length) throw new CorruptionError('An entry of a change ends too early.');
    const found = source.subarray(numbers.position, end);
    numbers.position = end;
    return found;
  }

  image(row: Uint8Array, earlier: readonly Cell[]): Result {
    const count = this.number();
    const cells: Cell[] = [];
    for (let i = 0; i < count; i++) cells.push(this.cell(row, earlier));
    return cells.length === 0 ? Result.EMPTY : new Result(row, cells);
  }

  private cell(row: Uint8Array, earlier: readonly Cell[]): Cell {
    const length = this.number();
    if (length === 0) {
      const same = earlier[this.number()];
      if (same === undefined)
        throw new CorruptionError('An entry of a change refers to a cell that it does not have.');
      return same;
    }
    const family = familyName(this.bytes(length));
    const qualifier = this.bytes();
    const timestamp = this.number();
    return new Cell(row, family, qualifier, timestamp, CellType.Put, this.bytes());
  }
}
