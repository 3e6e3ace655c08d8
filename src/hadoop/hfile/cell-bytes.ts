/** Cells as `KeyValue`s of an HFile, with tags. */

import { type Cell, EndingCell } from '../../table/index.js';
import { cellOf, TTL_TAG_BYTES, writeTtlTag } from '../cell-tags.js';
import type { ByteBuilder, ByteParser } from '../writable.js';

/** What a key has beside row, family and qualifier: two lengths, timestamp, type. */
const KEY_OVERHEAD = 12;

export function keyLength(cell: Cell, family: Uint8Array): number {
  return KEY_OVERHEAD + cell.row.length + family.length + cell.qualifier.length;
}

export function writeKey(target: ByteBuilder, cell: Cell, family: Uint8Array): void {
  target.short(cell.row.length).bytes(cell.row);
  target.byte(family.length).bytes(family).bytes(cell.qualifier);
  target.long(cell.timestamp).byte(cell.type);
}

/** How many bytes of tags a cell has. */
export function tagBytes(cell: Cell): number {
  return cell instanceof EndingCell ? TTL_TAG_BYTES : 0;
}

/** The cell, its tags and the number of the write that made it: 0, for the server gives files that it takes in theirs. */
export function writeCell(target: ByteBuilder, cell: Cell, family: Uint8Array): void {
  target.int(keyLength(cell, family)).int(cell.value.length);
  writeKey(target, cell, family);
  target.bytes(cell.value);
  target.short(tagBytes(cell));
  if (cell instanceof EndingCell) writeTtlTag(target, cell.ttl);
  target.vint(0);
}

/** What cells of a file have behind their values. */
export interface CellShape {
  readonly tags: boolean;
  readonly sequence: boolean;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/** Reads cells one after the other; those that share a row or family with the one before it share its objects. */
export class CellReader {
  private row = NO_BYTES;
  private familyBytes = NO_BYTES;
  private family = '';

  constructor(
    private readonly parser: ByteParser,
    private readonly shape: CellShape,
  ) {}

  /** The cell at the parser's place. @throws CorruptionError */
  read(): Cell {
    const { parser, shape } = this;
    const keyBytes = parser.int();
    const valueBytes = parser.int();
    const keyEnd = parser.at + keyBytes;
    this.row = parser.takeLike(this.row, parser.short());
    this.takeFamily(parser.byte());
    const { row, family } = this;
    const qualifier = parser.take(keyEnd - parser.at - 9);
    const timestamp = parser.long();
    const type = parser.byte();
    const value = parser.take(valueBytes);
    const tags = shape.tags ? parser.take(parser.short()) : undefined;
    if (shape.sequence) parser.vint();
    return cellOf({ row, family, qualifier, timestamp, type, value, tags });
  }

  private takeFamily(length: number): void {
    const bytes = this.parser.takeLike(this.familyBytes, length);
    if (bytes === this.familyBytes) return;
    this.familyBytes = bytes;
    this.family = bytes.toString();
  }
}
