import { type BlockCodec, badBlock, checkRatio, plainView } from './block-codec.js';

/** The two ways to zstd, which read each other's frames: Node's own since 22.15 and 23.8, else a package in wasm. */
export interface ZstdFunctions {
  compress(data: Uint8Array): Uint8Array;
  /** Allocates at most `rawLength` bytes for the result. */
  decompress(data: Uint8Array, rawLength: number): Uint8Array;
}

/** The level of both ways. */
export const ZSTD_LEVEL = 3;
/** A block of 128 KiB of one byte takes four bytes. */
const MOST = 1 << 15;
/** Larger blocks stay uncompressed: the package's memory is limited, and files are to be readable both ways. */
const MAX_BYTES = 1 << 26;
/** The first four bytes of a frame, little-endian. */
export const FRAME_MAGIC = 0xfd2fb528;

/** ZSTD: one frame that says its content size. */
export class ZstdCodec implements BlockCodec {
  readonly name = 'ZSTD';

  constructor(private readonly zstd: ZstdFunctions) {}

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    if (length > MAX_BYTES) return source.subarray(offset, offset + length);
    return plainView(this.zstd.compress(source.subarray(offset, offset + length)));
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MOST);
    if (rawLength > MAX_BYTES || length > MAX_BYTES)
      throw badBlock(this.name, `${rawLength} bytes are too many`);
    const said = contentSize(source, offset, length);
    // A frame without a size is what Node's streaming compressor writes.
    if (said !== undefined && said !== rawLength)
      throw badBlock(this.name, `it says ${said} bytes instead of ${rawLength}`);
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

/** The size of the content that the frame's header says (RFC 8878, 3.1.1.1), undefined when it says none. @throws CorruptionError */
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
