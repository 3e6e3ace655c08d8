import { type BlockCodec, badBlock, checkRatio, plainView } from './block-codec.js';

/** What is used of the package `lz4-napi`: blocks with their raw length, a little-endian u32, in front. */
export interface Lz4Package {
  compressSync(data: Buffer): Uint8Array;
  uncompressSync(data: Uint8Array): Uint8Array;
}

const LENGTH_BYTES = 4;
/** A byte of a match's length stands for at most 255. */
const MOST = 255;

/** LZ4: a raw LZ4 block. The block header has its raw length. */
export class Lz4Codec implements BlockCodec {
  readonly name = 'LZ4';
  private scratch = Buffer.alloc(0);

  constructor(private readonly lz4: Lz4Package) {}

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    const input = Buffer.from(source.buffer as ArrayBuffer, source.byteOffset + offset, length);
    return plainView(this.lz4.compressSync(input)).subarray(LENGTH_BYTES);
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MOST);
    const input = this.withLength(source, offset, length, rawLength);
    let raw: Uint8Array;
    try {
      raw = this.lz4.uncompressSync(input);
    } catch (error) {
      throw badBlock(this.name, (error as Error).message, error);
    }
    if (raw.length !== rawLength)
      throw badBlock(this.name, `it has ${raw.length} bytes instead of ${rawLength}`);
    return plainView(raw);
  }

  private withLength(source: Uint8Array, offset: number, length: number, rawLength: number): Buffer {
    if (this.scratch.length < length + LENGTH_BYTES)
      this.scratch = Buffer.allocUnsafeSlow((length + LENGTH_BYTES) * 2);
    const input = this.scratch;
    input.writeUInt32LE(rawLength, 0);
    input.set(source.subarray(offset, offset + length), LENGTH_BYTES);
    return input.subarray(0, length + LENGTH_BYTES);
  }
}

/**
 * What a raw LZ4 block unpacks to: the lengths of its literals and matches are added up, nothing is unpacked.
 * @throws CorruptionError when it ends within a sequence.
 */
export function lz4Length(source: Uint8Array): number {
  let raw = 0;
  let at = 0;
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    for (;;) {
      if (at >= source.length) throw badBlock('LZ4', 'it ends within a length');
      const byte = source[at++]!;
      length += byte;
      if (byte < 255) return length;
    }
  };
  while (at < source.length) {
    const token = source[at++]!;
    const literals = lengthOf(token >>> 4);
    raw += literals;
    at += literals;
    // The last sequence has literals only.
    if (at >= source.length) break;
    at += 2;
    raw += lengthOf(token & 15) + 4;
  }
  if (at > source.length) throw badBlock('LZ4', 'it ends within a sequence');
  return raw;
}
