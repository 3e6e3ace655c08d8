/** The interface of codecs that compress the blocks of sorted files. */

import { CorruptionError } from '../errors.js';
import type { Compression } from '../table/index.js';

/** The codes in block headers: FROZEN. */
export const CODEC_IDS: Readonly<Record<Compression, number>> = {
  NONE: 0,
  GZ: 1,
  SNAPPY: 2,
  LZ4: 3,
  ZSTD: 4,
  BROTLI: 5,
  LZO: 6,
};

/** The most bytes of a block before compression: limits what a damaged file can make us allocate. */
export const MAX_RAW_BLOCK_BYTES = 0x3fffffff;

export interface BlockCodec {
  readonly name: Compression;
  /** Compresses `length` bytes of `source` from `offset`. The result is only used if it is shorter. */
  compress(source: Uint8Array, offset: number, length: number): Uint8Array;
  /**
   * Decompresses `length` bytes of `source` from `offset` to `rawLength` bytes. Safe for hostile input: never reads or writes out of
   * bounds, never allocates more than `rawLength` and a constant.
   * @throws CorruptionError when the bytes are not the compressed form of exactly `rawLength` bytes.
   */
  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array;
}

/** The error for bytes that cannot be decompressed. Callers that know the file add its name. */
export function badBlock(codec: Compression, why: string, cause?: unknown): CorruptionError {
  return new CorruptionError(`The bytes are not a valid ${codec} block: ${why}.`, {
    cause,
    details: { codec },
  });
}

/** A Uint8Array view of `bytes`: code that reads a single kind of array is faster. */
export function plainView(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}

/** Refuses a raw length that `length` compressed bytes cannot have, before anything is allocated. */
export function checkRatio(codec: Compression, length: number, rawLength: number, maxRatio: number): void {
  if (rawLength > MAX_RAW_BLOCK_BYTES || rawLength > length * maxRatio + 64) {
    throw badBlock(codec, `${length} bytes cannot decompress to ${rawLength}`);
  }
}
