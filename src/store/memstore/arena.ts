import { copySlice, copyWords, EMPTY_BYTES } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { CellType } from '../../table/index.js';

/** Log2 of the size of a regular chunk: 1 MiB. A cell that does not fit gets a larger chunk of its own. */
const CHUNK_BITS = 20;
const CHUNK_BYTES: number = 1 << CHUNK_BITS;

/** A block of shared memory with its typed views. */
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
 * Unused chunks, kept for later memstores. Shared memory is freed only after every thread that has seen it has collected its
 * garbage, which a worker that mostly waits rarely does.
 */
export class ChunkPool {
  private readonly free: Chunk[] = [];

  /** `limit`: the most bytes that are kept. */
  constructor(private limit: number) {}

  take(): Chunk {
    return this.free.pop() ?? new Chunk(new SharedArrayBuffer(CHUNK_BYTES));
  }

  /** Keeps chunks of regular size, up to the limit. */
  release(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.bytes.length !== CHUNK_BYTES) continue;
      if ((this.free.length + 1) * CHUNK_BYTES > this.limit) return;
      this.free.push(chunk);
    }
  }

  /** Keeps none from now on: no memstore is made any more. */
  end(): void {
    this.limit = 0;
    this.free.length = 0;
  }
}

// — The memory in which a memstore stores its cells: chunks of shared memory that only grow, so that a worker thread can read a
// frozen memstore without a copy.
//
// A cell begins at a multiple of 8:
//
//     0   timestamp     float64
//     8   seq           float64
//     16  qualifier length  int32
//     20  value length      int32
//     24  row length        uint16
//     26  type              uint8
//     27  flags             uint8: 1 = a time to live follows; 2 = the next cell is of the same row and directly after this one
//     28  row, qualifier, value, then, at the next multiple of 8, the time to live as float64

const OFFSET_MASK = CHUNK_BYTES - 1;
/** Size of a memstore's first chunk, so that a hundred idle families do not occupy a hundred mebibytes. */
const FIRST_CHUNK_BYTES = 1 << 14;
export const CELL_HEADER_BYTES = 28;
/** The number of chunks that a {@link CellRef} can address. */
const MAX_CHUNKS = 2 ** (32 - CHUNK_BITS);
/** A memstore with more chunks accepts no further write; a single write cannot use up the rest. */
const FULL_CHUNKS = MAX_CHUNKS / 4;
export const FLAG_TTL = 1;
export const FLAG_FOLLOWED = 2;

/** The address of a cell: chunk number << 20 | offset in the chunk. Below 2^32, stored in Uint32Arrays. */
export type CellRef = number;

/** A cell in another buffer. */
export interface CellBytes {
  readonly timestamp: number;
  readonly type: number;
  /** 0 for none. */
  readonly ttl: number;
  readonly bytes: Uint8Array;
  /** A view of `bytes`. */
  readonly view: DataView;
  readonly rowOffset: number;
  readonly rowLength: number;
  readonly qualifierOffset: number;
  readonly qualifierLength: number;
  readonly valueOffset: number;
  readonly valueLength: number;
}

/** The addresses of most rows' cells fit in. */
const INITIAL_ROW_CELLS = 16;

/**
 * Puts of one row, with one timestamp, to columns of one family in the order of their qualifiers: cells `first` to `end` of lists
 * that hold those of many rows. One object serves all rows.
 */
export class RowCells {
  row: Uint8Array = EMPTY_BYTES;
  timestamp = 0;
  seq = 0;
  first = 0;
  end = 0;
  /** Where the value of the first cell begins in `bytes`. */
  from = 0;
  /** The addresses of the cells, once they are written. */
  refs = new Uint32Array(INITIAL_ROW_CELLS);
  /** A view of `bytes`. */
  readonly values: DataView;

  constructor(
    /** By number of the column. */
    readonly qualifiers: readonly Uint8Array[],
    /** For each cell: the number of its column, and where its value ends in `bytes`; it begins where that of the cell before ends. */
    readonly columns: ArrayLike<number>,
    readonly valueEnds: ArrayLike<number>,
    readonly bytes: Uint8Array,
  ) {
    this.values = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get count(): number {
    return this.end - this.first;
  }

  /** Makes room in `refs`. */
  reserve(): void {
    if (this.count > this.refs.length) this.refs = new Uint32Array(2 * this.count);
  }
}

/** Appends cells; nothing is ever moved. One thread writes; other threads may read once the memstore is frozen. */
export class CellArena {
  readonly chunks: Chunk[] = [];
  private used = 0;
  /** Used bytes of all chunks but the last. */
  private full = 0;
  /** The offset of the last cell in the last chunk; -1 when there is none. */
  private last = -1;
  private capacity = 0;

  constructor(private readonly pool: ChunkPool) {}

  /** Bytes used by its cells, including cells that are no longer referenced. */
  get bytes(): number {
    return this.full + this.used;
  }

