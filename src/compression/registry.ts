// — The codecs by name and code. Optional packages are loaded once, when a store is opened, so that a missing package is reported before
// the first block is read.

import * as zlib from 'node:zlib';
import {
  type BrotliOptions,
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  inflateRawSync,
  type ZlibOptions,
} from 'node:zlib';
import { UnsupportedError } from '../errors.js';
import { COMPRESSIONS, type Compression } from '../table/index.js';
import { type BlockCodec, badBlock, CODEC_IDS, checkRatio, plainView } from './block-codec.js';
import { LzoCodec } from './lzo-codec.js';
import {
  Lz4Codec,
  type Lz4Package,
  SnappyCodec,
  type SnappyPackage,
  ZSTD_LEVEL,
  ZstdCodec,
  type ZstdFunctions,
} from './packaged-codecs.js';

const prepared = new Map<Compression, BlockCodec>();

/**
 * Loads codecs for use in this thread; NONE needs nothing. A second call costs nothing.
 * @throws UnsupportedError naming the package to install when a codec's package is missing.
 */
export async function prepareCodecs(names: Iterable<Compression>): Promise<void> {
  for (const name of names) {
    if (name !== 'NONE' && !prepared.has(name)) prepared.set(name, await loadCodec(name));
  }
}

/**
 * Loads every codec whose package is installed: files keep the codec they were written with when their family's codec changes.
 */
export async function prepareInstalledCodecs(): Promise<void> {
  for (const name of COMPRESSIONS) {
    try {
      await prepareCodecs([name]);
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
    }
  }
}

/**
 * A loaded codec; undefined for NONE.
 * @throws UnsupportedError when `prepareCodecs` was not called for it.
 */
export function preparedCodec(name: Compression): BlockCodec | undefined {
  if (name === 'NONE') return undefined;
  const codec = prepared.get(name);
  if (codec) return codec;
  throw new UnsupportedError(
    `The codec ${name} is not loaded. Open the store with a table whose families name it, or call prepareCodecs.`,
    { details: { codec: name } },
  );
}

/** The codec of a code in a block header; undefined when there is none. */
export function compressionOfId(id: number): Compression | undefined {
  return COMPRESSIONS.find((name) => CODEC_IDS[name] === id);
}

async function loadCodec(name: Exclude<Compression, 'NONE'>): Promise<BlockCodec> {
  switch (name) {
    case 'GZ':
      return new GzCodec();
    case 'BROTLI':
      return new BrotliCodec();
    case 'LZO':
      return new LzoCodec();
    case 'SNAPPY':
      return new SnappyCodec(await load<SnappyPackage>(name, 'snappy', () => import('snappy')));
    case 'LZ4':
      return new Lz4Codec(await load<Lz4Package>(name, 'lz4-napi', () => import('lz4-napi')));
    case 'ZSTD':
      return new ZstdCodec(nativeZstd() ?? (await wasmZstd()));
  }
}

/** Imports a package. The exports of a CommonJS package are in `default`. */
async function load<Package>(
  codec: Compression,
  name: string,
  importPackage: () => Promise<unknown>,
): Promise<Package> {
  try {
    const module = (await importPackage()) as { default?: Package };
    return module.default ?? (module as Package);
  } catch (cause) {
    throw new UnsupportedError(
      `The codec ${codec} needs the package "${name}", which could not be loaded. Install it (npm install ${name}), or choose another compression for the family.`,
      { cause, details: { codec, package: name } },
    );
  }
}

interface NodeZstd {
  zstdCompressSync?(data: Uint8Array, options: object): Uint8Array;
  zstdDecompressSync?(data: Uint8Array, options: object): Uint8Array;
}

/** Node's own zstd, undefined where it has none. */
export function nativeZstd(): ZstdFunctions | undefined {
  const { zstdCompressSync, zstdDecompressSync } = zlib as NodeZstd;
  if (!zstdCompressSync || !zstdDecompressSync) return undefined;
  // ZSTD_c_compressionLevel of zstd.h.
  const params = { 100: ZSTD_LEVEL };
  return {
    compress: (data) =>
      zstdCompressSync(data, { params, pledgedSrcSize: data.length, chunkSize: oneChunk(data.length) }),
    decompress: (data, rawLength) =>
      zstdDecompressSync(data, {
        maxOutputLength: Math.max(1, rawLength),
        chunkSize: oneChunk(rawLength),
      }),
  };
}

interface ZstdPackage {
  init(): Promise<void>;
  compress(data: Uint8Array, level: number): Uint8Array;
  decompress(data: Uint8Array, options: { defaultHeapSize: number }): Uint8Array;
}

/** The key under which all copies of this module in a process share the package. */
const WASM = Symbol.for('rowan-orm.zstd-wasm');

/**
 * The WebAssembly zstd, for Node 20. Loaded once in a process, by the first copy of this module: a second `init` of the package would mix
 * up its memories.
 */
export function wasmZstd(): Promise<ZstdFunctions> {
  const shared = globalThis as { [WASM]?: Promise<ZstdFunctions> };
  shared[WASM] ??= loadWasmZstd().catch((error: unknown) => {
    delete shared[WASM];
    throw error;
  });
  return shared[WASM];
}

async function loadWasmZstd(): Promise<ZstdFunctions> {
  const zstd = await load<ZstdPackage>('ZSTD', '@bokuweb/zstd-wasm', () => import('@bokuweb/zstd-wasm'));
  await zstd.init();
  return {
    compress: (data) => zstd.compress(data, ZSTD_LEVEL),
    decompress: (data, rawLength) => zstd.decompress(data, { defaultHeapSize: rawLength }),
  };
}

// — The codecs of Node.js itself: GZ is a raw deflate stream, BROTLI a brotli stream.

/** Deflate's own limit is 1032; the rest is for its framing. */
const MAX_DEFLATE_RATIO = 1040;
/** A brotli meta-block of 2^24 bytes takes at least a dozen bytes. */
const MAX_BROTLI_RATIO = 1 << 22;
/** Brotli's default of 11 is meant for files that are compressed once: it compresses 0.5 MB/s. */
const BROTLI_QUALITY = 4;

/** zlib fills chunks of this size; a single chunk needs no copy. */
function oneChunk(rawLength: number): number {
  return Math.max(64, Math.min(rawLength + 1, 1 << 20));
}

class GzCodec implements BlockCodec {
  readonly name = 'GZ';

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return plainView(
      deflateRawSync(source.subarray(offset, offset + length), { level: 6, chunkSize: oneChunk(length) }),
    );
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MAX_DEFLATE_RATIO);
    return unpack(this.name, inflateRawSync, source.subarray(offset, offset + length), rawLength);
  }
}

class BrotliCodec implements BlockCodec {
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
    checkRatio(this.name, length, rawLength, MAX_BROTLI_RATIO);
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
