import { equalBytes, toStringBinary } from '../../bytes/index.js';
import { compressionOfId } from '../../compression/index.js';
import { CellType, type Compression, type DataBlockEncoding } from '../../table/index.js';
import { compareCursors, SeekKey } from '../cursor.js';
import { encodingOfId, plainCellBytes } from '../encoding/index.js';
import { BlockType, corruption, FOOTER_BYTES, LEAF_ENTRIES, readBlock } from './block-frame.js';
import type { BlockIndex } from './block-index.js';
import { BloomKey } from './bloom-filter.js';
import type { FileMeta } from './footer.js';
import { LastKey } from './index-key.js';
import type { SortedFileCursor } from './sorted-file-cursor.js';
import type { SortedFileReader } from './sorted-file-reader.js';
import { joinedMeta, MetaCollector } from './sorted-file-writer.js';

type BlockKind =
  | 'data'
  | 'leafIndex'
  | 'rootIndex'
  | 'bloomChunk'
  | 'bloomIndex'
  | 'partGroup'
  | 'partIndex'
  | 'meta'
  | 'footer';

interface BlockPlace {
  readonly offset: number;
  /** Bytes in the file, header included. */
  readonly length: number;
}

interface BlockDescription extends BlockPlace {
  readonly kind: BlockKind;
  /** Bytes of the payload before compression. */
  readonly rawLength: number;
  readonly codec: Compression;
  readonly encoding: DataBlockEncoding;
}

const KINDS: Readonly<Record<number, BlockKind>> = {
  [BlockType.Data]: 'data',
  [BlockType.LeafIndex]: 'leafIndex',
  [BlockType.RootIndex]: 'rootIndex',
  [BlockType.BloomChunk]: 'bloomChunk',
  [BlockType.BloomIndex]: 'bloomIndex',
  [BlockType.PartGroup]: 'partGroup',
  [BlockType.PartIndex]: 'partIndex',
  [BlockType.Meta]: 'meta',
};

/** Some data blocks of a file. */
export interface BlockRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

function allBlocks({ dataBlocks }: FileMeta): BlockRange {
  return { from: 0, to: dataBlocks };
}

/** Divides the data blocks of a file into ranges of about so many bytes; `Infinity`: one range. */
export function blockRanges({ dataBlocks, dataBytes }: FileMeta, bytes: number): BlockRange[] {
  const step = Math.max(1, Math.min(dataBlocks, Math.floor((bytes * dataBlocks) / dataBytes)));
  const count = Math.ceil(dataBlocks / step);
  return Array.from({ length: count }, (_, i) => ({
    from: i * step,
    to: Math.min((i + 1) * step, dataBlocks),
  }));
}

/**
 * Lists every block of a sorted file for tools, in the order of offsets, the footer last. Reads and verifies each of
 * them. The data blocks can be limited to a range; other blocks are listed with the first one.
 * @throws CorruptionError when one differs from what was written.
 */
export function* describeBlocks(
  reader: SortedFileReader,
  blocks: BlockRange = allBlocks(reader.meta),
): Generator<BlockDescription> {
  for (const { offset, length } of blockPlaces(reader, blocks)) {
    const block = readBlock(reader.file, reader.fileNo, offset, length);
    yield {
      kind: KINDS[block.type] ?? 'data',
      offset,
      length,
      rawLength: block.rawLength,
      codec: compressionOfId(block.codec) ?? 'NONE',
      encoding: encodingOfId(block.encoding) ?? 'NONE',
    };
  }
  if (blocks.from > 0) return;
  yield {
    kind: 'footer',
    offset: reader.size - FOOTER_BYTES,
    length: FOOTER_BYTES,
    rawLength: FOOTER_BYTES,
    codec: 'NONE',
    encoding: 'NONE',
  };
}

/** The positions of the data blocks, with the first one those of all other blocks but the footer, by the indexes, in order. */
function blockPlaces(reader: SortedFileReader, { from, to }: BlockRange): BlockPlace[] {
  const places: BlockPlace[] = [];
  for (let first = from - (from % LEAF_ENTRIES); first < to; first += LEAF_ENTRIES) {
    const index = reader.twoLevels ? reader.leaf(first / LEAF_ENTRIES) : reader.root;
    places.push(...entries(index).slice(Math.max(0, from - first), to - first));
  }
  if (from === 0) {
    const { footer, root, bloomIndex } = reader;
    places.push(footer.root, footer.meta);
    if (reader.twoLevels) places.push(...entries(root));
    if (bloomIndex) places.push(...entries(bloomIndex), footer.bloom);
    if (reader.parts !== null) {
      const { offsets, lengths } = reader.parts.groupPlaces;
      for (const [i, offset] of offsets.entries()) places.push({ offset, length: lengths[i]! });
      places.push(footer.parts);
    }
  }
  return places.sort((a, b) => a.offset - b.offset);
}

