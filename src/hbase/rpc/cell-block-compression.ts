import { constants, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import type { ProtoWriter } from '../wire/proto-writer.js';
import { AnswerTooLargeError, ProtocolError } from './errors.js';

/** How cell blocks are compressed, both ways. */
export type CellBlockCompression = 'gzip' | 'deflate';

interface Method {
  /** Hadoop's class for it, which the server is told of. */
  readonly codecClass: string;
  pack(bytes: Uint8Array): Buffer;
  unpack(bytes: Uint8Array, options: { readonly maxOutputLength: number }): Buffer;
}

/** Callers wait for it: the little that a higher level saves is not worth their time. */
const FAST = { level: constants.Z_BEST_SPEED };

export const COMPRESSIONS: Readonly<Record<CellBlockCompression, Method>> = {
  gzip: {
    codecClass: 'org.apache.hadoop.io.compress.GzipCodec',
    pack: (bytes) => gzipSync(bytes, FAST),
    unpack: gunzipSync,
  },
  deflate: {
    codecClass: 'org.apache.hadoop.io.compress.DefaultCodec',
    pack: (bytes) => deflateSync(bytes, FAST),
    unpack: inflateSync,
  },
};

/** Replaces what was written since `mark`. */
export function packCells(compression: CellBlockCompression, writer: ProtoWriter, mark: number): void {
  const { position } = writer;
  const packed = COMPRESSIONS[compression].pack(
    writer.buffer.subarray(position, position + writer.mark() - mark),
  );
  writer.rewind(mark);
  writer.raw(packed);
}

/**
 * The cells of a packed block.
 * @throws AnswerTooLargeError above `limit` bytes, which are never made; ProtocolError for what is not packed so.
 */
export function unpackCells(compression: CellBlockCompression, block: Buffer, limit: number): Buffer {
  try {
    return COMPRESSIONS[compression].unpack(block, { maxOutputLength: limit });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') {
      throw new ProtocolError(`A cell block is no ${compression}: ${(cause as Error).message}.`, { cause });
    }
    throw new AnswerTooLargeError(
      `A cell block of ${block.length} bytes unpacks to more than maxFrameSize (${limit}) allows. Ask for fewer columns ` +
        'or versions, scan the row with setBatch, or raise maxFrameSize.',
      { cause },
    );
  }
}
