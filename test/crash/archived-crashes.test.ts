/** Stores whose log is archived, on a disk that loses power at its operations or fails. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { encryptedBy } from '../store/encryption/keys.js';
import { DISK_FAILURES, FaultFileSystem } from '../store/fs/fault-fs.js';
import { ArchivedDisk } from './archived-disk.js';
import { seededRandom } from './seeded-random.js';
import { type Promised, smallStore, Workload } from './workload.js';

const SEEDS = Array.from({ length: scaled(1, 2, 60) }, (_, i) => i + Number(process.env['ROWAN_SEED'] ?? 1));
const STEPS = scaled(15, 40, 60);
/** Of failing disks, in a draw. */
const RUNS = scaled(2, 6, 100);
/** One of so many operations is a crash point. */
const STRIDE = scaled(16, 7, 2);

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-archived-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Crash {
  readonly folder: string;
  readonly promised: Promised;
  readonly where: string;
}

describe('a store whose log is archived', () => {
  it.each(SEEDS)(
    'opens after a crash, and the archive goes on: it restores what the store has (seed %i)',
    async (seed) => {
      const crashes: Crash[] = [];
      const draw = seededRandom(seed);
      let workload: Workload | undefined;
      let points = 0;
      let recoveries = 0;
      const memory: MemoryFileSystem = new MemoryFileSystem({
        onOperation: ({ call, path }) => {
          if (workload === undefined || draw() >= 1 / STRIDE) return;
          points++;
          const keepUnsynced = [0, 0.5, 1][Math.floor(draw() * 3)]!;
          const files = memory.crash({ keepUnsynced, random: draw, unit: draw() < 0.5 ? 512 : 4096 });
          const folder = join(root, `crash${points}`);
          disk.copyTo(folder, files);
          const { states, acknowledged, durable } = workload;
          const promised = {
            states,
            least: keepUnsynced === 1 ? acknowledged : durable,
            most: states.length - 1,
          };
          crashes.push({ folder, promised, where: `${call} ${path} #${points} keep ${keepUnsynced}` });
        },
      });
      const disk: ArchivedDisk = new ArchivedDisk(root, memory);
      const options = seed % 3 === 0 ? encryptedBy('k1') : {};
      await disk.begin(options);
      await Workload.run(
        smallStore(disk, {
          durability: seed % 2 === 0 ? 'ASYNC_WAL' : 'FSYNC_WAL',
          logArchive: disk.archive,
          ...options,
        }),
        seededRandom(seed),
        STEPS,
        (started) => {
          workload = started;
        },
        async () => {
          for (const { folder, promised, where } of crashes.splice(0)) {
            recoveries++;
            try {
              await disk.checkCopy(folder, promised, options);
            } catch (error) {
              throw new Error(`after a crash at ${where}: ${(error as Error).message}`, { cause: error });
            }
          }
        },
      );
      expect(recoveries).toBe(points);
      expect(points).toBeGreaterThan(STEPS / 4);
      record('archived-crashes', { recoveries });
    },
    scaled(20_000, 120_000, 600_000),
  );

  it.each(SEEDS)('goes on after a failure of its disk, and so does the archive (draw %i)', async (seed) => {
    const draw = seededRandom(seed);
    let failures = 0;
    for (let run = 0; run < RUNS; run++) {
      const { name, fault } = DISK_FAILURES[Math.floor(draw() * DISK_FAILURES.length)]!;
      const after = Math.floor(draw() ** 2 * 300);
      const folder = join(root, `run${run}`);
      const memory = new MemoryFileSystem();
      const faults = new FaultFileSystem(memory);
      const disk = new ArchivedDisk(folder, memory, faults);
      const options = draw() < 0.3 ? encryptedBy('k1') : {};
      await disk.begin(options);
      faults.inject({ ...fault, after, shortWrite: (length) => length >> 1 });
      try {
        if (await fails(disk, memory, faults, options, seed + run)) failures++;
      } catch (error) {
        throw new Error(`${name} after ${after}: ${(error as Error).message}`, { cause: error });
      }
    }
    expect(failures).toBeGreaterThan(0);
    record('archived-crashes', { 'runs with a failure': failures });
  });
});

/** Runs a script on the failing disk, then checks what is left. False when no failure was met. */
async function fails(
  disk: ArchivedDisk,
  memory: MemoryFileSystem,
  faults: FaultFileSystem,
  options: Partial<EmbeddedOptions>,
  seed: number,
): Promise<boolean> {
  const { workload, promised, failure } = await Workload.runUntilFailure(
    smallStore(disk, { logArchive: disk.archive, ...options }),
    seededRandom(seed),
    STEPS,
    ['ERR_IO', 'ERR_READONLY', 'ERR_BUSY'],
  );
  if (failure !== undefined) await workload.lookAround(promised);
  const lost = join(disk.archive, '../lost');
  disk.copyTo(lost, memory.crash({ keepUnsynced: 0, random: () => 0 }));
  await disk.checkCopy(lost, promised, options);
  const isMet = faults.failures > 0;
  faults.clear();
  await workload.closeAfterFailure();
  expect(memory.openHandles).toBe(0);
  const closed = join(disk.archive, '../closed');
  disk.copyTo(closed, memory);
  await disk.checkCopy(closed, promised, options);
  return isMet;
}
