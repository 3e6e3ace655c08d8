import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { StoreEvent } from '../../src/store/events.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { fromMiddle, mayGoOn } from '../proof/scale.js';
import { type Fault, FaultFileSystem, type FileCall } from '../store/fs/fault-fs.js';
import type { Demand, History } from './concurrent/history.js';
import { observe } from './concurrent/observe.js';
import { Script, type ScriptOptions } from './concurrent/script.js';
import { seededRandom } from './seeded-random.js';
import { STORE, smallStore } from './workload.js';

/** Every how many operations a failure is tried; 1 tries each. */
const STRIDE = fromMiddle(37, 1);
const SEEDS = fromMiddle(1, 4);
/** What of the time they may take, where it is to be cut short. */
const KINDS_PART = 0.4;
/** Random runs with small logs and memstores; so many of them in any case. */
const LEAST_SMALL_RUNS = 12;
const SMALL_RUNS = fromMiddle(200, 5000);

interface Kind {
  readonly name: string;
  readonly calls: readonly FileCall[];
  readonly errno: string;
  readonly times: number;
  /** What reaches the file of a write that fails. */
  readonly kept: (length: number) => number;
}

const none = (): number => 0;
const half = (length: number): number => length >> 1;

const KINDS: readonly Kind[] = [
  { name: 'one write fails', calls: ['write'], errno: 'EIO', times: 1, kept: none },
  { name: 'one write is cut short', calls: ['write'], errno: 'EIO', times: 1, kept: half },
  {
    name: 'the disk is full for a while',
    calls: ['write', 'create'],
    errno: 'ENOSPC',
    times: 25,
    kept: half,
  },
  {
    name: 'the disk is full from here on',
    calls: ['write', 'create'],
    errno: 'ENOSPC',
    times: Infinity,
    kept: half,
  },
  { name: 'one sync fails', calls: ['sync'], errno: 'EIO', times: 1, kept: none },
  { name: 'one folder cannot be synced', calls: ['syncDirectory'], errno: 'EIO', times: 1, kept: none },
  { name: 'one rename fails', calls: ['rename'], errno: 'EIO', times: 1, kept: none },
  {
    name: 'no file can be opened for a while',
    calls: ['open', 'create'],
    errno: 'EMFILE',
    times: 9,
    kept: none,
  },
  {
    name: 'no file can be opened any more',
    calls: ['open', 'create'],
    errno: 'EMFILE',
    times: Infinity,
    kept: none,
  },
  { name: 'one read fails', calls: ['read'], errno: 'EIO', times: 1, kept: none },
  { name: 'one removal fails', calls: ['unlink'], errno: 'EIO', times: 1, kept: none },
  { name: 'one truncation fails', calls: ['truncate', 'write'], errno: 'EIO', times: 2, kept: half },
  { name: 'everything fails from here on', calls: [], errno: 'EIO', times: Infinity, kept: half },
];

/** What a client of a failing disk may be told. */
const TYPED = new Set(['ERR_IO', 'ERR_READONLY', 'ERR_CLOSED', 'ERR_BUSY']);

describe('a store on a disk that fails under 16 clients', () => {
  it.each(KINDS)('loses nothing acknowledged and shows nothing rejected: $name', async (kind) => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    let runs = 0;
    try {
      const part = (KINDS_PART * (KINDS.indexOf(kind) + 1)) / KINDS.length;
      for (let seed = 1; seed <= SEEDS && (seed === 1 || mayGoOn(part)); seed++) {
        for (let after = 0; await runKind(kind, after, seed); after += STRIDE) {
          runs++;
          await new Promise((resolve) => setImmediate(resolve));
          if (unhandled.length > 0) throw new Error(`${kind.name} after ${after}`, { cause: unhandled[0] });
        }
      }
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
    expect(runs).toBeGreaterThan(0);
    record('concurrent-faults', { 'runs with a failure': runs });
  });
});

function runKind({ name, calls, errno, times, kept }: Kind, after: number, seed: number): Promise<boolean> {
  return runWithFault(
    name,
    { seed, clients: 16, changes: 4, operators: 2 },
    { memstoreFlushSize: 2500, maxFileSize: 12_000 },
    { ...(calls.length > 0 ? { calls } : {}), after, times, errno, shortWrite: kept },
  );
}

/**
 * Six clients that write more than logs and memstores hold, so that segments end and families are flushed in the turns of
 * the writes themselves, on a disk on which one kind of file fails from some call on. Everything is drawn from the seed.
 */
