import { InvalidArgumentError, RowanError } from '../../errors.js';
import { ExceptionResponse } from '../wire/messages-rpc.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import { type ProtoWriter, utf8Name } from '../wire/proto-writer.js';
import type { Call } from './call.js';
import { type CellBlockCompression, packCells } from './connection-settings.js';
import { ProtocolError } from './errors.js';

/** Receives every frame, without its length. */
export interface FrameHandler {
  /** One whole frame, `buffer[start, end)`. */
  frame(buffer: Buffer, start: number, end: number): void;
  /** The beginning of a frame whose `length` exceeds the limit. The rest is skipped. */
  oversized(buffer: Buffer, start: number, end: number, length: number): void;
}

/** Bytes kept of a frame that is too large: they hold the call id (five bytes, a tag, five bytes). */
const HEAD_SIZE = 11;
/** Frames up to this size are allocated as soon as their length is known. */
const EAGER_SIZE = 4 << 20;
/**
 * Larger ones are allocated when this share of them has arrived; until then memory doubles as bytes arrive. What is outgrown stays
 * resident until it is collected, so the share is small; the operating system gives memory to what is filled only.
 */
const EAGER_PART = 16;
const MIN_CAPACITY = 65536;
/** The least remaining room of a frame that is read into directly. */
const MIN_SPACE = 16384;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a stream into frames: `int32 length | bytes`. Frames within one chunk are passed on without a copy; others are copied once.
 * Memory grows with the bytes received, not with the announced length, and a frame above `maxFrameSize` is skipped.
 *
 * A reader may put bytes of large frames directly into their memory ({@link space}, {@link fill}) instead of pushing chunks.
 */
export class FrameAssembler {
  /** Received bytes of the next frame's length, fewer than four. */
  private prefix: Buffer = NOTHING;
  /** Length of the frame that is being collected; 0: none. */
  private length = 0;
  /** Bytes of it that are collected before it is passed on. */
  private wanted = 0;
  private target: Buffer = NOTHING;
  private filled = 0;
  /** Bytes still to be skipped. */
  private skipping = 0;
  private begunAt = 0;

  constructor(
    private readonly maxFrameSize: number,
    private readonly handler: FrameHandler,
  ) {}

  /** When the incomplete frame began, on the clock of `performance.now()`; undefined: between frames. */
  get openSince(): number | undefined {
    return this.length > 0 || this.skipping > 0 || this.prefix.length > 0 ? this.begunAt : undefined;
  }

  /** Bytes kept of the incomplete frame. */
  get collected(): number {
    return this.length > 0 ? this.filled : 0;
  }

  /** Adds received bytes. @throws ProtocolError on an invalid length; errors of the handler. */
  push(chunk: Buffer): void {
    let at = 0;
    if (this.prefix.length > 0) {
      const joined = Buffer.concat([this.prefix, chunk]);
      this.prefix = NOTHING;
      this.push(joined);
      return;
    }
    while (at < chunk.length) {
      if (this.skipping > 0) {
        const skipped = Math.min(this.skipping, chunk.length - at);
        this.skipping -= skipped;
        at += skipped;
      } else if (this.length > 0) {
        at = this.collect(chunk, at);
      } else if (chunk.length - at < 4) {
        this.prefix = Buffer.from(chunk.subarray(at));
        this.begunAt = performance.now();
        return;
      } else {
        at = this.begin(chunk, at);
      }
    }
  }

  /** As {@link push}, of a chunk that the caller reuses: bytes of an incomplete frame are copied. */
  pushLent(chunk: Buffer): void {
    this.push(this.isBeginning(chunk) ? chunk : Buffer.from(chunk));
  }

  /**
   * The memory for the next bytes of a large frame; undefined while none is collected, for its last few bytes, and while its memory
   * still grows. Then the bytes are pushed as chunks.
   */
  space(): Buffer | undefined {
    if (this.length === 0 || this.wanted > EAGER_SIZE) return undefined;
    if (this.target.length - this.filled < MIN_SPACE) return undefined;
    return this.target.subarray(this.filled);
  }

  /** Declares the first `count` bytes of {@link space} filled. @throws errors of the handler. */
  fill(count: number): void {
    this.filled += count;
    this.handOnWhole();
  }

  /** Drops the collected bytes. */
  clear(): void {
    this.prefix = NOTHING;
    this.target = NOTHING;
    this.length = 0;
    this.filled = 0;
    this.skipping = 0;
  }

  /** Reads a length, and passes the frame on if it is complete. @returns the position after the bytes consumed. */
  private begin(chunk: Buffer, at: number): number {
    const length = chunk.readInt32BE(at);
    this.begunAt = performance.now();
    if (length < 1) throw new ProtocolError(`The server announced an answer of ${length} bytes.`);
    const start = at + 4;
    const wanted = length > this.maxFrameSize ? Math.min(length, HEAD_SIZE) : length;
    if (chunk.length - start >= wanted) {
      this.handOn(chunk, start, start + wanted, length);
      return start + wanted;
    }
    this.length = length;
    this.wanted = wanted;
    this.filled = 0;
    return start;
  }

