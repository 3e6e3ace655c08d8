import { type BlockCodec, CODEC_IDS, MAX_RAW_BLOCK_BYTES, preparedCodec } from '../../compression/index.js';
import { CorruptionError } from '../../errors.js';
import type { BlockCache, CachePriority, CacheSlots } from '../cache/block-cache.js';
import type { CachedFile } from '../cache/file-handle-cache.js';
import { badBlockOf, type DataBlock, ENCODING_IDS, parseBlock } from '../encoding/index.js';
import {
  BLOCK_HEADER_BYTES,
  BlockType,
  corruption,
  type FramedBlock,
  newBytes,
  readBlock,
} from './block-frame.js';
import type { BlockIndex } from './block-index.js';
import type { FileMeta } from './file-meta.js';

/** A buffer into which a cursor reads one block after another. */
export class ReadBuffer {
  bytes: Uint8Array | undefined;
}

/** Shared by all: compressed blocks are read into it, and are decompressed before the read returns. */
const compressed = new ReadBuffer();
const MAX_REUSED_BYTES = 1 << 20;

/** The data blocks of one file: from the cache, or read, verified and decompressed. */
export class DataBlockSource {
  private readonly encodingId: number;
  /** Found with the first block: files are also opened just to learn which codec they need. */
  private codec: BlockCodec | undefined;

  constructor(
    private readonly file: CachedFile,
    private readonly meta: FileMeta,
    private readonly cache: BlockCache,
    private readonly slots: CacheSlots<DataBlock>,
    private readonly policy: { readonly keep: boolean; readonly priority: CachePriority },
  ) {
    this.encodingId = ENCODING_IDS[meta.encoding];
  }

  /**
   * The block of entry `i` of an index of data blocks.
   * @param keep whether the reader wants it in the cache; the family may not
   * @param reuse the buffer for a block that is not cached
   */
  block(index: BlockIndex, i: number, keep: boolean, reuse: ReadBuffer | undefined): DataBlock {
    return this.cached(index, i) ?? this.read(index, i, keep, reuse);
  }

  /** Like `block`, for a block that is not in the cache. */
  read(index: BlockIndex, i: number, keep: boolean, reuse: ReadBuffer | undefined): DataBlock {
    const number = index.firstBlocks[i]!;
    this.cache.misses++;
    const kept = keep && this.policy.keep;
    const block = this.load(index.offsets[i]!, index.lengths[i]!, kept, reuse);
    block.path = this.file.path;
    block.offset = index.offsets[i]!;
    if (kept) this.cache.insert(this.slots, number, block, this.policy.priority);
    return block;
  }

  /** Whether a read of one row should read the whole block: as long as the cache has room it serves later reads. */
  readsWhole(index: BlockIndex, i: number, keep: boolean): boolean {
    return keep && this.policy.keep && this.cache.hasRoom(index.lengths[i]!);
  }

  /** Releases a block that only one reader used. */
  release(block: DataBlock): void {
    this.cache.release(block);
  }

  /** The block of entry `i`, if it is in the cache; null otherwise. */
  cached(index: BlockIndex, i: number): DataBlock | null {
    const block = this.slots.entries[index.firstBlocks[i]!]!;
    if (block === null) return null;
    block.touched = 1;
    this.cache.hits++;
    return block;
  }

  private load(offset: number, length: number, kept: boolean, reuse: ReadBuffer | undefined): DataBlock {
    const { file, meta } = this;
    this.codec ??= preparedCodec(meta.compression);
    const { codec } = this;
    const buffer = codec !== undefined ? compressed : kept ? undefined : reuse;
    const memory = kept && codec === undefined ? this.memoryOf(length) : undefined;
    const framed = readBlock(file, meta.fileNo, offset, length, buffer?.bytes ?? memory);
    if (buffer !== undefined && (framed.bytes.length <= MAX_REUSED_BYTES || buffer === reuse))
      buffer.bytes = framed.bytes;
    const { rawLength } = framed;
    if (
      framed.type !== BlockType.Data ||
      framed.encoding !== this.encodingId ||
      rawLength > MAX_RAW_BLOCK_BYTES
    )
      throw corruption(file.path, offset, 'a block is not a data block of this file');
    try {
      if (framed.codec === CODEC_IDS.NONE) {
        const block = this.stored(framed, codec !== undefined);
        if (framed.bytes === memory) block.memory = memory;
        return block;
      }
      if (codec === undefined || framed.codec !== CODEC_IDS[codec.name])
        throw new CorruptionError(`its codec is ${framed.codec}`);
      const raw = codec.decompress(framed.bytes, BLOCK_HEADER_BYTES, framed.length, rawLength);
      return parseBlock(meta.encoding, raw, 0, rawLength);
    } catch (error) {
      if (!(error instanceof CorruptionError)) throw error;
      throw badBlockOf(file.path, offset, error);
    }
  }

  /** A buffer for a cached block: of an evicted block, or a new one, slightly larger so that it also fits later blocks. */
  private memoryOf(length: number): Uint8Array | undefined {
    if (length > this.file.size) return undefined;
    return this.cache.takeMemory(length) ?? newBytes(length + (length >>> 6));
  }

  /** A block that is not compressed. `shared`: its buffer will be used for another block. */
  private stored(framed: FramedBlock, shared: boolean): DataBlock {
    const { rawLength, length } = framed;
    if (rawLength !== length) throw new CorruptionError(`it has ${length} bytes instead of ${rawLength}`);
    if (!shared)
      return parseBlock(this.meta.encoding, framed.bytes, BLOCK_HEADER_BYTES, BLOCK_HEADER_BYTES + length);
    const copy = framed.bytes.slice(BLOCK_HEADER_BYTES, BLOCK_HEADER_BYTES + length);
    return parseBlock(this.meta.encoding, copy, 0, length);
  }
}
