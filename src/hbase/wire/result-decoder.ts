/** Decodes `Result`, whose cells are in the cell block, in the message, or both. */

import { EMPTY_BYTES } from '../../bytes/index.js';
import { Cell, CellType } from '../../table/checks.js';
import { ProtocolError } from '../rpc/errors.js';
import { type CellReader, cellTypeOf, timestampOf } from './cell-codec.js';
import type { ProtoReader } from './proto-reader.js';
import { nameFromUtf8, WireType } from './proto-writer.js';

const RESULT_CELL = 1;
const RESULT_CELL_COUNT = 2;
const RESULT_EXISTS = 3;
const RESULT_STALE = 4;
const RESULT_PARTIAL = 5;
const NO_CELLS: Cell[] = [];

/** A decoded `Result`. */
export class WireResult {
  constructor(
    readonly cells: Cell[],
    readonly exists: boolean,
    readonly stale: boolean,
    readonly partial: boolean,
  ) {}
}

/** The meaning of an absent `Result`. */
export const EMPTY_WIRE_RESULT = new WireResult(NO_CELLS, false, false, false);

/** Decodes a `Result` up to the reader's end, with its announced number of cells from `block`. */
export function readResult(reader: ProtoReader, block: CellReader): WireResult {
  let cells = NO_CELLS;
  let exists = false;
  let stale = false;
  let partial = false;
  let count = 0;
  while (!reader.done) {
    const tag = reader.varint();
    const field = tag >>> 3;
    if (field === RESULT_CELL && (tag & 7) === WireType.Bytes) {
      if (cells === NO_CELLS) {
        reader.lookAhead(tag);
        cells = [];
      }
      const outer = reader.enter();
      cells.push(readInlineCell(reader));
      reader.leave(outer);
    } else if (field >= RESULT_CELL_COUNT && field <= RESULT_PARTIAL && (tag & 7) === WireType.Varint) {
      const value = reader.varint();
      if (field === RESULT_CELL_COUNT) count = value;
      else if (field === RESULT_EXISTS) exists = value !== 0;
      else if (field === RESULT_STALE) stale = value !== 0;
      else partial = value !== 0;
    } else {
      reader.skip(tag);
    }
  }
  if (count > 0) {
    const block1 = block.read(count);
    cells = cells.length === 0 ? block1 : [...block1, ...cells];
  }
  return new WireResult(cells, exists, stale, partial);
}

const CELL_ROW = 1;
const CELL_FAMILY = 2;
const CELL_QUALIFIER = 3;
const CELL_TIMESTAMP = 4;
const CELL_TYPE = 5;
const CELL_VALUE = 6;

function readInlineCell(reader: ProtoReader): Cell {
  let row: Uint8Array = EMPTY_BYTES;
  let family = '';
  let qualifier: Uint8Array = EMPTY_BYTES;
  let timestamp = 0;
  let type: CellType = CellType.Put;
  let value: Uint8Array = EMPTY_BYTES;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case CELL_ROW * 8 + WireType.Bytes:
        row = plain(reader.bytes());
        break;
      case CELL_FAMILY * 8 + WireType.Bytes:
        family = nameFromUtf8(reader.bytes());
        break;
      case CELL_QUALIFIER * 8 + WireType.Bytes:
        qualifier = plain(reader.bytes());
        break;
      case CELL_TIMESTAMP * 8: {
        const exact = reader.bigVarint();
        timestamp = timestampOf(Number(exact >> 32n), Number(exact & 0xffffffffn));
        break;
      }
      case CELL_TYPE * 8:
        type = cellTypeOf(reader.varint());
        break;
      case CELL_VALUE * 8 + WireType.Bytes:
        value = plain(reader.bytes());
        break;
      default:
        reader.skip(tag);
    }
  }
  if (row.length === 0) throw new ProtocolError('A cell of the server has no row.');
  return new Cell(row, family, qualifier, timestamp, type, value);
}

/** A plain byte array over the same memory, whatever the frame's buffer is. */
function plain(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) return EMPTY_BYTES;
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