  /** An arena over the chunks of another thread. */
  static of(buffers: readonly SharedArrayBuffer[]): CellArena {
    const arena = new CellArena(new ChunkPool(0));
    for (const buffer of buffers) arena.chunks.push(new Chunk(buffer));
    return arena;
  }

  /** Writes a cell and returns its address. `ttl` 0 is none; `sameRow`: the previous cell is of the same row. */
  write(
    row: Uint8Array,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    seq: number,
    ttl: number,
    value: Uint8Array,
    sameRow: boolean,
    valueOffset = 0,
    valueLength = value.length,
  ): CellRef {
    const rowLength = row.length;
    const qualifierLength = qualifier.length;
    const offset = this.begin(rowLength, qualifierLength, valueLength, timestamp, type, seq, ttl);
    const chunkNumber = this.chunks.length - 1;
    const { bytes, ints } = this.chunks[chunkNumber]!;
    let at = offset + CELL_HEADER_BYTES;
    if (sameRow && this.last >= 0) copyRow(ints, this.last + CELL_HEADER_BYTES, at, rowLength);
    else put(bytes, at, row, 0, rowLength);
    this.last = offset;
    at += rowLength;
    put(bytes, at, qualifier, 0, qualifierLength);
    put(bytes, at + qualifierLength, value, valueOffset, valueLength);
    return chunkNumber * CHUNK_BYTES + offset;
  }

  /**
   * Writes the cells of a row, each flagged as followed by the next, and stores their addresses. False, and nothing is written: they
   * do not fit into the last chunk.
   */
  writeRow(cells: RowCells): boolean {
    const { row, qualifiers, columns, valueEnds, first, end, from, timestamp, seq, values } = cells;
    const rowLength = row.length;
    let size = 0;
    for (let i = first, start = from; i < end; i++) {
      const to = valueEnds[i]!;
      size += sizeOf(rowLength, qualifiers[columns[i]!]!.length, to - start);
      start = to;
    }
    if (this.used + size > this.capacity) return false;
    cells.reserve();
    const { refs } = cells;
    const chunkNumber = this.chunks.length - 1;
    const { bytes, view, ints, doubles } = this.chunks[chunkNumber]!;
    const start = this.used;
    const word = rowLength | (CellType.Put << 16) | (FLAG_FOLLOWED << 24);
    let offset = start;
    let value = from;
    for (let i = first; i < end; i++) {
      const qualifier = qualifiers[columns[i]!]!;
      const qualifierLength = qualifier.length;
      const valueLength = valueEnds[i]! - value;
      doubles[offset >>> 3] = timestamp;
      doubles[(offset >>> 3) + 1] = seq;
      ints[(offset >>> 2) + 4] = qualifierLength;
      ints[(offset >>> 2) + 5] = valueLength;
      ints[(offset >>> 2) + 6] = word;
      let at = offset + CELL_HEADER_BYTES;
      if (i > first) copyRow(ints, start + CELL_HEADER_BYTES, at, rowLength);
      else put(bytes, at, row, 0, rowLength);
      at += rowLength;
      put(bytes, at, qualifier, 0, qualifierLength);
      copyWords(values, value, valueLength, view, at + qualifierLength);
      refs[i - first] = chunkNumber * CHUNK_BYTES + offset;
      this.last = offset;
      offset += sizeOf(rowLength, qualifierLength, valueLength);
      value = valueEnds[i]!;
    }
    ints[(this.last >>> 2) + 6] = word & ~(FLAG_FOLLOWED << 24);
    this.used = offset;
    return true;
  }

  /** Like `write`, for a cell in another buffer; no view of that is created. */
  copy(cell: CellBytes, seq: number, sameRow: boolean): CellRef {
    const { rowLength, qualifierLength, valueLength, timestamp, type, ttl } = cell;
    const offset = this.begin(rowLength, qualifierLength, valueLength, timestamp, type, seq, ttl);
    const chunkNumber = this.chunks.length - 1;
    const chunk = this.chunks[chunkNumber]!;
    let at = offset + CELL_HEADER_BYTES;
    if (sameRow && this.last >= 0) copyRow(chunk.ints, this.last + CELL_HEADER_BYTES, at, rowLength);
    else copyWords(cell.view, cell.rowOffset, rowLength, chunk.view, at);
    this.last = offset;
    at += rowLength;
    copyWords(cell.view, cell.qualifierOffset, qualifierLength, chunk.view, at);
    copyWords(cell.view, cell.valueOffset, valueLength, chunk.view, at + qualifierLength);
    return chunkNumber * CHUNK_BYTES + offset;
  }