describe('a store of small logs and memstores of which one kind of file fails', () => {
  it(`shows nothing rejected, counts exactly and has batches whole, in ${SMALL_RUNS} random runs`, async () => {
    let failed = 0;
    let runs = 0;
    const splits = { count: 0 };
    for (let seed = 1; seed <= SMALL_RUNS && (seed <= LEAST_SMALL_RUNS || mayGoOn()); seed++, runs++) {
      if (await runSmall(seed, splits)) failed++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(failed).toBeGreaterThan(runs / 2);
    record('concurrent-faults', {
      'random runs with small logs and memstores': runs,
      'splits in them': splits.count,
    });
  });
});

async function runSmall(seed: number, splits: { count: number }): Promise<boolean> {
  const random = seededRandom(seed * 7919);
  const choose = <T>(...of: T[]): T => of[Math.floor(random() * of.length)]!;
  const path = choose(/wal$/, /wal$/, /wal$/, /sst$/, /MANIFEST/);
  const calls = choose<readonly FileCall[]>(['write'], ['write'], ['write', 'create'], ['sync']);
  const fault: Fault = {
    calls,
    path,
    after: Math.floor(random() * (calls[0] === 'sync' ? 20 : 60)),
    times: choose(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1, 5),
    errno: choose('EIO', 'ENOSPC'),
    shortWrite: choose(half, none),
  };
  const store = {
    walSegmentSize: choose(8192, 30_720),
    memstoreFlushSize: choose(2500, 12_288),
    maxFileSize: choose(4000, 12_000, 1 << 20),
    onEvent: ({ kind }: StoreEvent) => void (kind === 'split' && splits.count++),
  };
  const script = {
    seed,
    clients: 6,
    changes: 60,
    operators: choose(0, 0, 1),
    splitting: choose(true, false),
  };
  return runWithFault(`small, ${path} ${calls}`, script, store, fault);
}

/** Runs a script on the failing disk, then looks at what is left. False when no failure was met. */
async function runWithFault(
  name: string,
  load: Pick<ScriptOptions, 'seed' | 'clients' | 'changes' | 'operators' | 'splitting'>,
  store: Partial<EmbeddedOptions>,
  fault: Fault,
): Promise<boolean> {
  const disk = new MemoryFileSystem();
  const files = new FaultFileSystem(disk);
  const script = new Script({
    ...load,
    store: smallStore(files, store),
    onError: ({ code, message }, doing) => {
      if (!TYPED.has(code)) throw new Error(`${doing}: ${code} ${message}`);
    },
  });
  try {
    await script.open();
    files.inject(fault);
    await script.run();
    const failed = files.failures > 0;
    await readOn(script, files);
    files.clear();
    await close(script);
    script.checkLooks();
    checkTyped(script.history);
    if (disk.openHandles > 0) throw new Error(`${disk.openHandles} files were left open`);
    await checkLeft(disk, script.history);
    return failed;
  } catch (error) {
    throw new Error(`${name} after ${fault.after}, seed ${load.seed}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The failing store is read on, with a failing disk if that does not concern reads. */
async function readOn(script: Script, files: FaultFileSystem): Promise<void> {
  try {
    await script.look();
  } catch (error) {
    if (!(error instanceof RowanError) || !TYPED.has(error.code)) throw error;
  }
  files.clear();
  try {
    await script.look();
  } catch (error) {
    // A new life that could not begin.
    if (!(error instanceof RowanError) || error.code !== 'ERR_CLOSED') throw error;
  }
}

async function close(script: Script): Promise<void> {
  try {
    await script.close();
  } catch (error) {
    if (!(error instanceof RowanError) || !TYPED.has(error.code)) throw error;
  }
}

function checkTyped(history: History): void {
  for (const { id, kind, outcome, code } of history.changes) {
    if (outcome === 'open') throw new Error(`change ${id} (${kind}) was never answered`);
    if (outcome === 'rejected' && !TYPED.has(code!)) throw new Error(`change ${id} (${kind}): ${code}`);
  }
}

/** What was on the disk for certain, and what is there, open again; no file is left that nothing needs. */
async function checkLeft(disk: MemoryFileSystem, history: History): Promise<void> {
  const demand: Demand = {
    acknowledgedUntil: history.now,
    begunUntil: history.now,
    syncedOnly: false,
    doubtfulUntil: history.now,
  };
  await checkStore(disk.crash({ keepUnsynced: 0, random: () => 0 }), history, {
    ...demand,
    syncedOnly: true,
  });
  await checkStore(disk, history, demand);
  const left = disk.readdir(STORE).length;
  await checkStore(disk, history, demand);
  const again = disk.readdir(STORE).length;
  if (again < left) throw new Error(`${left - again} files were left behind by the opening before`);
}

async function checkStore(files: MemoryFileSystem, history: History, demand: Demand): Promise<void> {
  const engine = await openEmbedded(STORE, smallStore(files, { automatic: false }));
  try {
    history.check(await observe(engine), demand);
    await engine.verify();
  } finally {
    await engine.close();
  }
  if (files.openHandles > 0) throw new Error(`${files.openHandles} files were left open by a recovery`);
}
