import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { FaultFileSystem, type FileCall } from '../store/fs/fault-fs.js';
import type { Demand, History } from './concurrent/history.js';
import { observe } from './concurrent/observe.js';
import { Script } from './concurrent/script.js';
import { STORE, smallStore } from './workload.js';

/** Every how many operations a failure is tried; 1 tries each. */
const STRIDE = scaled(331, 37, 1);
const SEEDS = scaled(1, 1, 4);

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
      const part = (KINDS.indexOf(kind) + 1) / KINDS.length;
      for (let seed = 1; seed <= SEEDS && (seed === 1 || mayGoOn(part)); seed++) {
        for (let after = 0; await runWithFault(kind, after, seed); after += STRIDE) {
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

/** Runs a script on the failing disk, then looks at what is left. False when no failure was met. */
async function runWithFault(kind: Kind, after: number, seed: number): Promise<boolean> {
  const disk = new MemoryFileSystem();
  const files = new FaultFileSystem(disk);
  const script = new Script({
    seed,
    clients: 16,
    changes: 4,
    operators: 2,
    store: smallStore(files, { memstoreFlushSize: 2500, maxFileSize: 12_000 }),
    onError: ({ code, message }, doing) => {
      if (!TYPED.has(code)) throw new Error(`${doing}: ${code} ${message}`);
    },
  });
  try {
    await script.open();
    const { calls, errno, times, kept } = kind;
    files.inject({ ...(calls.length > 0 ? { calls } : {}), after, times, errno, shortWrite: kept });
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
    throw new Error(`${kind.name} after ${after}, seed ${seed}: ${(error as Error).message}`, {
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
