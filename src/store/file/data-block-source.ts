import { crc32 } from '../../bytes/index.js';
import { type BlockCodec, CODEC_IDS, MAX_RAW_BLOCK_BYTES, preparedCodec } from '../../compression/index.js';
import { CorruptionError } from '../../errors.js';
import { type BlockCache, type CachedFile, type CacheEntry, CachePriority, CacheSlots } from '../cache.js';
import { SeekKey } from '../cursor.js';
import {
  badBlockOf,
  type DataBlock,
  ENCODING_IDS,
  parseBlock,
  parsePart,
  partMemoryBytes,
} from '../encoding/index.js';
import {
  BLOCK_HEADER_BYTES,
  BlockType,
  checksumSeed,
  corruption,
  type FramedBlock,
  newBytes,
  readBlock,
  readPlainBlock,
} from './block-frame.js';
import type { BlockIndex } from './block-index.js';
import type { BlockHandle, FileMeta } from './footer.js';
import { GROUP_BLOCKS, PartGroup, PartGroupOffsets } from './part-index.js';

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

/** Buffers of parts are allocated in multiples of this, so that they can be reused for other parts. */
const MEMORY_UNIT = 128;

const rowStart = new SeekKey();

/** A position at a part of a data block. */
export class PartPosition {
  group: PartGroup | null = null;
  /** The number of the group, and of the part in it. */
  groupNumber = 0;
  part = 0;
  /** The offset of the block's payload in the file. */
  payloadAt = 0;
  /** The number of the block in its group. */
  private inGroup = 0;
  /** The numbers of the block's first part, and of the one after its last. */
  private first = 0;
  private end = 0;

  /** Moves to the part of block `block`, which begins at `blockOffset`, that contains `target`; without a target to the first. */
  locate(source: PartSource, block: number, blockOffset: number, target: SeekKey | null): void {
    const groupNumber = Math.floor(block / GROUP_BLOCKS);
    const inGroup = block - groupNumber * GROUP_BLOCKS;
    const group = source.group(groupNumber);
    this.group = group;
    this.inGroup = inGroup;
    this.groupNumber = groupNumber;
    this.payloadAt = blockOffset + BLOCK_HEADER_BYTES;
    this.first = group.firstOf(inGroup);
    this.end = group.endOf(inGroup);
    this.part = target === null ? this.first : group.find(inGroup, target);
  }

  /** Moves back to the part in which the target's row begins; false when it may begin in a block before. */
  toStartOf(target: SeekKey): boolean {
    const group = this.group!;
    if (group.startsRow(this.part)) return true;
    rowStart.setRow(target.row, target.rowOffset, target.rowLength);
    this.part = group.find(this.inGroup, rowStart);
    return this.part > this.first || group.isAtOrBefore(this.first, rowStart);
  }

  /** Whether no row of the part continues in the next one; false also when it is unknown. */
  endsRow(meta: FileMeta): boolean {
    const next = this.part + 1;
    if (next < this.group!.count) return this.group!.startsRow(next);
    return (this.groupNumber + 1) * GROUP_BLOCKS >= meta.dataBlocks;
  }

  /** The start of the part in the payload. */
  get start(): number {
    return this.part === this.first ? 0 : this.group!.end(this.part - 1);
  }

  /** The bytes of the part. */
  get length(): number {
    return this.group!.end(this.part) - this.start;
  }

  /** The number of parts of the block after this one. */
  get left(): number {
    return this.end - 1 - this.part;
  }

  /** How many parts, this one and those after it, hold `cells` cells behind it: at most those that the block has, and `most`. */
  countOf(cells: number, most: number): number {
    const group = this.group!;
    const last = Math.min(this.part + most, this.end) - 1;
    let found = 0;
    let part = this.part;
    while (found < cells && part < last) found += group.cells(++part);
    return part - this.part + 1;
  }

  clear(): void {
    this.group = null;
  }
}

/** The parts of one file's data blocks: from the cache, or read and verified. */
export class PartSource {
  private readonly groups: CacheSlots<PartGroup>;
  /** For each group that was read. */
  private readonly slots: (CacheSlots<DataBlock> | undefined)[];
  private places: PartGroupOffsets | undefined;

  constructor(
    private readonly file: CachedFile,
    private readonly meta: FileMeta,
    readonly indexPlace: BlockHandle,
    private readonly cache: BlockCache,
    private readonly policy: { readonly keep: boolean; readonly priority: CachePriority },
  ) {
    const groups = PartGroupOffsets.groupsOf(meta.dataBlocks);
    this.groups = new CacheSlots(groups);
    this.slots = new Array<CacheSlots<DataBlock> | undefined>(groups).fill(undefined);
  }

