import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import type { FileSystem } from '../../src/store/fs/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { FaultFileSystem } from '../store/fs/fault-fs.js';
import { seededRandom } from './seeded-random.js';
import { ToyStore } from './toy-store.js';

const SEEDS = scaled([1], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]);
const KEEP = [0, 0.5, 1];
const STEPS = scaled(35, 60, 60);
/** After every how many operations there is a crash. */
const EACH = scaled(3, 1, 1);

/** What the outside knows while the workload runs. */
interface Progress {
  /** Writes that the caller began. */
  begun: number;
  /** Writes known to be durable. */
  acknowledged: number;
}

/** Puts in groups, flushes, compactions, rolls and rotations (by small limits), a close and a reopening. */
async function workload(files: FileSystem, progress: Progress, random: () => number): Promise<void> {
  let store = ToyStore.open(files);
  for (let step = 0; step < STEPS; step++) {
    const choice = random();
    if (choice < 0.7) {
      const count = 1 + Math.floor(random() * 5);
      for (let i = 0; i < count; i++) {
        progress.begun++;
        store.put();
      }
      if (random() < 0.3) store.flushToOs();
      else {
        await store.sync();
        progress.acknowledged = progress.begun;
      }
    } else if (choice < 0.85) {
      await store.flush();
      progress.acknowledged = progress.begun;
    } else if (choice < 0.93) {
      store.compact();
    } else {
      store.close();
      progress.acknowledged = progress.begun;
      store = ToyStore.open(files);
    }
  }
  store.close();
  progress.acknowledged = progress.begun;
}

/** Opens what a crash left, and throws unless it is a prefix of what was begun with all that was acknowledged. */
function check(files: FileSystem, progress: Readonly<Progress>): number {
  const store = ToyStore.open(files);
  const { writes } = store;
  store.abandon();
  if (writes.some((seq, index) => seq !== index + 1))
    throw new Error(`a hole or a doubled write in ${writes.join(' ')}`);
  if (writes.length < progress.acknowledged || writes.length > progress.begun)
    throw new Error(
      `${writes.length} writes; ${progress.acknowledged} acknowledged, ${progress.begun} begun`,
    );
  return writes.length;
}

describe('log and MANIFEST after a crash at every operation', () => {
  it('have every acknowledged write, and a prefix of the others', async () => {
    const progress: Progress = { begun: 0, acknowledged: 0 };
    let operations = 0;
    let recoveries = 0;
    const files: MemoryFileSystem = new MemoryFileSystem({
      onOperation: () => {
        if (++operations % EACH !== 0) return;
        for (const keepUnsynced of KEEP) {
          for (const seed of keepUnsynced === 0.5 ? SEEDS : [1]) {
            const random = seededRandom(seed * 7919 + operations);
            check(files.crash({ keepUnsynced, random, unit: seed % 2 === 0 ? 512 : 4096 }), progress);
            recoveries++;
          }
        }
      },
    });
    await workload(files, progress, seededRandom(42));
    expect(operations).toBeGreaterThan(scaled(150, 300, 300));
    expect(recoveries).toBe((2 + SEEDS.length) * Math.floor(operations / EACH));
    expect(progress.begun).toBeGreaterThan(scaled(40, 80, 80));
  });

  it('also when the recovery is cut short, at every operation of it', async () => {
    const progress: Progress = { begun: 0, acknowledged: 0 };
    let operations = 0;
    let second = 0;
    const files: MemoryFileSystem = new MemoryFileSystem({
      onOperation: () => {
        if (++operations % scaled(97, 17, 5) !== 0) return;
        const random = seededRandom(operations);
        const crash = { keepUnsynced: 0.5, random };
        const recovering: MemoryFileSystem = files.crash(crash, {
          onOperation: () => {
            second++;
            check(recovering.crash({ keepUnsynced: 0.5, random }), progress);
          },
        });
        const first = check(recovering, progress);
        // What a recovery has shown stays.
        expect(check(recovering.crash({ keepUnsynced: 0, random }), progress)).toBe(first);
      },
    });
    await workload(files, progress, seededRandom(43));
    expect(second).toBeGreaterThan(scaled(12, 200, 200));
  });
});

describe('log and MANIFEST when the Nth operation fails', () => {
  it.each([
    ['once', 1],
    ['for ever', Number.POSITIVE_INFINITY],
  ] as const)('%s: an error of ours, and no acknowledged write is lost', async (_, times) => {
    for (const errno of ['EIO', 'ENOSPC']) {
      let failures = 0;
      for (let after = 0; ; after += scaled(41, 3, 1)) {
        const progress: Progress = { begun: 0, acknowledged: 0 };
        const disk = new MemoryFileSystem();
        const files = new FaultFileSystem(disk);
        files.inject({ after, times, errno, shortWrite: (length) => length >> 1 });
        try {
          await workload(files, progress, seededRandom(44));
        } catch (error) {
          if (!(error instanceof RowanError)) throw error;
          expect(['ERR_IO', 'ERR_READONLY']).toContain(error.code);
        }
        if (files.failures === 0) break;
        failures++;
        for (const keepUnsynced of [0, 1])
          check(disk.crash({ keepUnsynced, random: seededRandom(after) }), progress);
      }
      expect(failures).toBeGreaterThan(scaled(4, 100, 100));
    }
  });
});
