import { crc32 } from '../../bytes/index.js';
import { type BlockCodec, CODEC_IDS, preparedCodec } from '../../compression/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type BloomFilter, CellType } from '../../table/index.js';
import type { CellCursor, CellKey } from '../cursor.js';
import {
  type BlockEncoder,
  createEncoder,
  ENCODING_IDS,
  type EncodedRow,
  plainCellBytes,
} from '../encoding/index.js';
import type { FileHandle } from '../fs/file-system.js';
import { BLOCK_HEADER_BYTES, BlockType, checksumSeed, LEAF_ENTRIES } from './block-frame.js';
import { IndexBuilder } from './block-index.js';
import { BloomBuilder, BloomKey, CHUNK_KEYS } from './bloom-filter.js';
import {
  type BlockHandle,
  type FileMeta,
  FileOutput,
  fileMetaToJson,
  footerCrc,
  type WrittenFile,
  writeFooter,
} from './footer.js';
import { IndexKey, LastKey } from './index-key.js';
import type { SortedFileWriterOptions } from './options.js';
import { GROUP_BLOCKS, MAX_PARTS, PART_BYTES, PartGroupBuilder, PartGroupOffsets } from './part-index.js';

/** Writes the bloom filter of a file: chunks between the data blocks, and their index. */
class BloomWriter {
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

  /** Adds the keys of the cell at `cursor`. */
  add(cursor: CellKey, sameRow: boolean, sameColumn: boolean): void {
    const { key } = this;
    if (!sameRow) {
      // A row is never in two chunks, so that its look-up reads one.
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
      // A family marker must be found by a look-up of any column (R57).
      if (!this.rowAdded) this.put(key.row1, key.row2);
      this.rowAdded = true;
    }
    if (sameColumn) return;
    key.setColumn(cursor.key, cursor.qualifierOffset, cursor.qualifierLength);
    this.put(key.column1, key.column2);
  }

