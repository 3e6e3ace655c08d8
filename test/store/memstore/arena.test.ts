import { describe, expect, test } from 'vitest';
import { toBytes } from '../../../src/bytes/index.js';
import { EmbeddedEngine } from '../../../src/store/engine.js';
import { CellArena, type Chunk, ChunkPool, chunkOf, offsetOf } from '../../../src/store/memstore/arena.js';
import { openStore } from '../../../src/store/recovery.js';
import { CellType } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { contents, createTable, put } from '../engine/support.js';

/** All chunks are one: what is tested is their number, and 4 GiB need not be there for it. */
class OneChunkPool extends ChunkPool {
  private chunk: Chunk | undefined;

  constructor() {
    super(0);
  }

  override take(): Chunk {
    this.chunk ??= super.take();
    return this.chunk;
  }
}

const MAX_CHUNKS = 4096;
const ROW = toBytes('row');
const NOTHING = new Uint8Array(0);
/** So large that no two of them share a chunk of a mebibyte. */
const HALF = new Uint8Array((1 << 19) + 1);

function write(arena: CellArena, timestamp: number, value: Uint8Array): number {
  return arena.write(ROW, NOTHING, timestamp, CellType.Put, 1, 0, value, false);
}

test('a pool of chunks hands out what it was given, and keeps nothing behind its end', () => {
  const pool = new ChunkPool(4 << 20);
  const chunk = pool.take();
  pool.release([chunk]);
  // toBe would compare the bytes of two chunks for what it says of them.
  expect(pool.take() === chunk).toBe(true);
  pool.release([chunk]);
  pool.end();
  expect(pool.take() === chunk).toBe(false);
  pool.release([chunk]);
  expect(pool.take() === chunk).toBe(false);
});

describe('the places of an arena', () => {
  test('the last chunk that has a number is written to, and the next is refused before anything is overwritten', () => {
    const arena = new CellArena(new OneChunkPool());
    write(arena, 1, NOTHING);
    const filler = new ChunkPool(0).take();
    while (arena.chunks.length < MAX_CHUNKS - 1) arena.chunks.push(filler);
    const last = write(arena, 42, HALF);
    expect([chunkOf(last), offsetOf(last)]).toEqual([MAX_CHUNKS - 1, 0]);
    const place = arena.chunks[chunkOf(last)]!;
    expect(place.doubles[offsetOf(last) >>> 3]).toBe(42);
    const bytes = arena.bytes;
    expect(() => write(arena, 43, HALF)).toThrow(
      expect.objectContaining({ code: 'ERR_BUSY', retryable: true }),
    );
    expect([arena.bytes, arena.chunks.length]).toEqual([bytes, MAX_CHUNKS]);
    expect(place.doubles[offsetOf(last) >>> 3]).toBe(42);
    // There is room yet for what is smaller.
    expect(chunkOf(write(arena, 44, NOTHING))).toBe(MAX_CHUNKS - 1);
  });

  test('no two cells share a place, whatever their sizes', () => {
    const arena = new CellArena(new OneChunkPool());
    const places = new Set<number>();
    for (let i = 0; i < 2000; i++) places.add(write(arena, i, i % 7 === 0 ? HALF : NOTHING));
    expect(places.size).toBe(2000);
    expect([...places].every((ref) => ref >= 0 && ref < 2 ** 32)).toBe(true);
  });

  test('a memstore whose chunks run out takes no further write: the next one does', async () => {
    const core = await openStore('/db', { fileSystem: new MemoryFileSystem(), automatic: false });
    const engine = new EmbeddedEngine(core);
    const table = await createTable(engine);
    await table.put(put('a', '1'));
    const [store] = core.catalog.get('t')!.regions[0]!.stores;
    const { arena } = store!.version.active as unknown as { readonly arena: CellArena };
    while (!arena.isFull) arena.chunks.push(new ChunkPool(0).take());
    expect(arena.chunks.length).toBeLessThan(MAX_CHUNKS / 2);
    await table.put(put('b', '2'));
    expect(store!.version.frozen.length).toBe(1);
    expect(await contents(table)).toEqual(['a f:q=1', 'b f:q=2']);
    await engine.close();
  });
});
