/** Blocks of HFiles: a head, content, checksums. */

import { crc32 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { packContent, unpackContent } from './compression.js';
import {
  BLOCK_HEAD_BYTES,
  type BlockMagic,
  CHECKSUM_CHUNK,
  CHECKSUM_CRC32,
  CHECKSUM_NONE,
  type HFileCompression,
  MAGIC_BYTES,
} from './format.js';

/** No block is read whose content is said to be larger: HBase makes them of 64 KiB and one cell. */
export const LARGEST_BLOCK = 256 << 20;

/** A block as it stands in a file. `previous`: where the block of its kind before it is, or -1. */
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

/** What the head of a block says. */
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
