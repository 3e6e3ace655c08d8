import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BlockCache, CacheEntry, CachePriority, CacheSlots } from '../../../src/store/cache.js';
import { scaled } from '../../proof/scale.js';

class Entry extends CacheEntry {
  constructor(
    charge: number,
    readonly name: string,
  ) {
    super(charge);
  }
}

/** The cache as its rules say it, on plain arrays. */
class Model {
  readonly single: Entry[] = [];
  readonly multi: Entry[] = [];
  readonly memory: Entry[] = [];
  readonly spare: Entry[] = [];
  readonly index: Entry[] = [];
  readonly used = new Set<Entry>();

  constructor(private readonly capacity: number) {}

  get all(): Entry[] {
    return [...this.single, ...this.multi, ...this.memory, ...this.spare, ...this.index];
  }

  insert(entry: Entry, priority: CachePriority): void {
    if (entry.charge > this.capacity) return;
    [this.single, this.memory, this.spare, this.index][priority]!.push(entry);
    while (sum(this.all) > this.capacity) {
      const spare = this.spare.shift();
      if (spare !== undefined) {
        this.used.delete(spare);
        continue;
      }
      const excess = ([segment, share]: [Entry[], number]): number =>
        segment.length === 0 ? -Infinity : sum(segment) - share * this.capacity;
      const shares: [Entry[], number][] = [
        [this.single, 0.25],
        [this.multi, 0.5],
        [this.memory, 0.25],
      ];
      const most = Math.max(...shares.map(excess));
      const isOver = sum(this.index) > 0.75 * this.capacity || most === -Infinity;
      const segment = isOver ? this.index : shares.find((each) => excess(each) === most)![0];
      const oldest = segment.shift()!;
      if (!this.used.delete(oldest)) continue;
      (segment === this.single ? this.multi : segment).push(oldest);
    }
  }

  remove(gone: (entry: Entry) => boolean): void {
    for (const segment of [this.single, this.multi, this.memory, this.spare, this.index]) {
      for (let i = segment.length - 1; i >= 0; i--) if (gone(segment[i]!)) segment.splice(i, 1);
    }
  }
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, entry) => total + entry.charge, 0);
}

const FILES = 3;
const SLOTS = 12;

