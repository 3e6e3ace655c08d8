import { crc32 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { CachedFile } from '../cache.js';
import { ON_DAMAGE } from '../encoding/data-block.js';

// — The constants of sorted files. FROZEN: see docs/formats-sorted-files.md.

export const FORMAT_VERSION = 2;
/** The oldest version that is read: its blocks have no parts. */
export const OLDEST_FORMAT_VERSION = 1;
/** The last eight bytes of every sorted file: "ROWANSST". */
export const MAGIC: Uint8Array = Uint8Array.of(0x52, 0x4f, 0x57, 0x41, 0x4e, 0x53, 0x53, 0x54);

/** crc u32, type u8, codec u8, encoding u8, 0 u8, raw length u32, payload length u32. */
export const BLOCK_HEADER_BYTES = 16;
export const FOOTER_BYTES = 64;

/** The kind of a block. */
export const BlockType = {
  Data: 1,
  LeafIndex: 2,
  RootIndex: 3,
  BloomChunk: 4,
  BloomIndex: 5,
  Meta: 6,
  PartGroup: 7,
  PartIndex: 8,
} as const;
export type BlockType = (typeof BlockType)[keyof typeof BlockType];

/** Entries of a leaf index. A file with fewer data blocks has only a root index. */
export const LEAF_ENTRIES = 4096;

/** Kinds of index keys, by the parts they have. Omitted parts sort first. */
export const KeyKind = { Row: 0, Column: 1, Cell: 2 } as const;
export type KeyKind = (typeof KeyKind)[keyof typeof KeyKind];

// — The header and checksum of every block of a sorted file.

const TWO_32 = 0x100000000;
const seedBytes = new Uint8Array(16);
const seedView = new DataView(seedBytes.buffer);

/** The seed of the checksum at `offset` of file `fileNo`: the same bytes elsewhere do not match. */
export function checksumSeed(fileNo: number, offset: number): number {
  seedView.setUint32(0, fileNo % TWO_32, true);
  seedView.setUint32(4, fileNo / TWO_32, true);
  seedView.setUint32(8, offset % TWO_32, true);
  seedView.setUint32(12, offset / TWO_32, true);
  return crc32(seedBytes, 0, 16);
}

/** Writes the header of a block at `at` of `target`; its payload is already in place after the header. */
export function writeHeader(
  target: Uint8Array,
  at: number,
  header: { type: BlockType; codec: number; encoding: number; rawLength: number; length: number },
  fileNo: number,
  offset: number,
): void {
  const view = new DataView(target.buffer, target.byteOffset + at, BLOCK_HEADER_BYTES);
  view.setUint8(4, header.type);
  view.setUint8(5, header.codec);
  view.setUint8(6, header.encoding);
  view.setUint8(7, 0);
  view.setUint32(8, header.rawLength, true);
  view.setUint32(12, header.length, true);
  const crc = crc32(target, at + 4, BLOCK_HEADER_BYTES - 4 + header.length, checksumSeed(fileNo, offset));
  view.setUint32(0, crc, true);
}

/** A block as it is in the file, its checksum verified. */
export interface FramedBlock {
  /** Header and payload. */
  readonly bytes: Uint8Array;
  readonly type: number;
  readonly codec: number;
  readonly encoding: number;
  readonly rawLength: number;
  /** The length of the payload, which begins at `BLOCK_HEADER_BYTES`. */
  readonly length: number;
}

/**
 * Reads the `length` bytes of a block, header included, and verifies them.
 * @param buffer the buffer to use; a new one is allocated when it is omitted or too small.
 * @throws CorruptionError naming the file and the offset.
 */
export function readBlock(
  file: CachedFile,
  fileNo: number,
  offset: number,
  length: number,
  buffer?: Uint8Array,
): FramedBlock {
  if (length < BLOCK_HEADER_BYTES || offset < 0 || offset + length > file.size) {
    throw corruption(file.path, offset, `a block of ${length} bytes does not fit there`);
  }
  const bytes = buffer !== undefined && buffer.length >= length ? buffer : newBytes(length);
  const read = file.read(bytes, 0, length, offset);
  if (read !== length) throw corruption(file.path, offset, `the file ends ${length - read} bytes too early`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, BLOCK_HEADER_BYTES);
  const crc = crc32(bytes, 4, length - 4, checksumSeed(fileNo, offset));
  if (crc !== view.getUint32(0, true))
    throw corruption(file.path, offset, 'the checksum of a block does not match');
  if (view.getUint32(12, true) !== length - BLOCK_HEADER_BYTES)
    throw corruption(file.path, offset, 'the length of a block differs from the index');
  return {
    bytes,
    type: view.getUint8(4),
    codec: view.getUint8(5),
    encoding: view.getUint8(6),
    rawLength: view.getUint32(8, true),
    length: length - BLOCK_HEADER_BYTES,
  };
}

/** Reads a block of a type that is never compressed: any but data. */
export function readPlainBlock(
  file: CachedFile,
  fileNo: number,
  offset: number,
  length: number,
  type: BlockType,
): Uint8Array {
  const block = readBlock(file, fileNo, offset, length);
  if (block.type !== type || block.codec !== 0 || block.rawLength !== block.length)
    throw corruption(file.path, offset, `a block is of type ${block.type} instead of ${type}`);
  return block.bytes.subarray(BLOCK_HEADER_BYTES);
}

/** An uninitialized buffer. */
export function newBytes(length: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
}

/** The error for a file that differs from what was written, with what to do about it. */
export function corruption(path: string, offset: number, why: string, cause?: unknown): CorruptionError {
  return new CorruptionError(`"${path}" is damaged at byte ${offset}: ${why}.${ON_DAMAGE}`, {
    cause,
    details: { file: path, offset },
  });
}
