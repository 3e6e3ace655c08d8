/** The Bloom filter of the rows of an HFile, in chunks (`CompoundBloomFilter`, one percent of false answers). */

import { ByteBuilder } from '../writable.js';
import { IndexEntries } from './index-writer.js';

const FILTER_VERSION = 3;
/** HBase's number of the hash below, its default (`hbase.hash.type`). */
const MURMUR = 1;
const HASHES = 7;
const BITS_PER_KEY = 9.6;
/** Keys of a chunk: it is no larger than 128 KiB then. */
const KEYS_PER_CHUNK = Math.floor((8 * 131072) / BITS_PER_KEY);

/** MurmurHash2 as HBase has it: the bytes behind the last four are signed. */
export function murmurHash(bytes: Uint8Array, seed: number): number {
  const m = 0x5bd1e995;
  const words = bytes.length & ~3;
  let hash = seed ^ bytes.length;
  for (let at = 0; at < words; at += 4) {
    let k = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    hash = Math.imul(hash, m) ^ Math.imul(k, m);
  }
  const left = bytes.length - words;
  if (left > 0) {
    if (left >= 3) hash ^= signed(bytes[words + 2]!) << 16;
    if (left >= 2) hash ^= signed(bytes[words + 1]!) << 8;
    hash = Math.imul(hash ^ signed(bytes[words]!), m);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, m);
  return hash ^ (hash >>> 15);
}

function signed(byte: number): number {
  return (byte << 24) >> 24;
}

/** The bits of a filter for keys of these hashes. */
function filterBits(first: Int32Array, second: Int32Array, keys: number): Buffer {
  const bits = Buffer.alloc(Math.ceil((keys * BITS_PER_KEY) / 8));
  const size = bits.length * 8;
  for (let key = 0; key < keys; key++) {
    let hash = first[key]!;
    for (let i = 0; i < HASHES; i++) {
      const bit = Math.abs(hash % size);
      bits[bit >> 3]! |= 1 << (bit & 7);
      hash = (hash + second[key]!) | 0;
    }
  }
  return bits;
}

/** Whether a filter may have a key: false is certain. */
export function mayContain(bits: Uint8Array, key: Uint8Array): boolean {
  const size = bits.length * 8;
  let hash = murmurHash(key, 0);
  const step = murmurHash(key, hash);
  for (let i = 0; i < HASHES; i++) {
    const bit = Math.abs(hash % size);
    if ((bits[bit >> 3]! & (1 << (bit & 7))) === 0) return false;
    hash = (hash + step) | 0;
  }
  return true;
}

/** Collects the rows of a file, in order and each once; `chunk` writes a block and answers where. */
export class BloomWriter {
  private readonly first = new Int32Array(KEYS_PER_CHUNK);
  private readonly second = new Int32Array(KEYS_PER_CHUNK);
  private readonly chunks = new IndexEntries();
  private firstKey: Uint8Array = new Uint8Array(0);
  private keys = 0;
  private allKeys = 0;
  private bytes = 0;
  lastKey: Uint8Array = new Uint8Array(0);

  get full(): boolean {
    return this.keys === KEYS_PER_CHUNK;
  }

  /** `row` is kept. */
  add(row: Uint8Array): void {
    if (this.keys === 0) this.firstKey = row;
    const hash = murmurHash(row, 0);
    this.first[this.keys] = hash;
    this.second[this.keys++] = murmurHash(row, hash);
    this.lastKey = row;
  }

  /** The bits of the keys since the last chunk; undefined when there are none. */
  takeChunk(): Buffer | undefined {
    if (this.keys === 0) return undefined;
    const bits = filterBits(this.first, this.second, this.keys);
    this.allKeys += this.keys;
    this.bytes += bits.length;
    this.keys = 0;
    return bits;
  }

  /** Says where the chunk that was taken stands. */
  chunkAt(offset: number, bytes: number): void {
    this.chunks.add({ key: this.firstKey, offset, bytes });
  }

  meta(): Buffer {
    const meta = new ByteBuilder()
      .int(FILTER_VERSION)
      .long(this.bytes)
      .int(HASHES)
      .int(MURMUR)
      .long(this.allKeys)
      .long(this.allKeys)
      .int(this.chunks.count)
      // Rows are compared byte by byte: no comparator.
      .vint(0);
    return meta.bytes(this.chunks.rootBytes()).copy();
  }
}
