/**
 * LZO: one LZO1X stream, as every LZO library writes and reads it; written from the format's description in the Linux
 * kernel (`Documentation/staging/lzo.rst`), since no kept package has it.
 */

import { type BlockCodec, checkRatio } from './block-codec.js';
import { LzoCompressor } from './lzo-compressor.js';
import { decompressLzo } from './lzo-decompressor.js';

/** A byte of a match's length stands for at most 255. */
const MOST = 255;

export class LzoCodec implements BlockCodec {
  readonly name = 'LZO';
  private readonly compressor = new LzoCompressor();

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return this.compressor.compress(source, offset, length);
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MOST);
    return decompressLzo(source, offset, length, rawLength);
  }
}
