import { gunzipSync, gzipSync } from 'node:zlib';
import { crc32 } from '../../bytes/index.js';
import { type BlockCodec, prepareCodecs, preparedCodec } from '../../compression/index.js';
import { contentSize, declaredLength, FRAME_MAGIC, lz4Length } from '../../compression/packaged-codecs.js';
import { CorruptionError } from '../../errors.js';
import {
  BLOCK_HEAD_BYTES,
  type BlockMagic,
  CHECKSUM_CHUNK,
  CHECKSUM_CRC32,
  CHECKSUM_NONE,
  type HFileCompression,
  MAGIC_BYTES,
} from './format.js';

// — HBase's compression of the content of blocks. GZ is a gzip stream. The others have the format of Hadoop's
// `BlockCompressorStream`, any number of:
//
//     raw length (4) | chunks until it is reached: compressed length (4) | a raw block of the codec
//
// Numbers are big-endian. Hadoop's own ZSTD is one frame without this framing.

/** Bytes that are compressed together: no more than fits into the buffers of HBase's codecs. */
const SEGMENT = 64 << 10;

/** Call before blocks are compressed or decompressed. @throws UnsupportedError naming the missing package. */
export async function prepareHFileCodec(compression: HFileCompression): Promise<void> {
  if (compression !== 'GZ') await prepareCodecs([compression]);
}

export function packContent(content: Uint8Array, compression: HFileCompression): Uint8Array {
  if (compression === 'GZ') return gzipSync(content);
  if (compression === 'NONE' || content.length === 0) return content;
  const codec = preparedCodec(compression)!;
  let body = packSegments(content, codec, SEGMENT);
  // HBase takes a body of the raw length, with or without a header, for uncompressed (`HFileBlock.isUnpacked`).
  for (let segment = SEGMENT; looksUnpacked(body, content); segment >>= 1) {
    body = packSegments(content, codec, Math.min(segment, content.length) >> 1 || 1);
  }
  return body;
}

function looksUnpacked(body: Uint8Array, content: Uint8Array): boolean {
  return body.length === content.length || body.length === content.length + BLOCK_HEAD_BYTES;
}

function packSegments(content: Uint8Array, codec: BlockCodec, segment: number): Buffer {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += segment) {
    const length = Math.min(segment, content.length - at);
    const packed = codec.compress(content, at, length);
    const head = Buffer.allocUnsafe(8);
    head.writeInt32BE(length);
    head.writeInt32BE(packed.length, 4);
    parts.push(head, packed);
  }
  return Buffer.concat(parts);
}

/** Decompresses the content of a block whose header states `length` bytes. @throws CorruptionError when that is wrong. */
export function unpackContent(body: Buffer, compression: HFileCompression, length: number): Buffer {
  if (compression === 'NONE' || body.length === 0) return body;
  if (compression === 'GZ') return unzip(body, length);
  const codec = preparedCodec(compression)!;
  if (compression === 'ZSTD' && body.length >= 4 && body.readUInt32LE(0) === FRAME_MAGIC) {
    return bufferOf(codec.decompress(body, 0, body.length, length));
  }
  const content = Buffer.allocUnsafe(length);
  let done = 0;
  for (let at = 0; at < body.length; ) {
    const end = done + numberAt(body, at);
    at += 4;
    if (end > length) throw new CorruptionError('a block unpacks to more than it says');
    while (done < end) {
      const packed = numberAt(body, at);
      at += 4;
      if (packed > body.length - at) throw new CorruptionError('a block ends within a chunk');
      const chunk = plain(body.subarray(at, at + packed));
      const raw = lengthOf(chunk, codec) ?? end - done;
      if (raw < 1 || raw > end - done)
        throw new CorruptionError('a chunk of a block unpacks to more than it says');
      content.set(codec.decompress(chunk, 0, packed, raw), done);
      done += raw;
      at += packed;
    }
  }
  return content.subarray(0, done);
}

/** The raw length of a chunk; undefined if it does not state it. */
function lengthOf(chunk: Uint8Array, codec: BlockCodec): number | undefined {
  switch (codec.name) {
    case 'SNAPPY':
      return declaredLength(chunk, 0, chunk.length);
    case 'LZ4':
      return lz4Length(chunk);
    default:
      return contentSize(chunk, 0, chunk.length);
  }
}

function numberAt(body: Buffer, at: number): number {
  const number = at + 4 <= body.length ? body.readInt32BE(at) : -1;
  if (number >= 0) return number;
  throw new CorruptionError('a block ends within a length, or has one below 0');
}