describe('the block cache', () => {
  test('holds what its rules say, after any inserts, uses and invalidations', () => {
    const operation = fc.record({
      kind: fc.constantFrom('use', 'use', 'use', 'use', 'invalidate'),
      file: fc.nat(FILES - 1),
      slot: fc.nat(SLOTS - 1),
      charge: fc.integer({ min: 1, max: 40 }),
      priority: fc.constantFrom(...Object.values(CachePriority)),
    });
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 200 }),
        fc.integer({ min: 0, max: 150 }),
        (operations, capacity) => {
          const cache = new BlockCache(capacity);
          const model = new Model(capacity);
          const files = Array.from({ length: FILES }, () => new CacheSlots<Entry>(SLOTS));
          for (const { kind, file, slot, charge, priority } of operations) {
            const slots = files[file]!;
            const present = slots.entries[slot]!;
            if (kind === 'invalidate') {
              cache.invalidate(slots as unknown as CacheSlots<CacheEntry>);
              model.remove((entry) => entry.name.startsWith(`${file}/`));
            } else if (present) {
              present.touched = 1;
              model.used.add(present);
            } else {
              const entry = new Entry(charge, `${file}/${slot}`);
              cache.insert(slots, slot, entry, priority);
              model.insert(entry, priority);
            }
            const held = files.flatMap(({ entries }) => entries.filter((entry) => entry !== null));
            expect(new Set(held)).toEqual(new Set(model.all));
            for (const { entries } of files)
              entries.forEach((entry, i) => {
                if (entry) expect(entry.slot).toBe(i);
              });
            expect(cache.stats()).toMatchObject({ bytes: sum(model.all), entries: model.all.length });
            expect(sum(model.all)).toBeLessThanOrEqual(capacity);
            expect(cache.hasRoom(charge)).toBe(sum(model.all) + charge <= (capacity * 7) / 8);
          }
        },
      ),
      { numRuns: scaled(60, 200, 2000) },
    );
  });

  test('keeps blocks of IN_MEMORY families while a scan goes by', () => {
    const cache = new BlockCache(100);
    const favoured = new CacheSlots<Entry>(2);
    const scanned = new CacheSlots<Entry>(1000);
    cache.insert(favoured, 0, new Entry(10, 'a'), CachePriority.Memory);
    cache.insert(favoured, 1, new Entry(10, 'b'), CachePriority.Memory);
    for (let i = 0; i < 1000; i++) cache.insert(scanned, i, new Entry(10, `${i}`), CachePriority.Normal);
    expect(favoured.entries.every((entry) => entry !== null)).toBe(true);
  });

  test('keeps index blocks while data is read, up to three quarters of its memory', () => {
    const cache = new BlockCache(1000);
    const index = new CacheSlots<Entry>(90);
    const data = new CacheSlots<Entry>(1000);
    const kept = (): number => index.entries.filter((entry) => entry !== null).length;
    for (let i = 0; i < 70; i++) cache.insert(index, i, new Entry(10, `index ${i}`), CachePriority.Index);
    for (let i = 0; i < 500; i++) {
      cache.insert(data, i, new Entry(10, `${i}`), CachePriority.Normal);
      data.entries[i]!.touched = 1;
    }
    expect(kept()).toBe(70);
    for (let i = 70; i < 90; i++) cache.insert(index, i, new Entry(10, `index ${i}`), CachePriority.Index);
    for (let i = 500; i < 1000; i++) cache.insert(data, i, new Entry(10, `${i}`), CachePriority.Normal);
    expect(kept()).toBe(75);
  });

  test('takes memory of single rows for index blocks, and leaves rows an eighth', () => {
    const capacity = 1 << 21;
    const cache = new BlockCache(capacity);
    const index = new CacheSlots<Entry>(2000);
    const rows = cache.beginRows()!.bytes;
    expect(rows).toBeGreaterThan(capacity / 2);
    const fill = (from: number, to: number): void => {
      for (let i = from; i < to; i++) cache.insert(index, i, new Entry(1024, `${i}`), CachePriority.Index);
    };
    fill(0, 500);
    expect(cache.rows!.bytes).toBe(rows);
    fill(500, 1000);
    expect(cache.rows!.bytes).toBeLessThan(rows / 1.9);
    expect(index.entries.slice(0, 1000).every((entry) => entry !== null)).toBe(true);
    fill(1000, 2000);
    expect(cache.rows!.bytes).toBeGreaterThanOrEqual(capacity / 8);
    expect(cache.stats().bytes).toBeLessThanOrEqual(capacity);
  });

  test('keeps blocks that were read twice while a scan goes by', () => {
    const cache = new BlockCache(100);
    const hot = new CacheSlots<Entry>(3);
    const scanned = new CacheSlots<Entry>(1000);
    for (let i = 0; i < 3; i++) {
      cache.insert(hot, i, new Entry(10, `hot ${i}`), CachePriority.Normal);
      hot.entries[i]!.touched = 1;
    }
    for (let i = 0; i < 1000; i++) cache.insert(scanned, i, new Entry(10, `${i}`), CachePriority.Normal);
    expect(hot.entries.every((entry) => entry !== null)).toBe(true);
    expect(cache.stats()).toMatchObject({ bytes: 100, entries: 10, evictions: 993 });
  });

  test('gives buffers of evicted blocks to others, but none of large cells, and none behind its end', () => {
    const evictedOf = (length: number): BlockCache => {
      const cache = new BlockCache(1 << 20);
      const slots = new CacheSlots<Entry>(2);
      for (let slot = 0; slot < 2; slot++) {
        const entry = new Entry(600_000, `${slot}`);
        Object.assign(entry, { memory: new Uint8Array(length) });
        cache.insert(slots, slot, entry, CachePriority.Normal);
      }
      return cache;
    };
    expect(evictedOf(1000).takeMemory(1000)?.length).toBe(1000);
    expect(evictedOf(200_000).takeMemory(200_000)).toBeUndefined();
    const ended = evictedOf(1000);
    ended.end();
    expect(ended.takeMemory(1000)).toBeUndefined();
  });

  test('of capacity 0 keeps nothing', () => {
    const cache = new BlockCache(0);
    const slots = new CacheSlots<Entry>(1);
    cache.insert(slots, 0, new Entry(1, 'a'), CachePriority.Memory);
    expect(slots.entries).toEqual([null]);
    expect(cache.stats()).toMatchObject({ bytes: 0, entries: 0 });
  });
});
