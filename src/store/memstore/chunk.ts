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
