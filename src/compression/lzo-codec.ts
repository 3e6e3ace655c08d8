import { type BlockCodec, badBlock, checkRatio } from './block-codec.js';

// — Compresses to LZO1X streams, greedily like LZO1X-1: one hash table look-up at each position.

const HASH_BITS = 14;
const MIN_MATCH = 4;
/** The greatest distances of the three forms of a match. */
const M2_DISTANCE = 0x800;
const M3_DISTANCE = 0x4000;
const M4_DISTANCE = 0xbfff;
const M2_LENGTH = 8;
const M3_LENGTH = 33;
const M4_LENGTH = 9;
const M3_MARKER = 32;
const M4_MARKER = 16;
/** Positions tried without a match before the steps become longer: 2^6. */
const SKIP_BITS = 6;

/** Reused from block to block. */
class LzoCompressor {
  /** The last position of each hash, from the start of the source. */
  private readonly table = new Int32Array(1 << HASH_BITS);
  private output = new Uint8Array(0);
  private at = 0;

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    // Incompressible input grows by a byte for every 255, and by the start and end of a stream.
    this.output = new Uint8Array(length + Math.ceil(length / 255) + 24);
    this.at = 0;
    const end = offset + length;
    const literals = this.matches(source, offset, end);
    if (literals < end) this.literals(source, literals, end - literals);
    this.output[this.at++] = M4_MARKER | 1;
    this.output[this.at++] = 0;
    this.output[this.at++] = 0;
    return this.output.subarray(0, this.at);
  }

  /** Writes everything up to the end of the last match, and returns that position. */
  private matches(source: Uint8Array, start: number, end: number): number {
    const table = this.table;
    table.fill(-1);
    const last = end - MIN_MATCH;
    let literals = start;
    let position = start + 1;
    let misses = 0;
    if (start <= last) table[hash(source, start)] = start;
    while (position <= last) {
      const slot = hash(source, position);
      const candidate = table[slot]!;
      table[slot] = position;
      if (
        candidate < 0 ||
        position - candidate > M4_DISTANCE ||
        source[candidate] !== source[position] ||
        source[candidate + 1] !== source[position + 1] ||
        source[candidate + 2] !== source[position + 2] ||
        source[candidate + 3] !== source[position + 3]
      ) {
        position += 1 + (misses++ >>> SKIP_BITS);
        continue;
      }
      misses = 0;
      let matchEnd = position + MIN_MATCH;
      let from = candidate + MIN_MATCH;
      while (matchEnd < end && source[matchEnd] === source[from]) {
        matchEnd++;
        from++;
      }
      if (position > literals) this.literals(source, literals, position - literals);
      this.match(matchEnd - position, position - candidate);
      position = matchEnd;
      literals = matchEnd;
    }
    return literals;
  }

  private literals(source: Uint8Array, from: number, count: number): void {
    const output = this.output;
    if (this.at === 0 && count <= 238) {
      output[this.at++] = 17 + count;
    } else if (count <= 3) {
      // The two low bits of a match's last but one byte are the number of literals that follow it.
      output[this.at - 2] = output[this.at - 2]! | count;
    } else if (count <= 18) {
      output[this.at++] = count - 3;
    } else {
      output[this.at++] = 0;
      this.lengthBytes(count - 18);
    }
    if (count < 16) for (let i = 0; i < count; i++) output[this.at + i] = source[from + i]!;
    else output.set(source.subarray(from, from + count), this.at);
    this.at += count;
  }

  private match(length: number, distance: number): void {
    const output = this.output;
    if (length <= M2_LENGTH && distance <= M2_DISTANCE) {
      const back = distance - 1;
      output[this.at++] = ((length - 1) << 5) | ((back & 7) << 2);
      output[this.at++] = back >>> 3;
      return;
    }
    let back: number;
    if (distance <= M3_DISTANCE) {
      back = distance - 1;
      this.markerAndLength(M3_MARKER, length, M3_LENGTH);
    } else {
      back = distance - M3_DISTANCE;
      this.markerAndLength(M4_MARKER | ((back >>> 11) & 8), length, M4_LENGTH);
    }
    output[this.at++] = (back << 2) & 0xff;
    output[this.at++] = (back >>> 6) & 0xff;
  }

  private markerAndLength(marker: number, length: number, max: number): void {
    if (length <= max) {
      this.output[this.at++] = marker | (length - 2);
    } else {
      this.output[this.at++] = marker;
      this.lengthBytes(length - max);
    }
  }

  /** A length of at least 1: a zero byte for every 255, then the rest, which is not zero. */
  private lengthBytes(length: number): void {
    let rest = length;
    while (rest > 255) {
      this.output[this.at++] = 0;
      rest -= 255;
    }
    this.output[this.at++] = rest;
  }
}

