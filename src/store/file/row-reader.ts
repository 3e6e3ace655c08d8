import { crc32 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { BlockCache, CachedFile } from '../cache.js';
import type { SeekKey } from '../cursor.js';
import { badBlockOf, DataBlock, PlainRowFinder } from '../encoding/index.js';
import { RowBuffer } from '../row-cache.js';
import { checksumSeed, corruption } from './block-frame.js';
import type { PartPosition } from './data-block-source.js';
import type { FileMeta } from './footer.js';

/** The most bytes of parts that are read together for one row. A row that needs more is read from blocks or parts, like any other. */
const MAX_READ_BYTES = 16_384;
/** Parts that do not fit are read like those of any other row: a buffer keeps the size of the largest row that it had. */
const MAX_BUFFER_BYTES = 65_536;

const finder = new PlainRowFinder();

/**
 * Reads single rows of a file of the encoding NONE from the parts of its blocks, for gets where the blocks do not fit into the cache.
 * The parts are read into one buffer and verified, and not cached; the rows are, in {@link BlockCache.rows}. For each cursor there is
 * one: its last row is in its buffer.
 */
export class RowReader {
  private readonly buffer = new RowBuffer();
  /** Bytes of parts in the buffer, verified or not. */
  private filled = 0;
  private block = DataBlock.ofRow(this.buffer.bytes, this.buffer.view);

  /**
   * @param number the file's, in the cache of rows
   * @param keep whether rows are cached
   */
  constructor(
    private readonly file: CachedFile,
    private readonly meta: FileMeta,
    private readonly cache: BlockCache,
    private readonly number: number,
    readonly keep: boolean,
  ) {}

  /** The target's row, if it is cached; null otherwise. */
  cached(target: SeekKey, hash: number): DataBlock | null {
    const { cache, buffer } = this;
    if (cache.rows === null || !cache.rows.find(this.number, hash, target, buffer)) return null;
    cache.hits++;
    return this.holding(0, buffer.cellsLength, buffer.cells);
  }

  /**
   * The target's row, read from the part at `position`; null when the file has no cell of it. Undefined, and the position anywhere in
   * the block, when the row has to be read otherwise: it is large, or may be in several blocks.
   * @throws CorruptionError when the bytes differ from what was written
   */
  read(position: PartPosition, target: SeekKey, hash: number): DataBlock | null | undefined {
    if (!position.toStartOf(target)) return undefined;
    const from = position.payloadAt + position.start;
    this.filled = 0;
    if (!fits(position, position.part)) return undefined;
    let length = this.append(position, from, 0);
    this.find(target, from, length, false);
    if (finder.cells === 0) return null;
    while (finder.end === length && !position.endsRow(this.meta)) {
      if (position.left === 0 || length > MAX_READ_BYTES || !fits(position, position.part + 1))
        return undefined;
      position.part++;
      length = this.append(position, from, length);
      this.find(target, from, length, true);
    }
    const { buffer, cache, number } = this;
    const { start, end, cells } = finder;
    buffer.reserve(end + 4 * cells, end);
    finder.writeTable(buffer.view);
    if (this.keep) cache.rows?.offer(number, hash, buffer.bytes, start, end - start, cells);
    return this.holding(start, end, cells);
  }

  /**
   * Adds the part at the position to the buffer, after `length` bytes, and verifies it; `from`: the offset of the first part in the
   * file. Its last row may continue in the next part, which is then read with it: two reads cost more than a longer one.
   */
  private append(position: PartPosition, from: number, length: number): number {
    const { file, meta, cache, buffer } = this;
    const { part } = position;
    const group = position.group!;
    const offset = from + length;
    const count = group.end(part) - position.start;
    if (length + count > this.filled) {
      const continues = position.left > 0 && !group.startsRow(part + 1) && fits(position, part + 1);
      const all = continues ? group.end(part + 1) - position.start : count;
      if (offset + all > file.size)
        throw corruption(file.path, offset, `parts of ${all} bytes do not fit there`);
      cache.misses++;
      buffer.reserve(length + all, length);
      if (file.read(buffer.bytes, length, all, offset) !== all)
        throw corruption(file.path, offset, 'the file ends too early');
      this.filled = length + all;
    }
    if (crc32(buffer.bytes, length, count, checksumSeed(meta.fileNo, offset)) !== group.crc(part))
      throw corruption(file.path, offset, 'the checksum of a part of a block does not match');
    return length + count;
  }

  private find(target: SeekKey, from: number, length: number, more: boolean): void {
    const { bytes, view } = this.buffer;
    try {
      if (more) finder.extend(bytes, view, length, target);
      else finder.find(bytes, view, length, target);
    } catch (error) {
      if (!(error instanceof CorruptionError)) throw error;
      throw badBlockOf(this.file.path, from, error);
    }
  }

  /** The block of the row that the buffer has. */
  private holding(start: number, end: number, cells: number): DataBlock {
    const { bytes, view } = this.buffer;
    if (this.block.bytes !== bytes) this.block = DataBlock.ofRow(bytes, view);
    const { block } = this;
    block.start = start;
    block.cellsEnd = end;
    block.count = cells;
    return block;
  }
}

/** Whether the parts of the position's block up to this one fit into a buffer. */
function fits({ group, start }: PartPosition, part: number): boolean {
  return group!.end(part) - start <= MAX_BUFFER_BYTES;
}
