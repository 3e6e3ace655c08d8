import { AnswerTooLargeError, ProtocolError } from '../rpc/errors.js';
import { WireType } from './proto-writer.js';

const TWO_32 = 4294967296;
const decoder = new TextDecoder();

/** The deepest nesting of messages. Filters nest most. */
const MAX_DEPTH = 64;
/** The longest string. HBase's longest are stack traces, of a few thousand characters. */
const LONGEST_TEXT = 1 << 20;
/** The default limit of objects decoded from one message. */
const DEFAULT_BUDGET = 1_000_000;

/** Reads protocol buffers in place. Every read is checked against the end of its message, so that malformed bytes give an error. */
export class ProtoReader {
  buffer: Uint8Array;
  position: number;
  end: number;
  /** Objects that may still be decoded. */
  budget = DEFAULT_BUDGET;
  private depth = 0;

  constructor(buffer: Uint8Array, position = 0, end = buffer.length) {
    this.buffer = buffer;
    this.position = position;
    this.end = end;
  }

  reset(buffer: Uint8Array, position: number, end: number, budget: number): void {
    this.buffer = buffer;
    this.budget = budget;
    this.position = position;
    this.end = end;
    this.depth = 0;
  }

  get done(): boolean {
    return this.position >= this.end;
  }

  /** A varint below 2^53. @throws ProtocolError when it is larger. */
  varint(): number {
    const buffer = this.buffer;
    const end = this.end;
    let position = this.position;
    if (position >= end) throw truncated();
    let byte = buffer[position++]!;
    if (byte < 128) {
      this.position = position;
      return byte;
    }
    let value = byte & 127;
    let factor = 128;
    for (let i = 1; i < 8; i++) {
      if (position >= end) throw truncated();
      byte = buffer[position++]!;
      value += (byte & 127) * factor;
      if (byte < 128) {
        this.position = position;
        if (value > Number.MAX_SAFE_INTEGER) throw tooLarge();
        return value;
      }
      factor *= 128;
    }
    return this.longVarint();
  }

  /** Fast path for repeated numbers: the value, if the next field is `tag` with a one-byte number; else -1. */
  nextOf(tag: number): number {
    const { buffer, position } = this;
    if (this.end - position < 2 || buffer[position] !== tag) return -1;
    const value = buffer[position + 1]!;
    if (value > 127) return -1;
    this.position = position + 2;
    return value;
  }

  /** A varint of nine or ten bytes. Its value may be small if the encoding is not canonical. */
  private longVarint(): number {
    const value = this.bigVarint();
    if (value > 9007199254740991n) throw tooLarge();
    return Number(value);
  }

  /** A varint as an unsigned 64-bit integer. */
  bigVarint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.position >= this.end) throw truncated();
      const byte = this.buffer[this.position++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new ProtocolError('A varint of the server is longer than ten bytes.');
  }

  /** A varint as a signed 32-bit integer: an int32 or an enum. */
  int32(): number {
    const start = this.position;
    const end = this.end;
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 5; i++) {
      if (this.position >= end) throw truncated();
      const byte = this.buffer[this.position++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return (value % TWO_32) | 0;
      factor *= 128;
    }
    this.position = start;
    return Number(BigInt.asIntN(32, this.bigVarint()));
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  /** A varint as a signed 64-bit integer within ±2^53. */
  signedVarint(): number {
    const value = BigInt.asIntN(64, this.bigVarint());
    if (value > 9007199254740991n || value < -9007199254740991n) throw tooLarge();
    return Number(value);
  }

  bool(): boolean {
    return this.varint() !== 0;
  }

  float(): number {
    if (this.end - this.position < 4) throw truncated();
    const view = new DataView(this.buffer.buffer, this.buffer.byteOffset + this.position, 4);
    this.position += 4;
    return view.getFloat32(0, true);
  }

  /** Reads the length of a length-delimited field and moves to its content. @returns the end of the field. */
  lengthEnd(): number {
    const length = this.varint();
    const end = this.position + length;
    if (end > this.end) {
      throw new ProtocolError(
        `A field of ${length} bytes reaches ${end - this.end} bytes over the end of its message.`,
      );
    }
    return end;
  }

  /** A view of the field's bytes. */
  bytes(): Uint8Array {
    const end = this.lengthEnd();
    const view = this.buffer.subarray(this.position, end);
    this.position = end;
    return view;
  }

  string(): string {
    const text = this.bytes();
    if (text.length > LONGEST_TEXT)
      throw new ProtocolError(`The server sent a text of ${text.length} bytes.`);
    return decoder.decode(text);
  }

  /** Counts an object before it is allocated. @throws AnswerTooLargeError when there are too many. */
  charge(): void {
    if (this.budget-- > 0) return;
    throw tooManyObjects();
  }

  /**
   * Counts the fields with the `tag` that was just read, up to the end, without moving.
   * @throws AnswerTooLargeError when they exceed the limit of objects, before the first one is allocated.
   */
  lookAhead(tag: number): void {
    const { position } = this;
    let count = 1;
    for (let next = tag; ; ) {
      this.skip(next);
      if (this.done) break;
      next = this.varint();
      if (next === tag && ++count > this.budget) throw tooManyObjects();
    }
    this.position = position;
  }

  /** Enters the nested message at the position. @returns the outer end, to be passed to {@link leave}. */
  enter(): number {
    const end = this.lengthEnd();
    const outer = this.end;
    this.end = end;
    if (this.budget-- <= 0) throw tooManyObjects();
    if (++this.depth > MAX_DEPTH) throw new ProtocolError('A message of the server is nested too deeply.');
    return outer;
  }

  /** Skips to the end of the nested message and returns to the outer one. */
  leave(outer: number): void {
    this.position = this.end;
    this.end = outer;
    this.depth--;
  }

  /** The nesting depth, for {@link resume} after an error inside a nested message. */
  get level(): number {
    return this.depth;
  }

  /** Moves to `position`, the end of a message that could not be read, in the outer message. */
  resume(position: number, outer: number, level: number): void {
    this.position = position;
    this.end = outer;
    this.depth = level;
  }

  /** Skips a field of any wire type. */
  skip(tag: number): void {
    switch (tag & 7) {
      case WireType.Varint:
        this.skipVarint();
        return;
      case WireType.Fixed64:
        this.advance(8);
        return;
      case WireType.Bytes:
        this.position = this.lengthEnd();
        return;
      case WireType.Fixed32:
        this.advance(4);
        return;
      default:
        throw new ProtocolError(`Field ${tag >>> 3} has the unknown wire type ${tag & 7}.`);
    }
  }

  private skipVarint(): void {
    for (let i = 0; i < 10; i++) {
      if (this.position >= this.end) throw truncated();
      if (this.buffer[this.position++]! < 128) return;
    }
    throw new ProtocolError('A varint of the server is longer than ten bytes.');
  }

  private advance(count: number): void {
    if (this.end - this.position < count) throw truncated();
    this.position += count;
  }
}

/** The error of an answer whose objects would take far more memory than its bytes. */
export function tooManyObjects(): AnswerTooLargeError {
  return new AnswerTooLargeError(
    'An answer has more cells or other parts than maxAnswerCells allows. Ask for fewer rows, columns or versions at ' +
      'once, scan wide rows with setBatch, or raise maxAnswerCells.',
  );
}

function truncated(): ProtocolError {
  return new ProtocolError('A message of the server ends in the middle of a field.');
}

function tooLarge(): ProtocolError {
  return new ProtocolError('A number of the server is above 2^53-1.');
}
