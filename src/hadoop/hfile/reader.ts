import { type FileHandle, open } from 'node:fs/promises';
import { CorruptionError, UnsupportedError } from '../../errors.js';
import type { Cell } from '../../table/index.js';
import { ByteParser, naming, readAt } from '../writable.js';
import { type BlockHead, blockHead, prepareHFileCodec, unpackBlock } from './block.js';
import { type FileInfo, parseFileInfo, parseTrailer, type Trailer } from './file-info.js';
import {
  BLOCK_HEAD_BYTES,
  BlockMagic,
  CellReader,
  type CellShape,
  CODEC_NAMES,
  HFILE_CODECS,
  type HFileCompression,
  Info,
  TRAILER_BYTES,
} from './format.js';

const KIND = 'an HFile';

/** A data block in memory. */
export interface HFileBlock {
  readonly offset: number;
  /** The offset of the next block. */
  readonly next: number;
  readonly cells: readonly Cell[];
}

/** Reads HFiles from the first cell to the last. Sizes and offsets in a file are checked before they are used. */
export class HFileReader {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly size: number,
    readonly trailer: Trailer,
    readonly info: FileInfo,
    private readonly compression: HFileCompression,
    private readonly shape: CellShape,
  ) {}

  /**
   * @throws CorruptionError naming the file when it is not an HFile of version 3; UnsupportedError when it is encrypted, has encoded
   * blocks, or is compressed by another codec or by one whose package is missing.
   */
  static async open(path: string): Promise<HFileReader> {
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      return await naming({ path, offset: size, kind: KIND }, async () => {
        if (size < TRAILER_BYTES) throw new CorruptionError('it is too short for an HFile');
        const trailer = parseTrailer(await readAt(handle, size - TRAILER_BYTES, TRAILER_BYTES));
        const compression = codecOf(trailer.codec);
        await prepareHFileCodec(compression);
        const content = await readBlock(handle, trailer.fileInfoOffset, size - TRAILER_BYTES, compression);
        if (content.head.magic !== BlockMagic.fileInfo) throw new CorruptionError('there is no file info');
        const info = parseFileInfo(content.bytes);
        requirePlain(info);
        const shape = { tags: info.has(Info.longestTags), sequence: hasSequence(info) };
        return new HFileReader(path, handle, size, trailer, info, compression, shape);
      });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * The first data block at or after `offset`, or undefined. `offset` is 0, or `next` of a block.
   * @throws CorruptionError naming file and byte.
   */
  block(offset: number): Promise<HFileBlock | undefined> {
    return naming({ path: this.path, offset, kind: KIND }, async () => {
      const { handle, trailer, size, compression, shape } = this;
      const limit = size - TRAILER_BYTES;
      let at = Math.max(offset, trailer.firstDataBlock);
      while (at <= trailer.lastDataBlock) {
        const head = await readHead(handle, at, limit);
        if (head.magic === BlockMagic.data) {
          const block = unpackBlock(await readAt(handle, at, head.bytes), head, compression);
          return { offset: at, next: at + head.bytes, cells: cellsOf(block, shape) };
        }
        if (head.magic === BlockMagic.encodedData) throw encoded('its data blocks');
        at += head.bytes;
      }
      return undefined;
    });
  }

  /** Every cell, in order. @throws CorruptionError when their number differs from the trailer's. */
  async *cells(): AsyncGenerator<Cell, void> {
    let cells = 0;
    for (let block = await this.block(0); block !== undefined; block = await this.block(block.next)) {
      cells += block.cells.length;
      yield* block.cells;
    }
    const { entries } = this.trailer;
    if (cells === entries) return;
    throw new CorruptionError(`${this.path} has ${cells} cells, but its trailer says ${entries}.`, {
      details: { file: this.path },
    });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

async function readHead(handle: FileHandle, offset: number, limit: number): Promise<BlockHead> {
  if (offset + BLOCK_HEAD_BYTES > limit) throw new CorruptionError('a block begins beyond its end');
  return blockHead(await readAt(handle, offset, BLOCK_HEAD_BYTES), limit - offset);
}

async function readBlock(
  handle: FileHandle,
  offset: number,
  limit: number,
  compression: HFileCompression,
): Promise<{ readonly head: BlockHead; readonly bytes: Buffer }> {
  const head = await readHead(handle, offset, limit);
  return { head, bytes: unpackBlock(await readAt(handle, offset, head.bytes), head, compression) };
}

function cellsOf(content: Buffer, shape: CellShape): Cell[] {
  const parser = new ByteParser(content);
  const reader = new CellReader(parser, shape);
  const cells: Cell[] = [];
  while (parser.left > 0) cells.push(reader.read());
  return cells;
}

function codecOf(codec: number): HFileCompression {
  for (const name of Object.keys(HFILE_CODECS) as HFileCompression[])
    if (HFILE_CODECS[name] === codec) return name;
  throw new UnsupportedError(
    `it is compressed by ${CODEC_NAMES[codec] ?? codec}; the supported codecs are ${Object.keys(HFILE_CODECS).join(', ')}. Have HBase export the table, ` +
      'or compact it with one of those.',
  );
}

function requirePlain(info: FileInfo): void {
  const encoding = info.get(Info.encoding)?.toString('latin1') ?? 'NONE';
  if (encoding !== 'NONE') throw encoded(`its blocks by ${encoding}`);
}

function encoded(what: string): UnsupportedError {
  return new UnsupportedError(
    `it encodes ${what}; only DATA_BLOCK_ENCODING NONE is supported. Have HBase export the table, or compact it ` +
      'with that.',
  );
}

function hasSequence(info: FileInfo): boolean {
  const version = info.get(Info.cellVersion);
  return version?.length === 4 && version.readInt32BE(0) === 1;
}
