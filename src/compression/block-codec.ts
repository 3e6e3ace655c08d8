/** What compresses the blocks of sorted files. */

import { CorruptionError } from '../errors.js';
import type { Compression } from '../table/index.js';

/** The codes that stand in block headers: FROZEN. */
export const CODEC_IDS: Readonly<Record<Compression, number>> = {
  NONE: 0,
  GZ: 1,
  SNAPPY: 2,
  LZ4: 3,
  ZSTD: 4,
  BROTLI: 5,
  LZO: 6,
};

/** The most bytes that a block has before compression: a limit for what a damaged file can make us allocate. */
export const MAX_RAW_BLOCK_BYTES = 0x3fffffff;

export interface BlockCodec {
  readonly name: Compression;
  /** The compressed form of `length` bytes of `source` from `offset`; of no use unless it is shorter. */
  compress(source: Uint8Array, offset: number, length: number): Uint8Array;
  /**
   * The `rawLength` bytes that `length` bytes of `source` from `offset` stand for. Safe for hostile input: never reads
   * or writes out of bounds, never allocates more than `rawLength` and a constant.
   * @throws CorruptionError when the bytes are no compressed form of exactly `rawLength` bytes.
   */
  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array;
}

/** The bytes cannot be decompressed; whoever knows the file adds its name. */
export function badBlock(codec: Compression, why: string, cause?: unknown): CorruptionError {
  return new CorruptionError(`The bytes are no valid ${codec} block: ${why}.`, {
    cause,
    details: { codec },
  });
}

/** A plain view of `bytes`, of which no other kind is handed on: reading one kind of array only is faster. */
export function plainView(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}

/** Refuses a raw length that `length` compressed bytes cannot stand for, before anything is allocated. */
export function checkRatio(codec: Compression, length: number, rawLength: number, most: number): void {
  if (rawLength > MAX_RAW_BLOCK_BYTES || rawLength > length * most + 64) {
    throw badBlock(codec, `${length} bytes cannot stand for ${rawLength}`);
  }
}
