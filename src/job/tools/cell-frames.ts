/**
 * Files of cells, as `rowan export` writes them (docs/tools.md):
 *
 *     head    "ROWAN-CELLS" 00 | version (4) = 1
 *     frame   bytes of the payload (4) | crc32 of the payload (4) | payload, deflated
 *     end     00 00 00 00 | crc32 of the next 8 bytes (4) | number of rows (8)
 *
 * Numbers are big-endian. A payload inflates to rows: length varint | row | cells varint, and for each cell: length varint |
 * family | length varint | qualifier | timestamp varint | type (1) | length varint | value. FROZEN.
 */

import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { crc32, VarintReader, writeVarint } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { Cell, CellType, Result } from '../../table/index.js';

const deflate = promisify(deflateRaw) as (bytes: Uint8Array, options: { level: number }) => Promise<Buffer>;
const inflate = promisify(inflateRaw) as (
  bytes: Uint8Array,
  options: { maxOutputLength: number },
) => Promise<Buffer>;

export const HEAD = Buffer.from('ROWAN-CELLS\0\0\0\0\u0001', 'latin1');
export const FRAME_HEAD_BYTES = 8;
export const END_BYTES = 16;
/** No frame is written larger than this by much, and none far beyond it is believed. */
export const FRAME_BYTES = 1 << 20;
export const LARGEST_FRAME = 1 << 30;

const TYPES: ReadonlySet<number> = new Set(Object.values(CellType));
const VARINT_BYTES = 8;

/** Builds the payload of one frame at a time. */
export class FrameBuilder {
  private buffer = Buffer.alloc(FRAME_BYTES * 2);
  private readonly families = new Map<string, Uint8Array>();
  length = 0;

  add({ row, cells }: Result): void {
    this.bytes(row);
    this.number(cells.length);
    for (const { family, qualifier, timestamp, type, value } of cells) {
      this.bytes(this.familyBytes(family));
      this.bytes(qualifier);
      this.number(timestamp);
      this.room(1);
      this.buffer[this.length++] = type;
      this.bytes(value);
    }
  }

  /** The frame of everything added since the last one. */
  async take(): Promise<Buffer> {
    const payload = await deflate(this.buffer.subarray(0, this.length), { level: 1 });
    this.length = 0;
    const frame = Buffer.alloc(FRAME_HEAD_BYTES + payload.length);
    frame.writeUInt32BE(payload.length, 0);
    frame.writeUInt32BE(crc32(payload, 0, payload.length) >>> 0, 4);
    frame.set(payload, FRAME_HEAD_BYTES);
    return frame;
  }

  private familyBytes(family: string): Uint8Array {
    const known = this.families.get(family);
    if (known !== undefined) return known;
    const bytes = Buffer.from(family);
    this.families.set(family, bytes);
    return bytes;
  }

  private number(value: number): void {
    this.room(VARINT_BYTES);
    this.length = writeVarint(this.buffer, this.length, value);
  }

  private bytes(bytes: Uint8Array): void {
    this.number(bytes.length);
    this.room(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  private room(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.alloc(Math.max(2 * this.buffer.length, this.length + bytes));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }
}

/** What stands at the end of a file of so many rows. */
export function endOfFile(rows: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeBigUInt64BE(BigInt(rows), 8);
  end.writeUInt32BE(crc32(end, 8, 8) >>> 0, 4);
  return end;
}

/** The rows of a payload. @throws CorruptionError naming file and offset when it is not what was written. */
export async function rowsOfFrame(payload: Uint8Array, file: string, offset: number): Promise<Result[]> {
  const damaged = (why: string, cause?: unknown): CorruptionError =>
    new CorruptionError(`${file} is damaged at byte ${offset}: ${why}. Export the table again.`, {
      cause,
      details: { file, offset },
    });
  let bytes: Buffer;
  try {
    bytes = await inflate(payload, { maxOutputLength: LARGEST_FRAME });
  } catch (error) {
    throw damaged('a frame cannot be inflated', error);
  }
  const rows: Result[] = [];
  const reader = new VarintReader();
  reader.reset(bytes, 0, bytes.length);
  try {
    while (reader.position < bytes.length) rows.push(readRow(reader, bytes));
  } catch (error) {
    throw damaged((error as Error).message, error);
  }
  return rows;
}

function readRow(reader: VarintReader, bytes: Buffer): Result {
  const take = (): Buffer => {
    const length = reader.read();
    const start = reader.position;
    if (length > bytes.length - start) throw new CorruptionError('a length reaches beyond its frame');
    reader.position = start + length;
    return bytes.subarray(start, start + length);
  };
  const row = take();
  const count = reader.read();
  // Each cell has five bytes at the least.
  if (count > (bytes.length - reader.position) / 5) {
    throw new CorruptionError('a row has more cells than its frame has room for');
  }
  const cells: Cell[] = [];
  for (let i = 0; i < count; i++) {
    const family = take().toString();
    const qualifier = take();
    const timestamp = reader.read();
    const type = bytes[reader.position++];
    if (type === undefined || !TYPES.has(type)) throw new CorruptionError(`${type} is no type of a cell`);
    cells.push(new Cell(row, family, qualifier, timestamp, type as CellType, take()));
  }
  return new Result(row, cells);
}
