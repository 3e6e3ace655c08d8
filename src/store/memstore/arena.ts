import { RowanError } from '../../errors.js';

/** Log2 of the largest regular chunk: 1 MiB. A cell that does not fit gets a chunk of its own. */
export const CHUNK_BITS = 20;
export const CHUNK_BYTES: number = 1 << CHUNK_BITS;

/** One chunk under its views. */
export class Chunk {
  readonly bytes: Uint8Array;
  readonly ints: Int32Array;
  readonly doubles: Float64Array;
  readonly view: DataView;

  constructor(readonly buffer: SharedArrayBuffer) {
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
    this.ints = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }
}

/**
 * Chunks that nobody reads any more, kept for the memstores to come. Shared memory is given back only when every thread
 * that has ever seen it has collected its garbage, and a worker that mostly waits does so seldom.
 */
export class ChunkPool {
  private readonly free: Chunk[] = [];

  /** `limit`: bytes kept at most. */
  constructor(private readonly limit: number) {}

  take(): Chunk {
    return this.free.pop() ?? new Chunk(new SharedArrayBuffer(CHUNK_BYTES));
  }

  /** Keeps the chunks of regular size among these, as many as there is room for. */
  giveBack(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.bytes.length !== CHUNK_BYTES) continue;
      if ((this.free.length + 1) * CHUNK_BYTES > this.limit) return;
      this.free.push(chunk);
    }
  }
}

/**
 * Where a memstore keeps its cells: chunks of shared memory that only grow, so that a worker thread can read a frozen
 * memstore without a copy.
 *
 * A cell begins at a multiple of 8:
 *
 *     0   timestamp     float64
 *     8   seq           float64
 *     16  qualifier length  int32
 *     20  value length      int32
 *     24  row length        uint16
 *     26  type              uint8
 *     27  flags             uint8: 1 = a time to live follows; 2 = the next cell is of the same row, and comes behind this
 *     28  row, qualifier, value, then, at the next multiple of 8, the time to live as float64
 */

const OFFSET_MASK = CHUNK_BYTES - 1;
/** The first chunk of a memstore, so that a hundred idle families do not take a hundred mebibytes. */
const FIRST_CHUNK_BYTES = 1 << 14;
export const CELL_HEADER_BYTES = 28;
/** As many as places can name. */
const MAX_CHUNKS = 2 ** (32 - CHUNK_BITS);
/** A memstore that has more takes no further write: one write alone cannot fill the rest. */
const CROWDED_CHUNKS = MAX_CHUNKS / 4;
export const FLAG_TTL = 1;
export const FLAG_GOES_ON = 2;
/** Above this a view of the bytes costs less than a loop; measured on Node 20. */
const MOST_BY_WORDS = 160;

/** A cell's place: chunk number << 20 | offset in the chunk. Below 2^32, kept in Uint32Arrays. */
export type CellRef = number;

/** A cell as it stands in other bytes. */
export interface CellBytes {
  readonly timestamp: number;
  readonly type: number;
  /** 0 is none. */
  readonly ttl: number;
  readonly bytes: Uint8Array;
  /** The same bytes. */
  readonly view: DataView;
  readonly rowOffset: number;
  readonly rowLength: number;
  readonly qualifierOffset: number;
  readonly qualifierLength: number;
  readonly valueOffset: number;
  readonly valueLength: number;
}

/** Grows by cells; nothing is moved. Not shared for writing: one thread writes, others read when frozen. */
export class CellArena {
  readonly chunks: Chunk[] = [];
  private used = 0;
  /** Bytes in use in all chunks but the last. */
  private full = 0;
  /** Where the last cell begins in the last chunk; -1 when there is none. */
  private last = -1;
  private capacity = 0;

  constructor(private readonly pool: ChunkPool) {}

  /** Bytes that its cells have taken, those that nothing points to any more included. */
  get bytes(): number {
    return this.full + this.used;
  }

  /** A view of chunks that another thread made. */
  static of(buffers: readonly SharedArrayBuffer[]): CellArena {
    const arena = new CellArena(new ChunkPool(0));
    for (const buffer of buffers) arena.chunks.push(new Chunk(buffer));
    return arena;
  }

  /** Writes a cell and gives its place. `ttl` 0 is none; `sameRow`: the last cell is of this row, too. */
  write(
    row: Uint8Array,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    seq: number,
    ttl: number,
    value: Uint8Array,
    sameRow: boolean,
  ): CellRef {
    const rowLength = row.length;
    const qualifierLength = qualifier.length;
    const valueLength = value.length;
    const offset = this.begin(rowLength, qualifierLength, valueLength, timestamp, type, seq, ttl);
    const chunkNumber = this.chunks.length - 1;
    const { bytes, ints } = this.chunks[chunkNumber]!;
    let at = offset + CELL_HEADER_BYTES;
    if (sameRow && this.last >= 0) putAgain(ints, this.last + CELL_HEADER_BYTES, at, rowLength);
    else put(bytes, at, row, rowLength);
    this.last = offset;
    at += rowLength;
    put(bytes, at, qualifier, qualifierLength);
    put(bytes, at + qualifierLength, value, valueLength);
    return chunkNumber * CHUNK_BYTES + offset;
  }

