import { describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem, type MemoryOperation } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { fromMiddle, mayGoOn } from '../proof/scale.js';
import { Chain, type Demand, type History } from './concurrent/history.js';
import { observe } from './concurrent/observe.js';
import { Script } from './concurrent/script.js';
import { imageOf } from './image.js';
import { seededRandom } from './seeded-random.js';
import { STORE, smallStore } from './workload.js';

/** Each script: seven clients and two operators. */
const SCRIPTS = fromMiddle(3, 40);
const CHANGES = fromMiddle(12, 20);
/** How many ways there are to lose half of what is unsynced. */
const DRAWS = fromMiddle(2, 3);
/** Of the crashes, every how many the recovery is cut short, too, after each of its operations. */
const SECOND = fromMiddle(40, 25);

interface Crash {
  readonly files: MemoryFileSystem;
  readonly demand: Demand;
  readonly where: string;
}

/** A disk that loses power after each of its operations. */
class CrashingDisk {
  readonly crashes: Crash[] = [];
  readonly files: MemoryFileSystem;
  points = 0;
  history: History | undefined;
  private readonly seen = new Set<string>();

  constructor(readonly seed: number) {
    const random = seededRandom(seed);
    this.files = new MemoryFileSystem({
      onOperation: (operation) => this.crash(operation),
      // A sync takes a while, in which the others go on.
      syncDelay: async () => {
        if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve));
      },
    });
  }

  private crash({ call, path }: MemoryOperation): void {
    if (this.history === undefined || !path.startsWith(STORE)) return;
    const { now } = this.history;
    this.points++;
    for (const keepUnsynced of [0, ...Array<number>(DRAWS).fill(0.5), 1]) {
      const random = seededRandom(this.seed + this.points * 100 + this.crashes.length);
      const files = this.files.crash({
        keepUnsynced,
        random,
        unit: this.points % 2 === 0 ? 512 : 4096,
      });
      const image = `${imageOf(files)} ${now} ${keepUnsynced === 1}`;
      if (this.seen.has(image)) continue;
      this.seen.add(image);
      const demand = { acknowledgedUntil: now, begunUntil: now, syncedOnly: keepUnsynced < 1 };
      this.crashes.push({
        files,
        demand,
        where: `after ${call} ${path} #${this.points} keep ${keepUnsynced}`,
      });
    }
  }
}

async function recover(files: MemoryFileSystem, demand: Demand, history: History): Promise<Set<number>> {
  const engine = await openEmbedded(STORE, smallStore(files, { automatic: false }));
  try {
    const found = await observe(engine);
    history.check(found, demand);
    await engine.verify();
    return new Set(found.changes);
  } finally {
    await engine.close();
  }
}

/** Cuts the recovery short after each of its operations; what is left then must be as good. */
async function recoverTwice({ files, demand }: Crash, history: History): Promise<number> {
  const again: MemoryFileSystem[] = [];
  let operations = 0;
  const disk: MemoryFileSystem = files.crash(
    { keepUnsynced: 1, random: () => 0 },
    {
      onOperation: () => {
        const keepUnsynced = [0, 0.5, 1][operations++ % 3]!;
        again.push(disk.crash({ keepUnsynced, random: seededRandom(operations) }));
      },
    },
  );
  await recover(disk, demand, history);
  for (const each of again) await recover(each, demand, history);
  return again.length;
}

describe('a store whose clients do not wait for each other, after a crash at every operation on its files', () => {
  it.each(Array.from({ length: SCRIPTS }, (_, i) => i + 1))(
    'holds what was promised, and a prefix of one order of the changes (script %d)',
    async (seed) => {
      if (!mayGoOn()) return;
      const disk = new CrashingDisk(seed);
      const script = new Script({
        seed,
        clients: 7,
        changes: CHANGES,
        operators: 2,
        store: smallStore(disk.files, { memstoreFlushSize: 2500, maxFileSize: 12_000 }),
        onError: (error, doing) => {
          // The script closes the store among its operators, too, and two of them may change one table.
          if (error.code === 'ERR_CLOSED' || error.code === 'ERR_BUSY') return;
          throw new Error(`${doing}: ${error.message}`, { cause: error });
        },
      });
      const { history } = script;
      await script.open();
      disk.history = history;
      await script.run();
      await script.look();
      await script.close();
      disk.history = undefined;
      const looks = script.checkLooks();
      // The script closes the store among its writers.
      for (const { id, kind, outcome, code } of history.changes)
        if (outcome !== 'acknowledged' && code !== 'ERR_CLOSED') throw new Error(`${kind} ${id}: ${code}`);
      const chain = new Chain();
      let second = 0;
      for (const [index, crash] of disk.crashes.entries()) {
        try {
          chain.add(await recover(crash.files, crash.demand, history), history, crash.where);
          if (index % SECOND === 0) second += await recoverTwice(crash, history);
        } catch (error) {
          throw new Error(`${crash.where}: ${(error as Error).message}`, { cause: error });
        }
      }
      const states = chain.check();
      expect(states).toBeGreaterThan(1.5 * CHANGES);
      expect(disk.files.openHandles).toBe(0);
      record('concurrent-crash-points', {
        scripts: 1,
        changes: history.changes.length,
        'looks at the open store': looks,
        'crash points': disk.points,
        'recoveries of different disks': disk.crashes.length,
        'recoveries after a second crash': second,
      });
    },
  );
});
