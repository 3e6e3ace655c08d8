import { describe, expect, it } from 'vitest';
import { crc32 } from '../../src/bytes/index.js';
import { MemoryFileSystem, type MemoryOperation } from '../../src/store/fs/index.js';
import { checkRecovered } from './recovered.js';
import { seededRandom } from './seeded-random.js';
import { type Promised, STORE, smallStore, Workload } from './workload.js';

const STEPS = Number(process.env['ROWAN_CRASH_STEPS'] ?? 90);
const SEEDS = [1, 2, 3, 4, 5];

interface Crash {
  readonly files: MemoryFileSystem;
  readonly promised: Promised;
  readonly where: string;
}

/** Every file with its bytes: two crashes that leave the same need one recovery. */
function imageOf(files: MemoryFileSystem): number {
  if (!files.exists(STORE)) return 0;
  let crc = 0;
  for (const name of files.readdir(STORE)) {
    const title = Buffer.from(name);
    const bytes = files.contents(`${STORE}/${name}`);
    crc = crc32(bytes, 0, bytes.length, crc32(title, 0, title.length, crc));
  }
  return crc;
}

describe('a store after a crash at every operation on its files', () => {
  it.each([7, 8])(
    'holds every acknowledged change, and a prefix of the others (script %d)',
    async (seed) => {
      const pending: Crash[] = [];
      const seen = new Set<string>();
      const kinds = new Map<string, number>();
      let points = 0;
      let recoveries = 0;
      let workload: Workload | undefined;
      const crashAll = ({ call, path }: MemoryOperation): void => {
        if (workload === undefined) return;
        points++;
        const kind = `${call} ${path.replace(/^.*\/|\d+/g, '')}`;
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        const { states, acknowledged: least } = workload;
        const promised = { states, least, most: states.length - 1 };
        for (const keepUnsynced of [0, 0.5, 1]) {
          for (const draw of keepUnsynced === 0.5 ? SEEDS : [1]) {
            const random = seededRandom(points * 100 + draw);
            const found = files.crash({ keepUnsynced, random, unit: draw % 2 === 0 ? 512 : 4096 });
            const image = `${imageOf(found)} ${least} ${states.length}`;
            if (seen.has(image)) continue;
            seen.add(image);
            pending.push({
              files: found,
              promised,
              where: `${call} ${path} #${points} keep ${keepUnsynced}`,
            });
          }
        }
      };
      const files: MemoryFileSystem = new MemoryFileSystem({ onOperation: crashAll });
      const checkPending = async (): Promise<void> => {
        for (const crash of pending.splice(0)) {
          recoveries++;
          try {
            await checkRecovered(crash.files, crash.promised);
          } catch (error) {
            throw new Error(`after a crash at ${crash.where}: ${(error as Error).message}`, { cause: error });
          }
        }
      };
      await Workload.run(
        smallStore(files),
        seededRandom(seed),
        STEPS,
        (started) => {
          workload = started;
        },
        checkPending,
      );
      console.log(`${points} crash points, ${recoveries} different recoveries`, Object.fromEntries(kinds));
      expect(points).toBeGreaterThan(STEPS * 5);
      expect(files.openHandles).toBe(0);
    },
    300_000,
  );
});
