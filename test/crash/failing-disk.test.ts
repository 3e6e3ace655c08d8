import { describe, expect, it } from 'vitest';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { DISK_FAILURES, FaultFileSystem } from '../store/fs/fault-fs.js';
import { checkRecovered } from './recovered.js';
import { seededRandom } from './seeded-random.js';
import { smallStore, Workload } from './workload.js';

const STEPS = 40;
/** Every how many operations a failure is tried; 1 tries each. */
const STRIDE = scaled(47, 23, 1);
/** How many failures of a kind are tried; without a limit, until an operation is not reached any more. */
const MOST = scaled(2, Infinity, Infinity);

describe('a store on a disk that fails', () => {
  it.each(DISK_FAILURES)('loses nothing acknowledged and shows nothing wrong: $name', async (kind) => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    let runs = 0;
    try {
      for (let after = 0; runs < MOST; after += STRIDE) {
        const disk = new MemoryFileSystem();
        const files = new FaultFileSystem(disk);
        files.inject({ ...kind.fault, after, shortWrite: (length) => length >> 1 });
        const failed = await runUntilFailure(disk, files, `${kind.name} after ${after}`);
        if (!failed) break;
        runs++;
      }
    } finally {
      await new Promise((resolve) => setImmediate(resolve));
      process.off('unhandledRejection', onUnhandled);
    }
    expect(unhandled).toEqual([]);
    expect(runs).toBeGreaterThan(0);
    record('failing-disk', { 'runs with a failure': runs });
  });
});

/** Runs the script on the failing disk, then looks at what is left. False when no failure was met. */
async function runUntilFailure(
  disk: MemoryFileSystem,
  files: FaultFileSystem,
  where: string,
): Promise<boolean> {
  try {
    const { workload, promised, failure } = await Workload.runUntilFailure(
      smallStore(files),
      seededRandom(31),
      STEPS,
      ['ERR_IO', 'ERR_READONLY'],
    );
    if (files.failures === 0) return false;
    if (failure !== undefined) await workload.lookAround(promised);
    const afterPowerLoss = disk.crash({ keepUnsynced: 0, random: () => 0 });
    await checkRecovered(afterPowerLoss, promised);
    files.clear();
    await workload.closeAfterFailure();
    expect(disk.openHandles).toBe(0);
    await checkRecovered(disk, promised);
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
  }
  return true;
}