function hash(source: Uint8Array, at: number): number {
  const word = source[at]! | (source[at + 1]! << 8) | (source[at + 2]! << 16) | (source[at + 3]! << 24);
  return Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS);
}

/** The state of decoding a stream; one object for all, because decoding is synchronous. */
class LzoStream {
  source: Uint8Array = new Uint8Array(0);
  at = 0;
  end = 0;
  output: Uint8Array = new Uint8Array(0);
  out = 0;

  /** The next byte of the source. */
  byte(): number {
    if (this.at >= this.end) throw badBlock('LZO', 'it ends too early');
    return this.source[this.at++]!;
  }

  /** A length whose instruction has `bits`: 0 means that it continues in further bytes, on top of `most`. */
  length(bits: number, max: number): number {
    if (bits !== 0) return bits;
    let length = max;
    let byte = this.byte();
    while (byte === 0) {
      length += 255;
      byte = this.byte();
    }
    return length + byte;
  }

  literals(count: number): void {
    const { source, at, output, out } = this;
    if (at + count > this.end) throw badBlock('LZO', 'it ends inside its literals');
    if (out + count > output.length) throw badBlock('LZO', 'it is longer than it should be');
    if (count < 16) for (let i = 0; i < count; i++) output[out + i] = source[at + i]!;
    else output.set(source.subarray(at, at + count), out);
    this.at = at + count;
    this.out = out + count;
  }

  match(length: number, distance: number): void {
    const { output, out } = this;
    const from = out - distance;
    if (from < 0) throw badBlock('LZO', 'it points before its start');
    if (out + length > output.length) throw badBlock('LZO', 'it is longer than it should be');
    if (length >= 32 && distance >= length) output.copyWithin(out, from, from + length);
    else for (let i = 0; i < length; i++) output[out + i] = output[from + i]!;
    this.out = out + length;
  }
}

const stream = new LzoStream();

/**
 * Decompresses an LZO1X stream.
 * @throws CorruptionError when it is not a stream of exactly `rawLength` bytes.
 */
function decompressLzo(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
  const output = new Uint8Array(rawLength);
  stream.source = source;
  stream.at = offset;
  stream.end = offset + length;
  stream.output = output;
  stream.out = 0;
  instructions();
  stream.source = new Uint8Array(0);
  stream.output = stream.source;
  if (stream.at !== stream.end) throw badBlock('LZO', 'bytes follow its end');
  if (stream.out !== rawLength) throw badBlock('LZO', `it has ${stream.out} bytes instead of ${rawLength}`);
  return output;
}

/** `state`: the number of literals that the last instruction copied, 4 for a longer run. Instructions below 16 depend on it. */
function instructions(): void {
  let state = 0;
  if (stream.at < stream.end && stream.source[stream.at]! > 17) {
    const count = stream.byte() - 17;
    stream.literals(count);
    state = count < 4 ? count : 4;
  }
  for (;;) {
    const code = stream.byte();
    if (code < 16 && state === 0) {
      stream.literals(stream.length(code, 15) + 3);
      state = 4;
      continue;
    }
    let trailing: number;
    if (code >= 64) {
      const distance = (stream.byte() << 3) + ((code >>> 2) & 7) + 1;
      stream.match((code >>> 5) + 1, distance);
      trailing = code & 3;
    } else if (code >= 32) {
      const count = stream.length(code & 31, 31) + 2;
      const low = stream.byte();
      stream.match(count, ((stream.byte() << 6) | (low >>> 2)) + 1);
      trailing = low & 3;
    } else if (code >= 16) {
      const count = stream.length(code & 7, 7) + 2;
      const low = stream.byte();
      const distance = ((code & 8) << 11) + ((stream.byte() << 6) | (low >>> 2));
      if (distance === 0) return;
      stream.match(count, distance + 0x4000);
      trailing = low & 3;
    } else {
      const back = (stream.byte() << 2) + (code >>> 2);
      if (state === 4) stream.match(3, back + 0x801);
      else stream.match(2, back + 1);
      trailing = code & 3;
    }
    if (trailing > 0) stream.literals(trailing);
    state = trailing;
  }
}

/** Each byte of a match's length stands for at most 255. */
const MAX_LENGTH_BYTE = 255;

/**
 * LZO: one LZO1X stream, compatible with every LZO library. Written from the description of the format in the Linux kernel
 * (`Documentation/staging/lzo.rst`), because no maintained package implements it.
 */
export class LzoCodec implements BlockCodec {
  readonly name = 'LZO';
  private readonly compressor = new LzoCompressor();

  compress(source: Uint8Array, offset: number, length: number): Uint8Array {
    return this.compressor.compress(source, offset, length);
  }

  decompress(source: Uint8Array, offset: number, length: number, rawLength: number): Uint8Array {
    checkRatio(this.name, length, rawLength, MAX_LENGTH_BYTE);
    return decompressLzo(source, offset, length, rawLength);
  }
}
