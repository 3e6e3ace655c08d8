import type { BloomFilter } from '../../table/index.js';
import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { BloomBuilder, CHUNK_KEYS } from './bloom-filter.js';
import { BloomKey } from './bloom-key.js';
import { BlockType } from './file-format.js';
import type { BlockPlace, FileOutput } from './file-output.js';
import { IndexBuilder, IndexKey } from './index-builder.js';

/** The bloom filter of a file that is being written: chunks between the data blocks, and their index. */
export class BloomWriter {
  private readonly builder = new BloomBuilder();
  private readonly index = new IndexBuilder();
  private readonly key = new BloomKey();
  private chunkKey: IndexKey | undefined;
  /** Whether the present row is in the filter as a row. */
  private rowAdded = false;
  /** Keys in all chunks. */
  keys = 0;

  constructor(
    private readonly output: FileOutput,
    private readonly kind: BloomFilter,
  ) {}

  /** Adds what the cell at `cursor` is to be found by. */
  add(cursor: CellCursor, sameRow: boolean, sameColumn: boolean): void {
    const { key } = this;
    if (!sameRow) {
      // A row is never in two chunks: its look-up goes to one.
      if (this.builder.keys >= CHUNK_KEYS) this.closeChunk();
      this.chunkKey ??= IndexKey.ofFirst(cursor);
      key.setRow(cursor.key, cursor.rowOffset, cursor.rowLength);
      this.rowAdded = false;
    }
    if (this.kind === 'ROW') {
      if (!sameRow) this.put(key.row1, key.row2);
      return;
    }
    const { type } = cursor;
    if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) {
      // A marker of the row must be found by a look-up of any column (R57).
      if (!this.rowAdded) this.put(key.row1, key.row2);
      this.rowAdded = true;
    }
    if (sameColumn) return;
    key.setColumn(cursor.key, cursor.qualifierOffset, cursor.qualifierLength);
    this.put(key.column1, key.column2);
  }

  /** Writes the last chunk and the index; returns where the index is. */
  finish(): BlockPlace {
    this.closeChunk();
    const bytes = this.index.finish();
    return this.output.block(BlockType.BloomIndex, bytes, bytes.length);
  }

  private put(hash1: number, hash2: number): void {
    this.builder.add(hash1, hash2);
    this.keys++;
  }

  private closeChunk(): void {
    const bits = this.builder.finish();
    const { offset, length } = this.output.block(BlockType.BloomChunk, bits, bits.length);
    this.index.add(this.chunkKey!, offset, length, this.index.count);
    this.chunkKey = undefined;
  }
}
