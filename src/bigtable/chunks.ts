import { EMPTY_BYTES } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import { Cell, CellType } from '../table/checks.js';
import { type CellChunk, toMilliseconds } from './wire.js';

/**
 * Assembles the rows of a response from its chunks: large values are split, and a row is complete when it is committed.
 */
export class ChunkReader {
  private row: Uint8Array = EMPTY_BYTES;
  private family = '';
  private qualifier: Uint8Array = EMPTY_BYTES;
  private timestamp = 0;
  private pieces: Uint8Array[] = [];
  private cells: Cell[] = [];

  /**
   * Adds the rows that the chunks complete. @throws RowanError `ERR_REMOTE` when the response violates the protocol.
   */
  read(chunks: readonly CellChunk[], rows: Cell[][]): void {
    for (const chunk of chunks) {
      if (chunk.resetRow) {
        this.forget();
        continue;
      }
      if (this.pieces.length === 0) this.begin(chunk);
      const value = chunk.value ?? EMPTY_BYTES;
      if ((chunk.valueSize ?? 0) > 0) {
        this.pieces.push(value);
        continue;
      }
      const whole = this.pieces.length === 0 ? value : Buffer.concat([...this.pieces, value]);
      this.pieces = [];
      this.cells.push(new Cell(this.row, this.family, this.qualifier, this.timestamp, CellType.Put, whole));
      if (chunk.commitRow) {
        rows.push(inOrder(this.cells));
        this.forget();
      }
    }
  }

  private begin(chunk: CellChunk): void {
    const { rowKey, familyName, qualifier } = chunk;
    if (rowKey != null && rowKey.length > 0) this.row = rowKey;
    else if (this.row.length === 0) {
      throw new RowanError(
        'ERR_REMOTE',
        'A response of Bigtable has a cell before its row. Report this as a bug.',
      );
    }
    if (familyName != null) this.family = familyName.value ?? '';
    if (qualifier != null) this.qualifier = qualifier.value ?? EMPTY_BYTES;
    this.timestamp = toMilliseconds(chunk.timestampMicros);
  }

  private forget(): void {
    this.row = EMPTY_BYTES;
    this.pieces = [];
    this.cells = [];
  }
}

/**
 * Sorts the families, which may come in any order; columns and versions within them are sorted. Removes duplicate
 * cells.
 */
function inOrder(cells: Cell[]): Cell[] {
  for (let i = 1; i < cells.length; i++) {
    if (compareCells(cells[i - 1]!, cells[i]!) < 0) continue;
    cells.sort(compareCells);
    return cells.filter((cell, at) => at === 0 || compareCells(cells[at - 1]!, cell) !== 0);
  }
  return cells;
}

/** Orders by family, qualifier, then newest first. */
export function compareCells(a: Cell, b: Cell): number {
  // Family names are ASCII, so string order is byte order.
  if (a.family !== b.family) return a.family < b.family ? -1 : 1;
  return Buffer.compare(a.qualifier, b.qualifier) || b.timestamp - a.timestamp;
}