  /** As `write`, for a cell that stands in other bytes; no view of them is made. */
  copy(cell: CellBytes, seq: number, sameRow: boolean): CellRef {
    const { rowLength, qualifierLength, valueLength, timestamp, type, ttl } = cell;
    const offset = this.begin(rowLength, qualifierLength, valueLength, timestamp, type, seq, ttl);
    const chunkNumber = this.chunks.length - 1;
    const chunk = this.chunks[chunkNumber]!;
    let at = offset + CELL_HEADER_BYTES;
    if (sameRow && this.last >= 0) putAgain(chunk.ints, this.last + CELL_HEADER_BYTES, at, rowLength);
    else putFrom(chunk, at, cell, cell.rowOffset, rowLength);
    this.last = offset;
    at += rowLength;
    putFrom(chunk, at, cell, cell.qualifierOffset, qualifierLength);
    putFrom(chunk, at + qualifierLength, cell, cell.valueOffset, valueLength);
    return chunkNumber * CHUNK_BYTES + offset;
  }

  /** Takes room for a cell in the last chunk and writes its numbers; where it begins. */
  private begin(
    rowLength: number,
    qualifierLength: number,
    valueLength: number,
    timestamp: number,
    type: number,
    seq: number,
    ttl: number,
  ): number {
    let size = (CELL_HEADER_BYTES + rowLength + qualifierLength + valueLength + 7) & ~7;
    if (ttl !== 0) size += 8;
    if (this.used + size > this.capacity) this.grow(size);
    const { doubles, ints } = this.chunks[this.chunks.length - 1]!;
    const offset = this.used;
    this.used += size;
    doubles[offset >>> 3] = timestamp;
    doubles[(offset >>> 3) + 1] = seq;
    ints[(offset >>> 2) + 4] = qualifierLength;
    ints[(offset >>> 2) + 5] = valueLength;
    ints[(offset >>> 2) + 6] = rowLength | (type << 16) | (ttl !== 0 ? FLAG_TTL << 24 : 0);
    if (ttl !== 0) doubles[(offset + size - 8) >>> 3] = ttl;
    return offset;
  }

  /** Says of the cell at `ref` that the one written directly behind it is of its row. False when that is elsewhere. */
  goOn(ref: CellRef, next: CellRef): boolean {
    if (chunkOf(ref) !== chunkOf(next)) return false;
    this.chunks[chunkOf(ref)]!.ints[(offsetOf(ref) >>> 2) + 6]! |= FLAG_GOES_ON << 24;
    return true;
  }

  private grow(size: number): void {
    if (this.chunks.length === MAX_CHUNKS)
      throw new RowanError('ERR_BUSY', 'A memstore has no more places. Write in smaller batches.', {
        retryable: true,
      });
    this.full += this.capacity;
    const regular = this.chunks.length === 0 ? FIRST_CHUNK_BYTES : CHUNK_BYTES;
    const chunk =
      regular === CHUNK_BYTES && size <= CHUNK_BYTES
        ? this.pool.take()
        : new Chunk(new SharedArrayBuffer(Math.max(regular, size)));
    this.chunks.push(chunk);
    // Offsets have 20 bits: behind a cell that has a larger chunk of its own there is no room for another.
    this.capacity = chunk.bytes.length;
    this.used = 0;
    this.last = -1;
  }

  /** It has so many chunks that their numbers may run out. */
  get crowded(): boolean {
    return this.chunks.length > CROWDED_CHUNKS;
  }

  /** Gives its memory back; whoever still reads a cell of it fails. */
  free(): void {
    this.pool.giveBack(this.chunks);
    this.chunks.length = 0;
  }
}

function put(target: Uint8Array, at: number, source: Uint8Array, length: number): void {
  if (length < 32) for (let i = 0; i < length; i++) target[at + i] = source[i]!;
  else target.set(source, at);
}

/** Copies bytes of a cell that stands elsewhere. */
function putFrom(target: Chunk, at: number, source: CellBytes, from: number, length: number): void {
  if (length > MOST_BY_WORDS) {
    target.bytes.set(source.bytes.subarray(from, from + length), at);
    return;
  }
  const to = target.view;
  const { view } = source;
  let i = 0;
  for (; i + 4 <= length; i += 4) to.setInt32(at + i, view.getInt32(from + i));
  for (; i < length; i++) to.setUint8(at + i, view.getUint8(from + i));
}

/** Copies a row by four bytes: both places are multiples of 4, and the cell has room for what is copied too much. */
function putAgain(ints: Int32Array, from: number, to: number, length: number): void {
  const end = (to + length + 3) >>> 2;
  for (let i = to >>> 2, source = from >>> 2; i < end; i++, source++) ints[i] = ints[source]!;
}

export function chunkOf(ref: CellRef): number {
  return ref >>> CHUNK_BITS;
}

export function offsetOf(ref: CellRef): number {
  return ref & OFFSET_MASK;
}

/** Whether the next cell is of the same row, and comes behind the cell at `offset`. */
export function goesOn(chunk: Chunk, offset: number): boolean {
  return ((chunk.ints[(offset >>> 2) + 6]! >>> 24) & FLAG_GOES_ON) !== 0;
}

/** Where the cell behind the one at `offset` begins. */
export function offsetBehind(chunk: Chunk, offset: number): number {
  return ttlOffset(chunk, offset) + (hasTtl(chunk, offset) ? 8 : 0);
}

/** The time to live of the cell at `offset`, 0 for none. */
export function ttlAt(chunk: Chunk, offset: number): number {
  return hasTtl(chunk, offset) ? chunk.doubles[ttlOffset(chunk, offset) >>> 3]! : 0;
}

function hasTtl(chunk: Chunk, offset: number): boolean {
  return ((chunk.ints[(offset >>> 2) + 6]! >>> 24) & FLAG_TTL) !== 0;
}

/** The multiple of 8 behind the row, qualifier and value of the cell at `offset`. */
function ttlOffset({ ints }: Chunk, offset: number): number {
  const at = offset >>> 2;
  const bytes = CELL_HEADER_BYTES + (ints[at + 6]! & 0xffff) + ints[at + 4]! + ints[at + 5]!;
  return offset + ((bytes + 7) & ~7);
}