  /**
   * Room for `capacity` addresses of cells of the row of the cell at `ref`, laid out like a cell of that row: see {@link NewestCells}.
   * Returns its address.
   */
  writeList(ref: CellRef, capacity: number): CellRef {
    const rowLength = rowLengthOf(this, ref);
    const offset = this.begin(rowLength, -rowLength & 3, 4 * capacity, 0, 0, 0, 0);
    const { bytes } = this.chunks[chunkOf(ref)]!;
    const from = offsetOf(ref) + CELL_HEADER_BYTES;
    const chunkNumber = this.chunks.length - 1;
    copySlice(bytes, from, rowLength, this.chunks[chunkNumber]!.bytes, offset + CELL_HEADER_BYTES);
    return chunkNumber * CHUNK_BYTES + offset;
  }

  /** Allocates a cell in the last chunk and writes its numbers; returns its offset. */
  private begin(
    rowLength: number,
    qualifierLength: number,
    valueLength: number,
    timestamp: number,
    type: number,
    seq: number,
    ttl: number,
  ): number {
    let size = sizeOf(rowLength, qualifierLength, valueLength);
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

  /** Flags the cell at `ref` as followed by a cell of its row. False when that is not directly after it in the same chunk. */
  markFollowed(ref: CellRef, next: CellRef): boolean {
    const chunk = this.chunks[chunkOf(ref)]!;
    const offset = offsetOf(ref);
    if (chunkOf(ref) !== chunkOf(next) || offsetBehind(chunk, offset) !== offsetOf(next)) return false;
    chunk.ints[(offset >>> 2) + 6]! |= FLAG_FOLLOWED << 24;
    return true;
  }

  private grow(size: number): void {
    if (this.chunks.length === MAX_CHUNKS)
      throw new RowanError('ERR_BUSY', 'A memstore is full. Write in smaller batches.', {
        retryable: true,
      });
    this.full += this.capacity;
    const regular = this.chunks.length === 0 ? FIRST_CHUNK_BYTES : CHUNK_BYTES;
    const chunk =
      regular === CHUNK_BYTES && size <= CHUNK_BYTES
        ? this.pool.take()
        : new Chunk(new SharedArrayBuffer(Math.max(regular, size)));
    this.chunks.push(chunk);
    // Offsets have 20 bits, so a larger chunk holds a single cell.
    this.capacity = chunk.bytes.length;
    this.used = 0;
    this.last = -1;
  }

  /** It has so many chunks that their numbers may run out. */
  get isFull(): boolean {
    return this.chunks.length > FULL_CHUNKS;
  }

  /** Whether it has not grown beyond its first chunk. */
  get isSmall(): boolean {
    return this.chunks.length === 1 && this.capacity === FIRST_CHUNK_BYTES;
  }

  /** Removes the cells of a small arena, and keeps its memory. */
  reset(): void {
    this.used = 0;
    this.last = -1;
  }

  /** Returns its chunks to the pool. Cells must not be read any more. */
  free(): void {
    this.pool.release(this.chunks);
    this.chunks.length = 0;
  }
}

/** The bytes of a cell without a time to live. */
function sizeOf(rowLength: number, qualifierLength: number, valueLength: number): number {
  return (CELL_HEADER_BYTES + rowLength + qualifierLength + valueLength + 7) & ~7;
}

function put(target: Uint8Array, at: number, source: Uint8Array, from: number, length: number): void {
  if (length < 32) for (let i = 0; i < length; i++) target[at + i] = source[from + i]!;
  else target.set(length === source.length ? source : source.subarray(from, from + length), at);
}

/** Copies a row in words of four bytes: both offsets are multiples of 4, and the cell has room for the excess bytes. */
function copyRow(ints: Int32Array, from: number, to: number, length: number): void {
  const end = (to + length + 3) >>> 2;
  for (let i = to >>> 2, source = from >>> 2; i < end; i++, source++) ints[i] = ints[source]!;
}

export function chunkOf(ref: CellRef): number {
  return ref >>> CHUNK_BITS;
}

export function offsetOf(ref: CellRef): number {
  return ref & OFFSET_MASK;
}

/** Whether the next cell is of the same row and directly after the cell at `offset`. */
export function isFollowed(chunk: Chunk, offset: number): boolean {
  return ((chunk.ints[(offset >>> 2) + 6]! >>> 24) & FLAG_FOLLOWED) !== 0;
}

/** The offset after the cell at `offset`. */
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

/** The multiple of 8 after the row, qualifier and value of the cell at `offset`. */
function ttlOffset({ ints }: Chunk, offset: number): number {
  const at = offset >>> 2;
  const bytes = CELL_HEADER_BYTES + (ints[at + 6]! & 0xffff) + ints[at + 4]! + ints[at + 5]!;
  return offset + ((bytes + 7) & ~7);
}

/** The length of a cell's row. */
export function rowLengthOf(arena: CellArena, ref: CellRef): number {
  return arena.chunks[chunkOf(ref)]!.ints[(offsetOf(ref) >>> 2) + 6]! & 0xffff;
}