function plain(bytes: Buffer): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function unzip(body: Buffer, length: number): Buffer {
  try {
    return gunzipSync(body, { maxOutputLength: Math.max(1, length) });
  } catch (cause) {
    throw new CorruptionError(`a block cannot be unpacked (${(cause as Error).message})`, { cause });
  }
}

// — Blocks of HFiles: a header, content, checksums.

/** Blocks with larger content are not read: HBase's have 64 KiB and one cell. */
const LARGEST_BLOCK = 256 << 20;

/** Encodes a block. `previous`: the offset of the previous block of its kind, or -1. */
export function packBlock(
  magic: BlockMagic,
  content: Uint8Array,
  previous: number,
  compression: HFileCompression,
): Buffer {
  const body = packContent(content, compression);
  const data = BLOCK_HEAD_BYTES + body.length;
  const chunks = Math.ceil(data / CHECKSUM_CHUNK);
  const block = Buffer.allocUnsafe(data + 4 * chunks);
  block.write(magic, 0, 'latin1');
  block.writeInt32BE(body.length + 4 * chunks, 8);
  block.writeInt32BE(content.length, 12);
  block.writeBigInt64BE(BigInt(previous), 16);
  block[24] = CHECKSUM_CRC32;
  block.writeInt32BE(CHECKSUM_CHUNK, 25);
  block.writeInt32BE(data, 29);
  block.set(body, BLOCK_HEAD_BYTES);
  for (let chunk = 0; chunk < chunks; chunk++) {
    const from = chunk * CHECKSUM_CHUNK;
    const crc = crc32(block, from, Math.min(CHECKSUM_CHUNK, data - from));
    block.writeUInt32BE(crc, data + 4 * chunk);
  }
  return block;
}

/** The decoded header of a block. */
export interface BlockHead {
  readonly magic: string;
  /** Bytes of the whole block on disk. */
  readonly bytes: number;
  /** Bytes of its content, unpacked. */
  readonly unpacked: number;
  readonly checksumType: number;
  readonly checksumChunk: number;
  /** Bytes of head and content on disk. */
  readonly data: number;
}

/** @throws CorruptionError when it is no head of a block that ends before `limit` bytes. */
export function blockHead(head: Buffer, limit: number): BlockHead {
  const bytes = BLOCK_HEAD_BYTES + head.readInt32BE(8);
  const unpacked = head.readInt32BE(12);
  const checksumType = head[24]!;
  const checksumChunk = head.readInt32BE(25);
  const data = head.readInt32BE(29);
  const magic = head.toString('latin1', 0, MAGIC_BYTES);
  const fits = data >= BLOCK_HEAD_BYTES && data <= bytes && bytes <= limit && unpacked >= 0;
  if (!fits || unpacked > LARGEST_BLOCK || bytes > LARGEST_BLOCK) {
    throw new CorruptionError(`there is no block (${JSON.stringify(magic)} of ${bytes} bytes)`);
  }
  return { magic, bytes, unpacked, checksumType, checksumChunk, data };
}

/**
 * The content of a block of {@link blockHead}. CRC32 is checked; of another kind of checksum (HBase's default is CRC32C) the
 * content is held to be right when it reads well.
 * @throws CorruptionError when it is not what was written.
 */
export function unpackBlock(block: Buffer, head: BlockHead, compression: HFileCompression): Buffer {
  const { data, checksumChunk } = head;
  if (head.checksumType === CHECKSUM_CRC32) {
    const chunks = checksumChunk > 0 ? Math.ceil(data / checksumChunk) : 0;
    if (chunks === 0 || data + 4 * chunks > block.length)
      throw new CorruptionError('a block has no checksums');
    for (let chunk = 0; chunk < chunks; chunk++) {
      const from = chunk * checksumChunk;
      const crc = crc32(block, from, Math.min(checksumChunk, data - from));
      if (crc !== block.readUInt32BE(data + 4 * chunk)) throw new CorruptionError('a checksum is wrong');
    }
  } else if (head.checksumType > 2) {
    throw new CorruptionError(`${head.checksumType} is no kind of checksum (${CHECKSUM_NONE} to 2 are)`);
  }
  const body = block.subarray(BLOCK_HEAD_BYTES, data);
  const content = unpackContent(body, compression, head.unpacked);
  if (content.length === head.unpacked) return content;
  throw new CorruptionError(`a block unpacks to ${content.length} bytes, not to ${head.unpacked}`);
}