function entries(index: BlockIndex): BlockPlace[] {
  return Array.from({ length: index.count }, (_, i) => ({
    offset: index.offsets[i]!,
    length: index.lengths[i]!,
  }));
}

// — Verifies a whole sorted file against its own metadata and indexes.

/** The counts of a verification. */
interface VerifiedFile {
  readonly cells: number;
  readonly bytes: number;
}

/** Cells, or bytes, that are verified in one step. */
const CELLS_PER_STEP = 2000;
const BYTES_PER_STEP = 512 * 1024;

/**
 * Verifies that every block has a valid checksum and every byte belongs to a block; that cells are sorted, and the same when blocks
 * are read part by part; that keys separate the blocks and their parts; that the bloom filter contains every key; and that the
 * metadata matches the cells.
 * Works in steps of about a millisecond, between which the caller may do other work. Yields the bytes of a step, before compression;
 * every byte is read twice, as blocks and as cells.
 * @throws CorruptionError naming the file, the offset and the violated rule.
 */
export function* verifySteps(reader: SortedFileReader): Generator<number, VerifiedFile> {
  const found = yield* verifyRange(reader, allBlocks(reader.meta));
  return verifyFound(reader, [found]);
}

/** Like {@link verifySteps}, at once. */
export function verifySortedFile(reader: SortedFileReader): VerifiedFile {
  const steps = verifySteps(reader);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * As {@link verifySteps}, for the data blocks of a range and the rows that begin in them; with the first block all that is in no data block.
 * @returns the metadata by the cells of these rows, for {@link verifyFound}
 */
export function* verifyRange(reader: SortedFileReader, blocks: BlockRange): Generator<number, FileMeta> {
  let bytes = 0;
  for (const { rawLength } of describeBlocks(reader, blocks)) {
    bytes += rawLength;
    if (bytes < BYTES_PER_STEP) continue;
    yield bytes;
    bytes = 0;
  }
  if (blocks.from === 0) verifyCover(reader);
  yield bytes;
  return yield* verifyCells(reader, blocks);
}

/**
 * Verifies that the metadata of the file matches what {@link verifyRange} has found in the ranges that make it up, in their order.
 * @throws CorruptionError naming the field that differs.
 */
export function verifyFound(reader: SortedFileReader, ranges: readonly FileMeta[]): VerifiedFile {
  const { meta, size: bytes } = reader;
  const found = ranges.reduce(joinedMeta);
  for (const field of Object.keys(found) as (keyof FileMeta)[]) {
    const isBulkSeq = reader.seq >= 0 && (field === 'minSeq' || field === 'maxSeq');
    if (!isBulkSeq && !isSame(found[field], meta[field])) {
      throw corruption(
        reader.path,
        reader.footer.meta.offset,
        `it says ${field} ${String(meta[field])}, its cells say ${String(found[field])}`,
      );
    }
  }
  return { cells: meta.cells, bytes };
}

/** Verifies that blocks follow one another without gap or overlap, up to the footer. */
function verifyCover(reader: SortedFileReader): void {
  let end = 0;
  for (const { offset, length } of blockPlaces(reader, allBlocks(reader.meta))) {
    if (offset !== end)
      throw corruption(reader.path, end, `its blocks leave a gap or overlap before ${offset}`);
    end = offset + length;
  }
  if (end !== reader.size - FOOTER_BYTES)
    throw corruption(reader.path, end, 'bytes before its footer are in no block');
}

/** Verifies the rows that begin in the blocks. The block before is read too, to compare its last cell with the first one. */
function* verifyCells(reader: SortedFileReader, { from, to }: BlockRange): Generator<number, FileMeta> {
  const { meta, path } = reader;
  const collector = new MetaCollector({ ...meta, dataBlockEncoding: meta.encoding });
  collector.dataBytes = meta.dataBytes;
  const last = new LastKey();
  const bloom = new BloomKey();
  const before = new SeekKey();
  const cursor = reader.cursor({ cacheBlocks: false });
  const inParts = reader.parts === null ? undefined : reader.cursor({ cacheBlocks: false, inParts: true });
  const first = Math.max(0, from - 1);
  inParts?.seekToBlock(first);
  let isWithin = from === 0;
  let lastRow: Uint8Array | undefined;
  let cells = 0;
  let bytes = 0;
  for (cursor.seekToBlock(first); cursor.valid; cursor.next()) {
    const offset = cursor.blockOffset;
    const { isFirstOfBlock } = cursor;
    const isBehind = cursor.blockNumber >= to;
    if (isBehind) lastRow = last.row();
    const hasBefore = !last.empty;
    if (hasBefore && (isFirstOfBlock || inParts?.isFirstOfBlock)) last.copyTo(before);
    if (!last.advance(cursor))
      throw corruption(path, offset, `a cell of row ${toStringBinary(rowOf(cursor))} is out of order`);
    if (isBehind && !(isWithin && last.sameRow)) break;
    if (!last.sameRow && cursor.blockNumber >= from) isWithin = true;
    const size = plainBytes(cursor);
    if (isWithin) {
      collector.add(cursor, last.sameRow, last.sameColumn, size);
      if (!last.sameRow || meta.bloomFilter === 'ROWCOL') verifyBloom(reader, cursor, bloom);
      if (isFirstOfBlock) verifyIndexKey(reader, cursor, hasBefore ? before : undefined);
      if (inParts !== undefined) verifyPart(reader, cursor, inParts, hasBefore ? before : undefined);
    }
    inParts?.next();
    cells++;
    bytes += size;
    if (cells < CELLS_PER_STEP && bytes < BYTES_PER_STEP) continue;
    yield bytes;
    cells = 0;
    bytes = 0;
  }
  cursor.close();
  inParts?.close();
  return collector.finish(lastRow ?? last.row(), meta.dataBlocks, meta.bloomKeys);
}

function plainBytes(cursor: SortedFileCursor): number {
  return plainCellBytes(cursor.rowLength, cursor.qualifierLength, cursor.valueLength, cursor.ttl);
}

function verifyBloom(reader: SortedFileReader, cursor: SortedFileCursor, key: BloomKey): void {
  const { type } = cursor;
  key.setRow(cursor.key, cursor.rowOffset, cursor.rowLength);
  const isRowMarker = type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion;
  if (reader.meta.bloomFilter === 'ROWCOL' && !isRowMarker)
    key.setColumn(cursor.key, cursor.qualifierOffset, cursor.qualifierLength);
  if (!reader.mayContain(key))
    throw corruption(reader.path, cursor.blockOffset, 'its bloom filter lacks a cell of the file');
}

/** Verifies that the key of the cursor's block is at or before its first cell, and after the last cell of the block before. */
function verifyIndexKey(
  reader: SortedFileReader,
  cursor: SortedFileCursor,
  before: SeekKey | undefined,
): void {
  const { index, entry } = cursor.indexPosition;
  if (!index.isAtOrBefore(entry, behind(cursor)))
    throw corruption(reader.path, cursor.blockOffset, 'the index key of a block is after its first cell');
  if (before !== undefined && index.isAtOrBefore(entry, before))
    throw corruption(
      reader.path,
      cursor.blockOffset,
      'the index key of a block is not after the block before',
    );
}

/** Verifies that a block and its parts have the same cell at `cursor`, and that a part's key separates it from the one before. */
function verifyPart(
  reader: SortedFileReader,
  cursor: SortedFileCursor,
  inParts: SortedFileCursor,
  before: SeekKey | undefined,
): void {
  if (!inParts.valid || compareCursors(cursor, inParts) !== 0)
    throw corruption(reader.path, cursor.blockOffset, 'the parts of a block have other cells than it');
  if (inParts.isFirstOfBlock) {
    const { group, part } = inParts.part;
    const isAtOrBefore = (key: SeekKey): boolean => group!.isAtOrBefore(part, key);
    if (!isAtOrBefore(behind(cursor)) || (before !== undefined && isAtOrBefore(before)))
      throw corruption(
        reader.path,
        cursor.blockOffset,
        'the key of a part of a block does not separate its cells',
      );
  }
}

/** A key after all cells like the one at `cursor`: a cell key counts as after a target equal to it. */
function behind(cursor: SortedFileCursor): SeekKey {
  const { key, qualifierOffset, qualifierLength, timestamp, type } = cursor;
  const qualifier = key.slice(qualifierOffset, qualifierOffset + qualifierLength);
  return new SeekKey().setColumn(rowOf(cursor), qualifier, timestamp, type - 1);
}

function rowOf({ key, rowOffset, rowLength }: SortedFileCursor): Uint8Array {
  return key.slice(rowOffset, rowOffset + rowLength);
}

function isSame(a: unknown, b: unknown): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array ? equalBytes(a, b) : a === b;
}