  /** Writes the last chunk and the index; returns the position of the index. */
  finish(): BlockHandle {
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

/** Collects the metadata of a file while its cells are written. */
export class MetaCollector {
  cells = 0;
  dataBytes = 0;
  private deletes = 0;
  private deleteFamilyCount = 0;
  private rows = 0;
  private minTimestamp = Number.MAX_SAFE_INTEGER;
  private maxTimestamp = 0;
  private earliestPut = Number.MAX_SAFE_INTEGER;
  private minSeq = Number.MAX_SAFE_INTEGER;
  private maxSeq = 0;
  private versions = 0;
  private maxVersions = 0;
  private hasTtl = false;
  private rawBytes = 0;
  private firstRow: Uint8Array = new Uint8Array(0);

  constructor(private readonly options: SortedFileWriterOptions) {}

  add(cursor: CellCursor, sameRow: boolean, sameColumn: boolean, bytes: number): void {
    const { timestamp, type, seq } = cursor;
    if (this.cells === 0)
      this.firstRow = cursor.key.slice(cursor.rowOffset, cursor.rowOffset + cursor.rowLength);
    this.cells++;
    if (!sameRow) this.rows++;
    this.versions = sameColumn ? this.versions + 1 : 1;
    if (this.versions > this.maxVersions) this.maxVersions = this.versions;
    if (timestamp < this.minTimestamp) this.minTimestamp = timestamp;
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp;
    if (seq < this.minSeq) this.minSeq = seq;
    if (seq > this.maxSeq) this.maxSeq = seq;
    if (cursor.ttl !== 0) this.hasTtl = true;
    this.rawBytes += bytes;
    if (type === CellType.Put) {
      if (timestamp < this.earliestPut) this.earliestPut = timestamp;
      return;
    }
    this.deletes++;
    if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) this.deleteFamilyCount++;
    // Both hide everything below their timestamp (R56).
    if (type === CellType.DeleteColumn || type === CellType.DeleteFamily) this.minTimestamp = 0;
  }

  /** Adds the cells of a row of which there are no others. */
  addRow(row: EncodedRow): void {
    if (this.cells === 0) this.firstRow = row.key.slice(row.rowOffset, row.rowOffset + row.rowLength);
    this.cells += row.cells;
    this.rows++;
    this.versions = 1;
    if (this.maxVersions === 0) this.maxVersions = 1;
    if (row.minTimestamp < this.minTimestamp) this.minTimestamp = row.minTimestamp;
    if (row.minTimestamp < this.earliestPut) this.earliestPut = row.minTimestamp;
    if (row.maxTimestamp > this.maxTimestamp) this.maxTimestamp = row.maxTimestamp;
    if (row.minSeq < this.minSeq) this.minSeq = row.minSeq;
    if (row.maxSeq > this.maxSeq) this.maxSeq = row.maxSeq;
    this.rawBytes += row.end - row.start;
  }

  finish(lastRow: Uint8Array, dataBlocks: number, bloomKeys: number): FileMeta {
    const { options } = this;
    return Object.freeze({
      fileNo: options.fileNo,
      cells: this.cells,
      puts: this.cells - this.deletes,
      deletes: this.deletes,
      deleteFamilyCount: this.deleteFamilyCount,
      rows: this.rows,
      minTimestamp: this.minTimestamp,
      maxTimestamp: this.maxTimestamp,
      earliestPutTimestamp: this.earliestPut,
      minSeq: this.minSeq,
      maxSeq: this.maxSeq,
      firstRow: this.firstRow,
      lastRow,
      maxVersions: this.maxVersions,
      hasTtl: this.hasTtl,
      majorCompacted: options.majorCompacted ?? false,
      bulkLoaded: options.bulkLoaded ?? false,
      compression: options.compression,
      encoding: options.dataBlockEncoding,
      bloomFilter: options.bloomFilter,
      bloomKeys,
      blockSize: options.blockSize,
      dataBlocks,
      rawBytes: this.rawBytes,
      dataBytes: this.dataBytes,
    });
  }
}

/** The metadata of the cells of `first` and, after them, those of `then`; no row has cells of both. */
export function joinedMeta(first: FileMeta, then: FileMeta): FileMeta {
  if (then.cells === 0) return first;
  if (first.cells === 0) return then;
  return {
    ...first,
    cells: first.cells + then.cells,
    puts: first.puts + then.puts,
    deletes: first.deletes + then.deletes,
    deleteFamilyCount: first.deleteFamilyCount + then.deleteFamilyCount,
    rows: first.rows + then.rows,
    minTimestamp: Math.min(first.minTimestamp, then.minTimestamp),
    maxTimestamp: Math.max(first.maxTimestamp, then.maxTimestamp),
    earliestPutTimestamp: Math.min(first.earliestPutTimestamp, then.earliestPutTimestamp),
    minSeq: Math.min(first.minSeq, then.minSeq),
    maxSeq: Math.max(first.maxSeq, then.maxSeq),
    lastRow: then.lastRow,
    maxVersions: Math.max(first.maxVersions, then.maxVersions),
    hasTtl: first.hasTtl || then.hasTtl,
    rawBytes: first.rawBytes + then.rawBytes,
  };
}

const NO_KEY = new IndexKey();

/**
 * Writes one sorted file, front to back, from sorted cells. Its memory does not depend on the length of the file: one data
 * block, one leaf of the index, one chunk of the bloom filter.
 */
export class SortedFileWriter {
  private readonly output: FileOutput;
  private readonly encoder: BlockEncoder;
  private readonly codec: BlockCodec | undefined;
  private readonly collector: MetaCollector;
  private readonly bloom: BloomWriter | undefined;
  private readonly parts: PartWriter | undefined;
  private readonly last = new LastKey();
  private readonly leaf = new IndexBuilder();
  private readonly root = new IndexBuilder();
  private blockKey: IndexKey = NO_KEY;
  private blockBytes = 0;
  private blocks = 0;

  /**
   * @param handle an empty file; the writer closes it.
   * @throws UnsupportedError when the codec was not prepared.
   */
  constructor(
    private readonly handle: FileHandle,
    private readonly options: SortedFileWriterOptions,
  ) {
    this.output = new FileOutput(handle, options.fileNo);
    this.encoder = createEncoder(options.dataBlockEncoding);
    this.codec = preparedCodec(options.compression);
    this.collector = new MetaCollector(options);
    this.bloom =
      options.bloomFilter === 'NONE' ? undefined : new BloomWriter(this.output, options.bloomFilter);
    const { blockSize, partBytes = PART_BYTES } = options;
    // Parts of a compressed block cannot be read by themselves.
    this.parts =
      this.codec === undefined && this.encoder.hasParts && blockSize > partBytes
        ? new PartWriter(this.output, options.fileNo, { blockSize, partBytes })
        : undefined;
  }

  /** Cells written so far. */
  get cells(): number {
    return this.collector.cells;
  }

  /** Bytes of the file so far, without the open block. */
  get size(): number {
    return this.output.offset;
  }

