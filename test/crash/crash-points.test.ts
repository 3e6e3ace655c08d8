import { describe, expect, it } from 'vitest';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { MemoryFileSystem, type MemoryOperation } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { encryptedBy } from '../store/encryption/keys.js';
import { imageOf } from './image.js';
import { checkRecovered } from './recovered.js';
import { seededRandom } from './seeded-random.js';
import { type Promised, smallStore, Workload } from './workload.js';

const STEPS = scaled(8, 25, 400);
/** An encrypted store differs in the bytes of its files alone. */
const ENCRYPTED_STEPS = scaled(8, 15, 200);
const LIVES = scaled(4, 12, 120);
/** How many ways there are to lose half of what is unsynced, in pages or in sectors. Where there is one, both take turns. */
const DRAWS = scaled(1, 3, 5);
/** Of a clean store, every how many operations a crash is recovered from. */
const STRIDE = scaled(2, 1, 1);

interface Crash {
  readonly files: MemoryFileSystem;
  readonly promised: Promised;
  readonly where: string;
}

/** A disk that loses power after every `stride`-th of its operations, in up to seven ways. */
class CrashingDisk {
  readonly files: MemoryFileSystem;
  points = 0;
  recoveries = 0;
  workload: Workload | undefined;
  private readonly seen = new Set<string>();
  private pending: Crash[] = [];

  constructor(
    private readonly options: Partial<EmbeddedOptions> = {},
    private readonly stride = 1,
  ) {
    this.files = new MemoryFileSystem({ onOperation: (operation) => this.crash(operation) });
  }

  private crash({ call, path }: MemoryOperation): void {
    if (this.workload === undefined) return;
    const { states, acknowledged, durable } = this.workload;
    if (++this.points % this.stride !== 0) return;
    for (const keepUnsynced of [0, 0.5, 1]) {
      // All is kept when only the process dies: then what the operating system had is there.
      const least = keepUnsynced === 1 ? acknowledged : durable;
      for (let draw = 1; draw <= (keepUnsynced === 0.5 ? DRAWS : 1); draw++) {
        const random = seededRandom(this.points * 100 + draw);
        const inSectors = (DRAWS === 1 ? this.points : draw) % 2 === 0;
        const files = this.files.crash({ keepUnsynced, random, unit: inSectors ? 512 : 4096 });
        const image = `${imageOf(files)} ${least} ${states.length}`;
        if (this.seen.has(image)) continue;
        this.seen.add(image);
        const promised = { states, least, most: states.length - 1 };
        this.pending.push({ files, promised, where: `${call} ${path} #${this.points} keep ${keepUnsynced}` });
      }
    }
  }

  /** Recovers from every crash since the last call. */
  async recoverAll(): Promise<void> {
    const crashes = this.pending;
    this.pending = [];
    for (const { files, promised, where } of crashes) {
      this.recoveries++;
      try {
        await checkRecovered(files, promised, this.options);
      } catch (error) {
        throw new Error(`after a crash at ${where}: ${(error as Error).message}`, { cause: error });
      }
    }
  }
}

type ScriptOf = readonly ['FSYNC_WAL' | 'ASYNC_WAL', number, Partial<EmbeddedOptions>];

const EACH: readonly ScriptOf[] = [
  ['FSYNC_WAL', 7, {}],
  ['ASYNC_WAL', 9, {}],
  ['ASYNC_WAL', 11, encryptedBy('k1')],
];
const MORE: readonly ScriptOf[] = [
  ['FSYNC_WAL', 8, {}],
  ['FSYNC_WAL', 7, encryptedBy('k1')],
];

describe('a store after a crash at every operation on its files', () => {
  it.each(scaled(EACH, [...EACH, ...MORE], [...EACH, ...MORE]))(
    'holds what %s promises, and a prefix of the other changes (script %d, %o)',
    async (durability, seed, options) => {
      const disk = new CrashingDisk(options);
      await Workload.run(
        smallStore(disk.files, { durability, ...options }),
        seededRandom(seed),
        'encryption' in options ? ENCRYPTED_STEPS : STEPS,
        (workload) => {
          disk.workload = workload;
        },
        () => disk.recoverAll(),
      );
      expect(disk.points).toBeGreaterThan(4 * ('encryption' in options ? ENCRYPTED_STEPS : STEPS));
      expect(disk.recoveries).toBeGreaterThan(disk.points);
      expect(disk.files.openHandles).toBe(0);
      record('crash-points', {
        'crash points': disk.points,
        'recoveries of different disks': disk.recoveries,
      });
    },
  );

  it.each([
    ['files', true],
    ['the log', false],
  ] as const)(
    'holds every change when a clean store with rows in %s is opened, read, and then changed: the log begins with the change',
    async (_, flushOnClose) => {
      const disk = new CrashingDisk({}, STRIDE);
      await Workload.lives(
        smallStore(disk.files, { automatic: false, flushOnClose }),
        seededRandom(10),
        LIVES,
        (workload) => {
          disk.workload = workload;
        },
        async (read) => {
          const before = disk.points;
          await read();
          // Nothing was written, so there is no point at which a crash could leave anything else.
          expect(disk.points).toBe(before);
        },
        () => disk.recoverAll(),
      );
      expect(disk.points).toBeGreaterThan(20 * LIVES);
      expect(disk.files.openHandles).toBe(0);
      record('crash-points', {
        'crash points': disk.points,
        'recoveries of different disks': disk.recoveries,
      });
    },
  );
});
