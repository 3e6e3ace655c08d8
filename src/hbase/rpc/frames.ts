import { InvalidArgumentError, RowanError } from '../../errors.js';
import { ExceptionResponse } from '../wire/messages-rpc.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import { type ProtoWriter, utf8Name } from '../wire/proto-writer.js';
import type { Call } from './call.js';
import { type CellBlockCompression, packCells } from './connection-settings.js';
import { ProtocolError } from './errors.js';

/** Told of every frame, without its length. */
export interface FrameHandler {
  /** One whole frame, `buffer[start, end)`. */
  frame(buffer: Buffer, start: number, end: number): void;
  /** The beginning of a frame whose `length` is above the limit; the rest of it is passed over. */
  oversized(buffer: Buffer, start: number, end: number, length: number): void;
}

/** What is kept of a frame that is too large: where its header says whose answer it is (five bytes, a tag, five bytes). */
const HEAD_SIZE = 11;
/** Frames up to this size are given their memory when their length is known. */
const EAGER_SIZE = 4 << 20;
/** Larger ones are given it when this part of them has come; until then memory doubles with what comes. */
const EAGER_PART = 4;
const LEAST_CAPACITY = 65536;
/** Less room than this in a frame is not worth a read of its own. */
const LEAST_SPACE = 16384;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a stream into frames: `int32 length | bytes`. Frames that lie in one chunk are handed on in place; others are
 * put together once. Memory grows with the bytes that have come, never with the length that was announced, and a frame
 * above `maxFrameSize` is passed over without being kept.
 *
 * Who reads from the network can read to where bytes stay ({@link space}, {@link fill}) in place of handing over chunks.
 */
export class FrameAssembler {
  /** Bytes of the next frame's length, fewer than four. */
  private prefix: Buffer = NOTHING;
  /** Announced length of the frame that is being collected; 0: none is. */
  private length = 0;
  /** How much of it is collected before it is handed on. */
  private wanted = 0;
  private target: Buffer = NOTHING;
  private filled = 0;
  /** Bytes still to be passed over. */
  private skipping = 0;
  private begunAt = 0;

  constructor(
    private readonly maxFrameSize: number,
    private readonly handler: FrameHandler,
  ) {}

  /** When the frame began, on the clock of `performance.now()`, whose end has not come yet; undefined: between frames. */
  get openSince(): number | undefined {
    return this.length > 0 || this.skipping > 0 || this.prefix.length > 0 ? this.begunAt : undefined;
  }

  /** Bytes that are kept of a frame that is not whole. */
  get collected(): number {
    return this.length > 0 ? this.filled : 0;
  }

  /** @throws ProtocolError on an impossible length, and what the handler throws. */
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

  /** As {@link push}, of bytes that are only lent: those of a frame that goes on behind them are copied once, to where they stay. */
  pushLent(chunk: Buffer): void {
    this.push(this.isBeginning(chunk) ? chunk : Buffer.from(chunk));
  }

  /**
   * Where the next bytes of a large frame can be put; undefined while none is collected, for its last few, and for one so large that
   * its memory grows with it: chunks have the collector of garbage look after what earlier ones have left.
   */
  space(): Buffer | undefined {
    if (this.length === 0 || this.wanted > EAGER_SIZE) return undefined;
    if (this.target.length - this.filled < LEAST_SPACE) return undefined;
    return this.target.subarray(this.filled);
  }

  /** The first `count` bytes of {@link space} are there. @throws what the handler throws. */
  fill(count: number): void {
    this.filled += count;
    this.handOnWhole();
  }

  /** Forgets what has been collected. */
  clear(): void {
    this.prefix = NOTHING;
    this.target = NOTHING;
    this.length = 0;
    this.filled = 0;
    this.skipping = 0;
  }

  /** Reads a length; hands the frame on when all of it is there. Answers where it stands then. */
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

  /** Whether all of `chunk` is the beginning of one frame, which is to be kept. */
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
    const capacity = eager ? wanted : Math.min(wanted, Math.max(LEAST_CAPACITY, size * 2));
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

/** The error of a request that could not be written: no server has seen it, and it fails again. */
export function cannotBeSent(call: Call, cause: unknown): RowanError {
  if (cause instanceof RowanError && !(cause instanceof ProtocolError)) return cause;
  const why = (cause as Error)?.message ?? String(cause);
  return new InvalidArgumentError(`${call.describe()} cannot be sent: ${why}. Check its arguments.`, {
    cause,
  });
}

/** `ResponseHeader.call_id` of an answer that is about the connection: -1 as an unsigned number. */
export const CONNECTION_CALL_ID = 0xffffffff;

/** Whose answer a frame is, what failed, and the length of its cell block. */
export interface ResponseHeaderFields {
  readonly id: number;
  readonly exception: ExceptionResponse | undefined;
  readonly cellLength: number;
}

/** Reads the header that a frame begins with. By hand: every answer has one. */
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
 * The call's id of an answer of `length` bytes whose beginning `reader` stands at. It stands first in the header, the rest of which may
 * lie beyond what was kept.
 * @throws ProtocolError when it does not.
 */
export function readIdOfBegun(reader: ProtoReader, length: number): number {
  reader.varint();
  if (reader.varint() !== 8) throw new ProtocolError(`The server announced an answer of ${length} bytes.`);
  return reader.uint32();
}
