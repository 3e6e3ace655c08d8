import { type BlockCodec, badBlock, checkRatio, plainView } from './block-codec.js';

/** The functions of the package `lz4-napi` that are used: blocks are preceded by their raw length, a little-endian u32. */
export interface Lz4Package {
  compressSync(data: Buffer): Uint8Array;
  uncompressSync(data: Uint8Array): Uint8Array;
}

const LENGTH_BYTES = 4;
/** Each byte of a match's length stands for at most 255. */
const MAX_LZ4 = 255;

/** LZ4: a raw LZ4 block. Its raw length is in the block header. */
export class Lz4Codec implements BlockCodec {
  readonly name = 'LZ4';
  private scratch = Buffer.alloc(0);

  constructor(private readonly lz4: Lz4Package) {}

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    const input = Buffer.from(source.buffer as ArrayBuffer, source.byteOffset + offset, length);
    return plainView(this.lz4.compressSync(input)).subarray(LENGTH_BYTES);
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MAX_LZ4);
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
 * The raw length of an LZ4 block: adds up the lengths of its literals and matches without decompressing it.
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

interface SnappyOptions {
  readonly copyOutputData: boolean;
}

/** The functions of the package `snappy` that are used. */
export interface SnappyPackage {
  compressSync(input: Uint8Array, options: SnappyOptions): Uint8Array;
  uncompressSync(input: Uint8Array, options: SnappyOptions): Uint8Array | string;
}

/** Results in V8's own memory: creating a buffer of the package's costs three times as much as copying it. */
const OPTIONS: SnappyOptions = { copyOutputData: true };

/** A snappy copy of 64 bytes takes three. */
const MAX_SNAPPY = 32;

/** SNAPPY: a raw snappy block, which begins with its raw length as a varint. */
export class SnappyCodec implements BlockCodec {
  readonly name = 'SNAPPY';

  constructor(private readonly snappy: SnappyPackage) {}

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return plainView(this.snappy.compressSync(source.subarray(offset, offset + length), OPTIONS));
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MAX_SNAPPY);
    // The package allocates the length that the block states, so that is checked first.
    const declared = declaredLength(source, offset, offset + length);
    if (declared !== rawLength)
      throw badBlock(this.name, `it says ${declared} bytes instead of ${rawLength}`);
    try {
      return plainView(
        this.snappy.uncompressSync(source.subarray(offset, offset + length), OPTIONS) as Uint8Array,
      );
    } catch (error) {
      throw badBlock(this.name, (error as Error).message, error);
    }
  }
}

/** The raw length that a block states, -1 when it states none. */
export function declaredLength(source: Uint8Array, offset: number, end: number): number {
  let length = 0;
  for (let i = 0; i < 5 && offset + i < end; i++) {
    const byte = source[offset + i]!;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return length;
  }
  return -1;
}

/** The two implementations of zstd, which read each other's frames: Node's own since 22.15 and 23.8, else a WebAssembly package. */
export interface ZstdFunctions {
  compress(data: Uint8Array): Uint8Array;
  /** Allocates at most `rawLength` bytes for the result. */
  decompress(data: Uint8Array, rawLength: number): Uint8Array;
}

/** The compression level of both. */
export const ZSTD_LEVEL = 3;
/** A block of 128 KiB of one byte takes four bytes. */
const MAX_ZSTD = 1 << 15;
/** Larger blocks stay uncompressed: the package's memory is limited, and both implementations must read every file. */
const MAX_BYTES = 1 << 26;
/** The first four bytes of a frame, little-endian. */
export const FRAME_MAGIC = 0xfd2fb528;

/** ZSTD: one frame that states its content size. */
export class ZstdCodec implements BlockCodec {
  readonly name = 'ZSTD';

  constructor(private readonly zstd: ZstdFunctions) {}

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    if (length > MAX_BYTES) return source.subarray(offset, offset + length);
    return plainView(this.zstd.compress(source.subarray(offset, offset + length)));
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MAX_ZSTD);
    if (rawLength > MAX_BYTES || length > MAX_BYTES)
      throw badBlock(this.name, `${rawLength} bytes are too many`);
    const declared = contentSize(source, offset, length);
    // Node's streaming compressor writes frames without a size.
    if (declared !== undefined && declared !== rawLength)
      throw badBlock(this.name, `it says ${declared} bytes instead of ${rawLength}`);
    let raw: Uint8Array;
    try {
      raw = this.zstd.decompress(source.subarray(offset, offset + length), rawLength);
    } catch (error) {
      throw badBlock(this.name, (error as Error).message, error);
    }
    if (raw.length !== rawLength)
      throw badBlock(this.name, `it has ${raw.length} bytes instead of ${rawLength}`);
    return plainView(raw);
  }
}

/** The content size in the frame's header (RFC 8878, 3.1.1.1), undefined when it has none. @throws CorruptionError */
export function contentSize(source: Uint8Array, offset: number, length: number): number | undefined {
  const view = new DataView(source.buffer, source.byteOffset + offset, length);
  if (length < 6 || view.getUint32(0, true) !== FRAME_MAGIC)
    throw badBlock('ZSTD', 'it does not begin as a frame');
  const descriptor = view.getUint8(4);
  const single = (descriptor & 0x20) !== 0;
  const sizeCode = descriptor >>> 6;
  const sizeBytes = sizeCode === 0 ? (single ? 1 : 0) : 1 << sizeCode;
  const at = 5 + (single ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!;
  if (at + sizeBytes > length) throw badBlock('ZSTD', 'it ends inside its header');
  switch (sizeBytes) {
    case 0:
      return undefined;
    case 1:
      return view.getUint8(at);
    case 2:
      return view.getUint16(at, true) + 256;
    case 4:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}