  /**
   * Appends a copy of the cell at `cursor`.
   * @throws InvalidArgumentError when it sorts before the cell appended last.
   */
  append(cursor: CellCursor): void {
    const { last, encoder } = this;
    if (!last.advance(cursor)) this.refuse(cursor);
    if (encoder.count === 0 || this.blockBytes >= this.options.blockSize) {
      if (encoder.count > 0) this.closeBlock();
      this.blockKey = this.blocks === 0 ? IndexKey.ofFirst(cursor) : this.keyOf(cursor);
      this.parts?.begin(this.blockKey, 0, 0);
    } else if (this.parts?.isFull(encoder.length) && encoder.canBeginPart(last.sameRow)) {
      this.parts.begin(this.keyOf(cursor), encoder.length, encoder.count);
    }
    encoder.append(cursor, last.sharedRow, last.sameRow, last.sharedQualifier);
    const bytes = plainCellBytes(cursor.rowLength, cursor.qualifierLength, cursor.valueLength, cursor.ttl);
    this.blockBytes += bytes;
    this.collector.add(cursor, last.sameRow, last.sameColumn, bytes);
    this.bloom?.add(cursor, last.sameRow, last.sameColumn);
  }

  /** Whether it has `appendRow`. */
  get takesEncodedRows(): boolean {
    return this.encoder.takesEncodedRows && this.options.bloomFilter !== 'ROWCOL';
  }

  /**
   * Appends a copy of all cells of a row: the file is as if they were appended one by one.
   * @throws InvalidArgumentError when it sorts before the cell appended last.
   */
  appendRow(row: EncodedRow): void {
    const { encoder, parts } = this;
    const { blockSize } = this.options;
    const { starts, cells } = row;
    if (!this.last.advance(row)) this.refuse(row);
    this.collector.addRow(row);
    this.bloom?.add(row, false, false);
    // Cells that the encoder has, and where those that it lacks come from.
    let appended = 0;
    let from = row.start;
    for (let i = 0; i < cells; i++) {
      const length = encoder.length + starts[i]! - from;
      if (length === 0 || length >= blockSize) {
        if (i > appended) encoder.appendCells(row, appended, i);
        appended = i;
        from = starts[i]!;
        if (encoder.count > 0) this.closeBlock();
        this.blockKey = this.blocks === 0 ? IndexKey.ofFirst(row) : this.keyInRow(row, i);
        parts?.begin(this.blockKey, 0, 0);
      } else if (parts?.isFull(length)) {
        parts.begin(this.keyInRow(row, i), length, encoder.count + i - appended);
      }
    }
    encoder.appendCells(row, appended, cells);
    this.blockBytes = encoder.length;
  }

  /**
   * Writes the rest, syncs and closes the file. The caller syncs the folder. Without any cell the file must be abandoned instead:
   * see `cells` and `abandon`.
   */
  finish(): WrittenFile {
    const written = this.complete();
    this.handle.sync();
    this.handle.close();
    return written;
  }

  /** As {@link finish}, with the sync off the thread. */
  async finishAsync(): Promise<WrittenFile> {
    const written = this.complete();
    await this.handle.syncAsync();
    this.handle.close();
    return written;
  }

  /** Writes the rest. */
  private complete(): WrittenFile {
    const { output, encoder, root, leaf, collector } = this;
    if (collector.cells === 0)
      throw new InvalidArgumentError(
        `"${this.handle.path}" has no cells: abandon it instead of finishing it.`,
      );
    if (encoder.count > 0) this.closeBlock();
    const bloom = this.bloom?.finish() ?? { offset: 0, length: 0 };
    if (root.count > 0) this.closeLeaf();
    const parts = this.parts?.finish() ?? { offset: 0, length: 0 };
    const index = root.count > 0 ? root.finish() : leaf.finish();
    const rootPlace = output.block(BlockType.RootIndex, index, index.length);
    const meta = collector.finish(this.last.row(), this.blocks, this.bloom?.keys ?? 0);
    const json = Buffer.from(JSON.stringify(fileMetaToJson(meta)), 'latin1');
    const metaPlace = output.block(BlockType.Meta, json, json.length);
    const footer = { meta: metaPlace, root: rootPlace, bloom, parts, fileNo: this.options.fileNo };
    const footerBytes = writeFooter(footer, output.offset);
    output.bytes(footerBytes);
    output.flush();
    this.handle.complete?.();
    return { meta, size: output.offset, footerCrc: footerCrc(footerBytes) };
  }

  /** Closes the file. The caller removes it. */
  abandon(): void {
    this.handle.close();
  }

