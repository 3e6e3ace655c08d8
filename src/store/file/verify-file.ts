import { equalBytes } from '../../bytes/index.js';
import { compressionOfId } from '../../compression/index.js';
import { CellType, type Compression, type DataBlockEncoding } from '../../table/index.js';
import { compareCursors, SeekKey } from '../cursor.js';
import { encodingOfId, plainCellBytes } from '../encoding/index.js';
import { BlockType, corruption, FOOTER_BYTES, readBlock } from './block-frame.js';
import type { BlockIndex } from './block-index.js';
import { BloomKey } from './bloom-filter.js';
import type { FileMeta } from './footer.js';
import { LastKey } from './index-key.js';
import type { SortedFileCursor } from './sorted-file-cursor.js';
import type { SortedFileReader } from './sorted-file-reader.js';
import { MetaCollector } from './sorted-file-writer.js';

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

interface BlockDescription {
  readonly kind: BlockKind;
  readonly offset: number;
  /** Bytes in the file, header included. */
  readonly length: number;
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

/**
 * Lists every block of a sorted file for tools, in the order of offsets, the footer last. Reads and verifies each of
 * them.
 * @throws CorruptionError when one differs from what was written.
 */
export function* describeBlocks(reader: SortedFileReader): Generator<BlockDescription> {
  const places = blockPlaces(reader).sort((a, b) => a.offset - b.offset);
  for (const { offset, length } of places) {
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
  yield {
    kind: 'footer',
    offset: reader.size - FOOTER_BYTES,
    length: FOOTER_BYTES,
    rawLength: FOOTER_BYTES,
    codec: 'NONE',
    encoding: 'NONE',
  };
}

/** The positions of all blocks but the footer, by the indexes. */
function blockPlaces(reader: SortedFileReader): { offset: number; length: number }[] {
  const { footer, root, bloomIndex } = reader;
  const places = [...entries(root), footer.root, footer.meta];
  if (reader.twoLevels) for (let i = 0; i < root.count; i++) places.push(...entries(reader.leaf(i)));
  if (bloomIndex) places.push(...entries(bloomIndex), footer.bloom);
  if (reader.parts !== null) {
    const { offsets, lengths } = reader.parts.groupPlaces;
    for (const [i, offset] of offsets.entries()) places.push({ offset, length: lengths[i]! });
    places.push(footer.parts);
  }
  return places;
}

function entries(index: BlockIndex): { offset: number; length: number }[] {
  return Array.from({ length: index.count }, (_, i) => ({
    offset: index.offsets[i]!,
    length: index.lengths[i]!,
  }));
}

// — Verifies a whole sorted file against its own metadata and indexes.

/** The counts of a verification. */
interface VerifiedFile {
  readonly cells: number;
  readonly blocks: number;
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
  let blocks = 0;
  let bytes = 0;
  for (const { rawLength } of describeBlocks(reader)) {
    blocks++;
    bytes += rawLength;
    if (bytes < BYTES_PER_STEP) continue;
    yield bytes;
    bytes = 0;
  }
  verifyCover(reader);
  yield bytes;
  yield* verifyCells(reader);
  return { cells: reader.meta.cells, blocks, bytes: reader.size };
}

/** Like {@link verifySteps}, at once. */
export function verifySortedFile(reader: SortedFileReader): VerifiedFile {
  const steps = verifySteps(reader);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Verifies that blocks follow one another without gap or overlap, up to the footer. */
function verifyCover(reader: SortedFileReader): void {
  let end = 0;
  for (const { offset, length } of blockPlaces(reader).sort((a, b) => a.offset - b.offset)) {
    if (offset !== end)
      throw corruption(reader.path, end, `its blocks leave a gap or overlap before ${offset}`);
    end = offset + length;
  }
  if (end !== reader.size - FOOTER_BYTES)
    throw corruption(reader.path, end, 'bytes before its footer are in no block');
}

function* verifyCells(reader: SortedFileReader): Generator<number, void> {
  const { meta, path } = reader;
  const collector = new MetaCollector({ ...meta, dataBlockEncoding: meta.encoding });
  collector.dataBytes = meta.dataBytes;
  const last = new LastKey();
  const bloom = new BloomKey();
  const cursor = reader.cursor({ cacheBlocks: false });
  const lastSeek = new SeekKey();
  const inParts = reader.parts === null ? undefined : reader.cursor({ cacheBlocks: false, inParts: true });
  inParts?.seekToFirst();
  let cells = 0;
  let bytes = 0;
  for (cursor.seekToFirst(); cursor.valid; cursor.next()) {
    const offset = cursor.blockOffset;
    if (!last.advance(cursor)) throw corruption(path, offset, `cell ${collector.cells} is out of order`);
    const size = plainBytes(cursor);
    collector.add(cursor, last.sameRow, last.sameColumn, size);
    verifyBloom(reader, cursor, bloom);
    if (cursor.isFirstOfBlock) verifyIndexKey(reader, cursor, collector.cells > 1 ? lastSeek : undefined);
    if (inParts !== undefined)
      verifyPart(reader, cursor, inParts, collector.cells > 1 ? lastSeek : undefined);
    copyKey(cursor, lastSeek);
    cells++;
    bytes += size;
    if (cells < CELLS_PER_STEP && bytes < BYTES_PER_STEP) continue;
    yield bytes;
    cells = 0;
    bytes = 0;
  }
  cursor.close();
  inParts?.close();
  const found = collector.finish(last, meta.dataBlocks, meta.bloomKeys);
  for (const field of Object.keys(found) as (keyof FileMeta)[]) {
    const isBulkSeq = reader.seq >= 0 && (field === 'minSeq' || field === 'maxSeq');
    if (!isBulkSeq && !isSame(found[field], meta[field])) {
      throw corruption(
        path,
        reader.footer.meta.offset,
        `it says ${field} ${String(meta[field])}, its cells say ${String(found[field])}`,
      );
    }
  }
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
  inParts.next();
}

/** A key after all cells like the one at `cursor`: a cell key counts as after a target equal to it. */
function behind(cursor: SortedFileCursor): SeekKey {
  const key = new SeekKey();
  copyKey(cursor, key);
  key.type--;
  return key;
}

function copyKey(cursor: SortedFileCursor, key: SeekKey): void {
  key.row = cursor.key.slice(cursor.rowOffset, cursor.rowOffset + cursor.rowLength);
  key.rowLength = cursor.rowLength;
  key.qualifier = cursor.key.slice(cursor.qualifierOffset, cursor.qualifierOffset + cursor.qualifierLength);
  key.qualifierLength = cursor.qualifierLength;
  key.timestamp = cursor.timestamp;
  key.type = cursor.type;
}

function isSame(a: unknown, b: unknown): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array ? equalBytes(a, b) : a === b;
}
