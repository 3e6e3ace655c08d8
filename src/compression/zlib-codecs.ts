/** The codecs of Node.js itself: GZ is a raw deflate stream, BROTLI a brotli stream. */

import {
  type BrotliOptions,
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  inflateRawSync,
  type ZlibOptions,
} from 'node:zlib';
import { type BlockCodec, badBlock, checkRatio, plainView } from './block-codec.js';

/** Deflate's own limit is 1032; the rest is for its framing. */
const DEFLATE_MOST = 1040;
/** A brotli meta-block of 2^24 bytes takes at least a dozen bytes. */
const BROTLI_MOST = 1 << 22;
/** Brotli's default of 11 is meant for files that are compressed once: it compresses 0.5 MB/s. */
const BROTLI_QUALITY = 4;

/** zlib fills chunks of this size; a single chunk needs no copy. */
export function oneChunk(rawLength: number): number {
  return Math.max(64, Math.min(rawLength + 1, 1 << 20));
}

export class GzCodec implements BlockCodec {
  readonly name = 'GZ';

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return plainView(
      deflateRawSync(source.subarray(offset, offset + length), { level: 6, chunkSize: oneChunk(length) }),
    );
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, DEFLATE_MOST);
    return unpack(this.name, inflateRawSync, source.subarray(offset, offset + length), rawLength);
  }
}

export class BrotliCodec implements BlockCodec {
  readonly name = 'BROTLI';

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return plainView(
      brotliCompressSync(source.subarray(offset, offset + length), {
        chunkSize: oneChunk(length),
        params: {
          [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: length,
        },
      }),
    );
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, BROTLI_MOST);
    return unpack(this.name, brotliDecompressSync, source.subarray(offset, offset + length), rawLength);
  }
}

/** @throws CorruptionError when the bytes are damaged, or decompress to another length. */
function unpack(
  name: BlockCodec['name'],
  inflate: (packed: Uint8Array, options: ZlibOptions & BrotliOptions) => Uint8Array,
  packed: Uint8Array,
  rawLength: number,
): Uint8Array {
  let raw: Uint8Array;
  try {
    raw = inflate(packed, { maxOutputLength: Math.max(1, rawLength), chunkSize: oneChunk(rawLength) });
  } catch (error) {
    throw badBlock(name, (error as Error).message, error);
  }
  if (raw.length !== rawLength) throw badBlock(name, `it has ${raw.length} bytes instead of ${rawLength}`);
  return plainView(raw);
}