  private closeBlock(): void {
    const { encoder, codec, output, options } = this;
    const cellsEnd = encoder.length;
    encoder.finish();
    let payload = encoder.bytes;
    const rawLength = encoder.length;
    let length = rawLength;
    let codecId = CODEC_IDS.NONE;
    if (codec) {
      const compressed = codec.compress(payload, 0, rawLength);
      if (compressed.length < rawLength) {
        payload = compressed;
        length = compressed.length;
        codecId = CODEC_IDS[codec.name];
      }
    }
    const encodingId = ENCODING_IDS[options.dataBlockEncoding];
    this.parts?.closeBlock(payload, cellsEnd, encoder.count);
    const place = output.block(BlockType.Data, payload, length, codecId, encodingId, rawLength);
    this.collector.dataBytes += place.length;
    if (this.leaf.count === LEAF_ENTRIES) this.closeLeaf();
    this.leaf.add(this.blockKey, place.offset, place.length, this.blocks++);
    this.parts?.closeGroup();
    encoder.reset();
    this.blockBytes = 0;
  }

  /** The shortest key that separates the cell at `cursor` from the one before. */
  private keyOf(cursor: CellKey): IndexKey {
    const { sharedRow, sameRow, sharedQualifier, sameColumn } = this.last;
    return IndexKey.between(cursor, sharedRow, sameRow, sharedQualifier, sameColumn);
  }

  /** The same for a cell of a row whose first cell was passed to `last`. */
  private keyInRow(row: EncodedRow, index: number): IndexKey {
    if (index === 0) return this.keyOf(row);
    const sharedQualifier = row.moveTo(index);
    return IndexKey.between(row, row.rowLength, true, sharedQualifier, false);
  }

  private closeLeaf(): void {
    const { firstKey, firstBlock } = this.leaf;
    const bytes = this.leaf.finish();
    const place = this.output.block(BlockType.LeafIndex, bytes, bytes.length);
    this.root.add(firstKey, place.offset, place.length, firstBlock);
  }

  private refuse(cursor: CellKey): never {
    const row = Buffer.from(cursor.key.subarray(cursor.rowOffset, cursor.rowOffset + cursor.rowLength));
    throw new InvalidArgumentError(
      `A cell of row ${row.toString('hex')} was appended to "${this.handle.path}" out of order, or its row is empty. Append cells ordered by row, column, timestamp, type and seq.`,
      { details: { file: this.handle.path, keyHex: row.toString('hex') } },
    );
  }
}

interface OpenPart {
  readonly key: IndexKey;
  /** Its start in the payload, and the index of its first cell in the block. */
  readonly start: number;
  readonly firstCell: number;
}

/** Writes the parts of a file: collects those of the open block, and of closed blocks whose group is not full. */
class PartWriter {
  private readonly group = new PartGroupBuilder();
  private readonly places: BlockHandle[] = [];
  private readonly partBytes: number;
  private open: OpenPart[] = [];

  constructor(
    private readonly output: FileOutput,
    private readonly fileNo: number,
    { blockSize, partBytes }: { readonly blockSize: number; readonly partBytes: number },
  ) {
    this.partBytes = Math.max(partBytes, Math.ceil(blockSize / MAX_PARTS));
  }

  /** Whether the open part is full, when the block's payload has `length` bytes. */
  isFull(length: number): boolean {
    return length - this.open.at(-1)!.start >= this.partBytes;
  }

  /** Begins a part at the next cell. */
  begin(key: IndexKey, start: number, firstCell: number): void {
    this.open.push({ key, start, firstCell });
  }

  /** Adds the parts of a block that is about to be written; its cells are the first `cellsEnd` bytes of `payload`. */
  closeBlock(payload: Uint8Array, cellsEnd: number, cells: number): void {
    const { open, output } = this;
    const payloadAt = output.offset + BLOCK_HEADER_BYTES;
    this.group.addBlock(
      open.map(({ key, start, firstCell }, i) => {
        const next = open[i + 1];
        const end = next?.start ?? cellsEnd;
        const seed = checksumSeed(this.fileNo, payloadAt + start);
        return {
          key,
          end,
          cells: (next?.firstCell ?? cells) - firstCell,
          crc: crc32(payload, start, end - start, seed),
        };
      }),
    );
    this.open = [];
  }

  /** Called after a block: writes the group when it is full. */
  closeGroup(): void {
    if (this.group.blocks === GROUP_BLOCKS) this.writeGroup();
  }

  /** Writes the last group and the index of the groups; returns the position of the index. */
  finish(): BlockHandle {
    if (this.group.blocks > 0) this.writeGroup();
    const payload = PartGroupOffsets.payload(this.places);
    return this.output.block(BlockType.PartIndex, payload, payload.length);
  }

  private writeGroup(): void {
    const payload = this.group.finish();
    this.places.push(this.output.block(BlockType.PartGroup, payload, payload.length));
  }
}
