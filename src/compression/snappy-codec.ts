import { type BlockCodec, badBlock, checkRatio, plainView } from './block-codec.js';

interface SnappyOptions {
  readonly copyOutputData: boolean;
}

/** What is used of the package `snappy`. */
export interface SnappyPackage {
  compressSync(input: Uint8Array, options: SnappyOptions): Uint8Array;
  uncompressSync(input: Uint8Array, options: SnappyOptions): Uint8Array | string;
}

/** Results in memory of V8's own: a buffer of the package's costs three times as much to make as to copy. */
const OPTIONS: SnappyOptions = { copyOutputData: true };

/** A snappy copy of 64 bytes takes three. */
const MOST = 32;

/** SNAPPY: a raw snappy block, which begins with its raw length as a varint. */
export class SnappyCodec implements BlockCodec {
  readonly name = 'SNAPPY';

  constructor(private readonly snappy: SnappyPackage) {}

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return plainView(this.snappy.compressSync(source.subarray(offset, offset + length), OPTIONS));
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MOST);
    // The package allocates what the block says of itself, so that is read first.
    const said = saidLength(source, offset, offset + length);
    if (said !== rawLength) throw badBlock(this.name, `it says ${said} bytes instead of ${rawLength}`);
    try {
      return plainView(
        this.snappy.uncompressSync(source.subarray(offset, offset + length), OPTIONS) as Uint8Array,
      );
    } catch (error) {
      throw badBlock(this.name, (error as Error).message, error);
    }
  }
}

/** What a block says that it unpacks to, -1 when it says nothing. */
export function saidLength(source: Uint8Array, offset: number, end: number): number {
  let length = 0;
  for (let i = 0; i < 5 && offset + i < end; i++) {
    const byte = source[offset + i]!;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return length;
  }
  return -1;
}