  /** Whether `chunk` holds only the beginning of one frame that is to be kept. */
  private isBeginning(chunk: Buffer): boolean {
    if (this.length > 0 || this.skipping > 0 || this.prefix.length > 0 || chunk.length < 4) return false;
    const length = chunk.readInt32BE(0);
    return length > chunk.length - 4 && length <= this.maxFrameSize;
  }

  private collect(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.wanted - this.filled);
    this.reserve(this.filled + end - at);
    chunk.copy(this.target, this.filled, at, end);
    this.filled += end - at;
    this.handOnWhole();
    return end;
  }

  private handOnWhole(): void {
    const { target, length, filled } = this;
    if (filled < this.wanted) return;
    this.target = NOTHING;
    this.length = 0;
    this.handOn(target, 0, filled, length);
  }

  private reserve(size: number): void {
    if (size <= this.target.length) return;
    const { wanted } = this;
    const eager = wanted <= EAGER_SIZE || size >= wanted / EAGER_PART;
    const capacity = eager ? wanted : Math.min(wanted, Math.max(MIN_CAPACITY, size * 2));
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.target.copy(grown, 0, 0, this.filled);
    this.target = grown;
  }

  private handOn(buffer: Buffer, start: number, end: number, length: number): void {
    this.skipping = length - (end - start);
    if (length > this.maxFrameSize) this.handler.oversized(buffer, start, end, length);
    else this.handler.frame(buffer, start, end);
  }
}

const CALL_ID = 8;
const METHOD_NAME = 26;
const REQUEST_PARAM = 32;
const CELL_BLOCK_META = 42;
const CELL_BLOCK_LENGTH = 8;
const PRIORITY = 48;
const TIMEOUT = 56;

/**
 * Writes a request, from its end to its beginning:
 *
 *     int32 length of the rest | varint, RequestHeader | varint, request message | cell block
 */
export function writeFrame(
  writer: ProtoWriter,
  call: Call,
  id: number,
  compression: CellBlockCompression | undefined,
): void {
  const frame = writer.mark();
  call.writeCells(writer);
  if (compression !== undefined && writer.mark() > frame) packCells(compression, writer, frame);
  const cellBlock = writer.mark() - frame;

  const param = writer.mark();
  call.writeParam(writer);
  writer.varint(writer.mark() - param);

  const header = writer.mark();
  if (call.attributes !== undefined) writer.raw(call.attributes.fields);
  writer.varintField(TIMEOUT, Math.max(1, Math.ceil(call.timeout)));
  if (call.priority !== 0) writer.varintField(PRIORITY, call.priority);
  if (cellBlock > 0) {
    const meta = writer.mark();
    writer.varintField(CELL_BLOCK_LENGTH, cellBlock);
    writer.endMessage(CELL_BLOCK_META, meta);
  }
  writer.boolField(REQUEST_PARAM, true);
  writer.bytesField(METHOD_NAME, utf8Name(call.method));
  writer.varintField(CALL_ID, id);
  writer.varint(writer.mark() - header);
  writer.int32BE(writer.mark() - frame);
}

/** The error of a request that could not be encoded. It was not sent, and would fail again. */
export function cannotBeSent(call: Call, cause: unknown): RowanError {
  if (cause instanceof RowanError && !(cause instanceof ProtocolError)) return cause;
  const why = (cause as Error)?.message ?? String(cause);
  return new InvalidArgumentError(`${call.describe()} cannot be sent: ${why}. Check its arguments.`, {
    cause,
  });
}

/** `ResponseHeader.call_id` of an answer about the connection itself: -1 as an unsigned number. */
export const CONNECTION_CALL_ID = 0xffffffff;

/** A decoded `ResponseHeader`: call id, exception, length of the cell block. */
interface ResponseHeaderFields {
  readonly id: number;
  readonly exception: ExceptionResponse | undefined;
  readonly cellLength: number;
}

/** Decodes the header at a frame's beginning. By hand, because every answer has one. */
export function readResponseHeader(reader: ProtoReader): ResponseHeaderFields {
  const outer = reader.enter();
  let id = CONNECTION_CALL_ID;
  let exception: ExceptionResponse | undefined;
  let cellLength = 0;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 8) {
      id = reader.uint32();
    } else if (tag === 18) {
      const header = reader.enter();
      exception = ExceptionResponse.read(reader);
      reader.leave(header);
    } else if (tag === 26) {
      const header = reader.enter();
      while (!reader.done) {
        const inner = reader.varint();
        if (inner === 8) cellLength = reader.varint();
        else reader.skip(inner);
      }
      reader.leave(header);
    } else {
      reader.skip(tag);
    }
  }
  reader.leave(outer);
  return { id, exception, cellLength };
}

/**
 * The call id of an answer of `length` bytes, of which `reader` has the beginning. It is the header's first field; the rest of the
 * header may be missing.
 * @throws ProtocolError when another field comes first.
 */
export function readIdOfBegun(reader: ProtoReader, length: number): number {
  reader.varint();
  if (reader.varint() !== 8) throw new ProtocolError(`The server announced an answer of ${length} bytes.`);
  return reader.uint32();
}
