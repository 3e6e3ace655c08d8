/** The data block encodings by name and code. */

export * from './data-block.js';
export { EncodedRow, plainCellBytes } from './encoded-row.js';
export { PlainRowFinder } from './plain-decoder.js';
export { isRowAt } from './row-lookup.js';

import { DATA_BLOCK_ENCODINGS, type DataBlockEncoding } from '../../table/index.js';
import type { BlockDecoder, BlockEncoder, DataBlock } from './data-block.js';
import { DiffDecoder, FastDiffDecoder, PrefixDecoder, parseDelta } from './delta-decoder.js';
import { DiffEncoder, FastDiffEncoder, PrefixEncoder } from './delta-encoder.js';
import { PlainDecoder, parsePlain, parsePlainPart, plainPartMemory } from './plain-decoder.js';
import { PlainEncoder } from './plain-encoder.js';
import {
  parseRowIndex,
  parseRowIndexPart,
  RowIndexDecoder,
  rowIndexPartMemory,
} from './row-index-decoder.js';

/** The codes in block headers: FROZEN. */
export const ENCODING_IDS: Readonly<Record<DataBlockEncoding, number>> = {
  NONE: 0,
  PREFIX: 1,
  DIFF: 2,
  FAST_DIFF: 3,
  ROW_INDEX_V1: 4,
};

export function createEncoder(encoding: DataBlockEncoding): BlockEncoder {
  switch (encoding) {
    case 'NONE':
      return new PlainEncoder(false);
    case 'ROW_INDEX_V1':
      return new PlainEncoder(true);
    case 'PREFIX':
      return new PrefixEncoder();
    case 'DIFF':
      return new DiffEncoder();
    case 'FAST_DIFF':
      return new FastDiffEncoder();
  }
}

export function createDecoder(encoding: DataBlockEncoding): BlockDecoder {
  switch (encoding) {
    case 'NONE':
      return new PlainDecoder();
    case 'ROW_INDEX_V1':
      return new RowIndexDecoder();
    case 'PREFIX':
      return new PrefixDecoder();
    case 'DIFF':
      return new DiffDecoder();
    case 'FAST_DIFF':
      return new FastDiffDecoder();
  }
}

/**
 * Parses the payload from `start` to `end` of `bytes`, and verifies its structure.
 * @throws CorruptionError when it is not of this encoding.
 */
export function parseBlock(
  encoding: DataBlockEncoding,
  bytes: Uint8Array,
  start: number,
  end: number,
): DataBlock {
  switch (encoding) {
    case 'NONE':
      return parsePlain(bytes, start, end);
    case 'ROW_INDEX_V1':
      return parseRowIndex(bytes, start, end);
    default:
      return parseDelta(bytes, start, end);
  }
}

/** The buffer size for a part of a block: its cells, and the tables that {@link parsePart} writes after them. */
export function partMemoryBytes(encoding: DataBlockEncoding, length: number, cells: number): number {
  return encoding === 'NONE' ? plainPartMemory(length, cells) : rowIndexPartMemory(length, cells);
}

/**
 * Parses a part of a block, `cells` cells in the first `length` bytes of `bytes`, and verifies its structure.
 * @throws CorruptionError when it is not of this encoding.
 */
export function parsePart(
  encoding: DataBlockEncoding,
  bytes: Uint8Array,
  length: number,
  cells: number,
): DataBlock {
  return encoding === 'NONE' ? parsePlainPart(bytes, length, cells) : parseRowIndexPart(bytes, length, cells);
}

/** The encoding of a code in a block header; undefined when there is none. */
export function encodingOfId(id: number): DataBlockEncoding | undefined {
  return DATA_BLOCK_ENCODINGS.find((name) => ENCODING_IDS[name] === id);
}
