import type { CellCursor } from '../cursor.js';
import { ENTRY_BYTES, keyHeaderBytes } from './block-index.js';
import { KeyKind } from './file-format.js';

const TWO_32 = 0x100000000;

/** The key of a block in an index: the shortest that tells its first cell from the cell before. */
export class IndexKey {
  kind: KeyKind = KeyKind.Row;
  row: Uint8Array = new Uint8Array(0);
  qualifier: Uint8Array = new Uint8Array(0);
  timestamp = 0;
  type = 0;

  /** The parameters are those of `BlockEncoder.append`. */
  static between(
    first: CellCursor,
    sharedRow: number,
    sameRow: boolean,
    sharedQualifier: number,
    sameColumn: boolean,
  ): IndexKey {
    const key = new IndexKey();
    const rowLength = sameRow ? first.rowLength : Math.min(sharedRow + 1, first.rowLength);
    key.row = first.key.slice(first.rowOffset, first.rowOffset + rowLength);
    if (!sameRow) return key;
    const length = sameColumn ? first.qualifierLength : sharedQualifier + 1;
    key.qualifier = first.key.slice(first.qualifierOffset, first.qualifierOffset + length);
    key.kind = sameColumn ? KeyKind.Cell : KeyKind.Column;
    key.timestamp = first.timestamp;
    key.type = first.type;
    return key;
  }

  /** The key of a file's first block: its whole row. */
  static ofFirst(first: CellCursor): IndexKey {
    const key = new IndexKey();
    key.row = first.key.slice(first.rowOffset, first.rowOffset + first.rowLength);
    return key;
  }
}

/** Builds index blocks: leaves and the root. */
export class IndexBuilder {
  private readonly keys: IndexKey[] = [];
  private readonly offsets: number[] = [];
  private readonly lengths: number[] = [];
  private readonly firstBlocks: number[] = [];

  get count(): number {
    return this.keys.length;
  }

  get firstKey(): IndexKey {
    return this.keys[0]!;
  }

  get firstBlock(): number {
    return this.firstBlocks[0]!;
  }

  add(key: IndexKey, offset: number, length: number, firstBlock: number): void {
    this.keys.push(key);
    this.offsets.push(offset);
    this.lengths.push(length);
    this.firstBlocks.push(firstBlock);
  }

  /** The payload of the index block, and begins the next one. */
  finish(): Uint8Array {
    const entriesEnd = 4 + this.keys.length * ENTRY_BYTES;
    let length = entriesEnd;
    for (const key of this.keys) length += keyHeaderBytes(key.kind) + key.row.length + key.qualifier.length;
    const bytes = new Uint8Array(length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, this.keys.length, true);
    let keyAt = entriesEnd;
    for (let i = 0; i < this.keys.length; i++) {
      const at = 4 + i * ENTRY_BYTES;
      putU64(view, at, this.offsets[i]!);
      view.setUint32(at + 8, this.lengths[i]!, true);
      view.setUint32(at + 12, this.firstBlocks[i]!, true);
      view.setUint32(at + 16, keyAt - entriesEnd, true);
      keyAt = putKey(bytes, view, keyAt, this.keys[i]!);
    }
    this.keys.length = 0;
    this.offsets.length = 0;
    this.lengths.length = 0;
    this.firstBlocks.length = 0;
    return bytes;
  }
}

function putKey(bytes: Uint8Array, view: DataView, at: number, key: IndexKey): number {
  view.setUint8(at, key.kind);
  view.setUint16(at + 1, key.row.length, true);
  if (key.kind !== KeyKind.Row) view.setUint32(at + 3, key.qualifier.length, true);
  if (key.kind === KeyKind.Cell) {
    putU64(view, at + 7, key.timestamp);
    view.setUint8(at + 15, key.type);
  }
  const rowAt = at + keyHeaderBytes(key.kind);
  bytes.set(key.row, rowAt);
  bytes.set(key.qualifier, rowAt + key.row.length);
  return rowAt + key.row.length + key.qualifier.length;
}

/** Writes an integer of 0..2^53-1 in eight bytes. */
export function putU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % TWO_32, true);
  view.setUint32(at + 4, value / TWO_32, true);
}
