import { badBlock } from './block-codec.js';

/** Where a stream is read and written; one for all streams, for it is used up at once. */
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

  /** A length of which `bits` is what its instruction says: 0 means that it goes on in bytes, on top of `most`. */
  length(bits: number, most: number): number {
    if (bits !== 0) return bits;
    let length = most;
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
 * The bytes of an LZO1X stream.
 * @throws CorruptionError when it is not one of exactly `rawLength` bytes.
 */
export function decompressLzo(
  source: Uint8Array,
  offset: number,
  length: number,
  rawLength: number,
): Uint8Array {
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

/** `state`: how many literals the last instruction copied, 4 for a run of its own. Instructions below 16 depend on it. */
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
