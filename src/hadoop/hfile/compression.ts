/**
 * How HBase compresses the content of blocks. GZ is a gzip stream. The others are as Hadoop's `BlockCompressorStream` writes them, any number
 * of:
 *
 *     bytes unpacked (4) | chunks until those are there: bytes packed (4) | a raw block of the codec
 *
 * Numbers are big-endian. Hadoop's own ZSTD is one frame without any of that.
 */

import { gunzipSync, gzipSync } from 'node:zlib';
import { type BlockCodec, prepareCodecs, preparedCodec } from '../../compression/index.js';
import { lz4Length } from '../../compression/lz4-codec.js';
import { saidLength } from '../../compression/snappy-codec.js';
import { contentSize, FRAME_MAGIC } from '../../compression/zstd-codec.js';
import { CorruptionError } from '../../errors.js';
import { BLOCK_HEAD_BYTES, type HFileCompression } from './format.js';

/** Bytes that are packed at once: no more than fits into the buffers of HBase's codecs. */
const SEGMENT = 64 << 10;

/** Before blocks are packed or unpacked. @throws UnsupportedError naming the package that is missing. */
export async function prepareHFileCodec(compression: HFileCompression): Promise<void> {
  if (compression !== 'GZ') await prepareCodecs([compression]);
}

export function packContent(content: Uint8Array, compression: HFileCompression): Uint8Array {
  if (compression === 'GZ') return gzipSync(content);
  if (compression === 'NONE' || content.length === 0) return content;
  const codec = preparedCodec(compression)!;
  let body = packSegments(content, codec, SEGMENT);
  // What is as long as it was unpacked, with a head or without, is not unpacked by HBase (`HFileBlock.isUnpacked`).
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

/** The content of a block that is said to unpack to `length` bytes. @throws CorruptionError when it does not. */
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

/** What a chunk unpacks to; undefined where it does not say. */
function lengthOf(chunk: Uint8Array, codec: BlockCodec): number | undefined {
  switch (codec.name) {
    case 'SNAPPY':
      return saidLength(chunk, 0, chunk.length);
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
