import { equalBytes } from '../../bytes/index.js';

/** Wire types of protocol buffers. */
export const WireType = { Varint: 0, Fixed64: 1, Bytes: 2, Fixed32: 5 } as const;

const encoder = new TextEncoder();

/**
 * Writes protocol buffers from the end to the beginning, so that the length of a nested message is known when it is written: one pass,
 * canonical lengths, no copies. Fields are therefore written from the last to the first.
 *
 * The bytes written so far are `buffer[position, buffer.length)`. A {@link ProtoWriter.mark} counts from the end and
 * stays valid when the buffer grows.
 */
export class ProtoWriter {
  buffer: Buffer;
  position: number;

  constructor(capacity = 16384) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
    this.position = capacity;
  }

  /** Bytes written. */
  get length(): number {
    return this.buffer.length - this.position;
  }

  /** The present position, for {@link endMessage} or {@link rewind}. */
  mark(): number {
    return this.buffer.length - this.position;
  }

  /** Drops the bytes written since `mark`. */
  rewind(mark: number): void {
    this.position = this.buffer.length - mark;
  }

  /** A view of the written bytes. */
  view(): Buffer {
    return this.buffer.subarray(this.position);
  }

  /** Drops the written bytes and continues in `buffer`. */
  reset(buffer: Buffer = this.buffer): void {
    this.buffer = buffer;
    this.position = buffer.length;
  }

  reserve(size: number): void {
    if (this.position >= size) return;
    const written = this.buffer.length - this.position;
    let capacity = this.buffer.length * 2;
    while (capacity - written < size) capacity *= 2;
    const grown = Buffer.allocUnsafeSlow(capacity);
    grown.set(this.buffer.subarray(this.position), capacity - written);
    this.buffer = grown;
    this.position = capacity - written;
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[--this.position] = value;
  }

  /** Bytes without tag or length. */
  raw(bytes: Uint8Array): void {
    const length = bytes.length;
    this.reserve(length);
    const start = this.position - length;
    if (length < 24) {
      const buffer = this.buffer;
      for (let i = 0; i < length; i++) buffer[start + i] = bytes[i]!;
    } else {
      this.buffer.set(bytes, start);
    }
    this.position = start;
  }

  int32BE(value: number): void {
    this.reserve(4);
    const buffer = this.buffer;
    let position = this.position;
    buffer[--position] = value;
    buffer[--position] = value >>> 8;
    buffer[--position] = value >>> 16;
    buffer[--position] = value >>> 24;
    this.position = position;
  }

  /** A non-negative integer up to 2^53-1. */
  varint(value: number): void {
    this.reserve(8);
    if (value < 128) {
      this.buffer[--this.position] = value;
      return;
    }
    let size = 2;
    for (let rest = Math.floor(value / 16384); rest > 0; rest = Math.floor(rest / 128)) size++;
    let position = this.position - size;
    this.position = position;
    const buffer = this.buffer;
    let rest = value;
    while (rest >= 128) {
      buffer[position++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    buffer[position] = rest;
  }

  /** The low 64 bits of `value`, as an unsigned varint. */
  bigVarint(value: bigint): void {
    this.reserve(10);
    let rest = BigInt.asUintN(64, value);
    const bytes: number[] = [];
    while (rest >= 128n) {
      bytes.push(Number(rest & 127n) | 128);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    this.raw(Uint8Array.from(bytes));
  }

  /** An int32 or enum. Negative values take ten bytes, as protocol buffers define. */
  signedVarint(value: number): void {
    if (value >= 0) this.varint(value);
    else this.bigVarint(BigInt(value));
  }

  /** Completes the nested message written since `mark` with its length and tag. */
  endMessage(tag: number, mark: number): void {
    this.varint(this.buffer.length - this.position - mark);
    this.varint(tag);
  }

  bytesField(tag: number, bytes: Uint8Array): void {
    this.raw(bytes);
    this.varint(bytes.length);
    this.varint(tag);
  }

  varintField(tag: number, value: number): void {
    this.varint(value);
    this.varint(tag);
  }

  boolField(tag: number, value: boolean): void {
    this.byte(value ? 1 : 0);
    this.varint(tag);
  }
}

/** The tag of a field: its number and wire type. */
export function tagOf(field: number, wireType: number): number {
  return field * 8 + wireType;
}

const utf8Cache = new Map<string, Uint8Array>();
const UTF8_CACHE_LIMIT = 4096;

/** UTF-8 of recurring names, such as families and methods, cached. */
export function utf8Name(text: string): Uint8Array {
  const known = utf8Cache.get(text);
  if (known !== undefined) return known;
  const bytes = encoder.encode(text);
  if (utf8Cache.size >= UTF8_CACHE_LIMIT) utf8Cache.clear();
  utf8Cache.set(text, bytes);
  return bytes;
}

const decoder = new TextDecoder();
let lastBytes: Uint8Array = new Uint8Array(0);
let lastText = '';

/** Decodes a name. The last one is cached, because names come in runs. */
export function nameFromUtf8(bytes: Uint8Array): string {
  if (equalBytes(bytes, lastBytes)) return lastText;
  lastText = decoder.decode(bytes);
  lastBytes = Uint8Array.from(bytes);
  return lastText;
}