  /** The positions of all groups. */
  get groupPlaces(): PartGroupOffsets {
    this.places ??= this.readPlaces();
    return this.places;
  }

  group(number: number): PartGroup {
    const cached = this.groups.entries[number]!;
    if (cached !== null) {
      cached.touched = 1;
      return cached;
    }
    const { groupPlaces, file, meta } = this;
    const offset = groupPlaces.offsets[number]!;
    const length = groupPlaces.lengths[number]!;
    const payload = readPlainBlock(file, meta.fileNo, offset, length, BlockType.PartGroup);
    const group = this.decode(offset, () => new PartGroup(payload));
    const blocks = Math.min(GROUP_BLOCKS, meta.dataBlocks - number * GROUP_BLOCKS);
    const slots = this.slots[number];
    if (group.blocks !== blocks || (slots !== undefined && slots.entries.length !== group.count))
      throw corruption(file.path, offset, `a group has the parts of ${group.blocks} blocks`);
    this.slots[number] = slots ?? new CacheSlots(group.count);
    this.cache.insert(this.groups, number, group, CachePriority.Index);
    return group;
  }

  /** The part, as a block, if it is in the cache; null otherwise. */
  cached({ groupNumber, part }: PartPosition): DataBlock | null {
    const block = this.slots[groupNumber]!.entries[part]!;
    if (block === null) return null;
    block.touched = 1;
    this.cache.hits++;
    return block;
  }

  /** Whether the part is in the cache. */
  holds({ groupNumber, part }: PartPosition): boolean {
    return this.slots[groupNumber]!.entries[part]! !== null;
  }

  /** The part, as a block. */
  part(position: PartPosition, keep: boolean): DataBlock {
    const cached = this.cached(position);
    if (cached !== null) return cached;
    const block = this.load(position, 1);
    if (keep && this.policy.keep)
      this.cache.insert(this.slots[position.groupNumber]!, position.part, block, this.policy.priority);
    return block;
  }

  /** The part and those after it, `count` in all, as one block, which belongs to the caller and is not cached. */
  run(position: PartPosition, count: number): DataBlock {
    return this.load(position, count);
  }

  /** Removes its entries from the cache. */
  close(): void {
    this.cache.invalidate(this.groups as unknown as CacheSlots<CacheEntry>);
    for (const slots of this.slots)
      if (slots !== undefined) this.cache.invalidate(slots as unknown as CacheSlots<CacheEntry>);
  }

  private load(position: PartPosition, count: number): DataBlock {
    const { file, meta, cache } = this;
    const { part, payloadAt, start } = position;
    const group = position.group!;
    const length = group.end(part + count - 1) - start;
    const offset = payloadAt + start;
    let cells = 0;
    for (let i = part; i < part + count; i++) cells += group.cells(i);
    if (offset + length > file.size || cells > length)
      throw corruption(file.path, offset, `a part of ${length} bytes does not fit there`);
    cache.misses++;
    const needed = partMemoryBytes(meta.encoding, length, cells);
    const memory = cache.takeMemory(needed) ?? newBytes(Math.ceil(needed / MEMORY_UNIT) * MEMORY_UNIT);
    if (file.read(memory, 0, length, offset) !== length)
      throw corruption(file.path, offset, 'the file ends too early');
    let from = 0;
    for (let i = part; i < part + count; i++) {
      const end = group.end(i) - start;
      if (crc32(memory, from, end - from, checksumSeed(meta.fileNo, offset + from)) !== group.crc(i))
        throw corruption(file.path, offset + from, 'the checksum of a part of a block does not match');
      from = end;
    }
    try {
      const block = parsePart(meta.encoding, memory, length, cells);
      block.memory = memory;
      block.path = file.path;
      block.offset = offset;
      return block;
    } catch (error) {
      if (!(error instanceof CorruptionError)) throw error;
      throw badBlockOf(file.path, offset, error);
    }
  }

  private readPlaces(): PartGroupOffsets {
    const { file, meta } = this;
    const { offset, length } = this.indexPlace;
    const payload = readPlainBlock(file, meta.fileNo, offset, length, BlockType.PartIndex);
    return this.decode(offset, () => new PartGroupOffsets(payload, this.groups.entries.length));
  }

  private decode<T>(offset: number, make: () => T): T {
    try {
      return make();
    } catch (error) {
      throw corruption(this.file.path, offset, (error as Error).message, error);
    }
  }
}
