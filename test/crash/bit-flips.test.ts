import { describe, expect, it } from 'vitest';
import { loadKeys, withEncryption } from '../../src/store/encryption/encrypted-file-system.js';
import { parseStoreFileName } from '../../src/store/fs/index.js';
import { findStore } from '../../src/store/manifest/index.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { replayWal } from '../../src/store/wal/index.js';
import type { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { encryptedBy } from '../store/encryption/keys.js';
import { makeStore, open, outcome, readAll } from './sample-store.js';
import { seededRandom } from './seeded-random.js';
import { STORE } from './workload.js';

/** Of sorted files, every how many bytes one bit is changed. */
const STRIDE = scaled(263, 11, 1);

describe.each([
  ['a store that was closed', true, {}],
  ['a store whose process died', false, {}],
  ['an encrypted store that was closed', true, encryptedBy('k1')],
  ['an encrypted store whose process died', false, encryptedBy('k1')],
] as const)('one changed bit in any file of %s', (_, closed, options) => {
  it('is reported as damage, or changes nothing that is read', async () => {
    const store = await makeStore(closed, options);
    const original = store.crash({ keepUnsynced: 1, random: () => 0 });
    const engine = await open(original, options);
    const expected = await readAll(engine);
    await engine.close();
    const isSpare = await spareOf(store.crash({ keepUnsynced: 1, random: () => 0 }), options);
    const random = seededRandom(5);
    /** How often each place is tried, with another bit. */
    const turns = scaled(1, 1, 4);
    const quiet: { readonly name: string; readonly at: number }[] = [];
    let flips = 0;
    for (const name of store.readdir(STORE)) {
      const length = store.fileSize(`${STORE}/${name}`);
      // Log and MANIFEST have tests of their own for every bit; here they are only sampled.
      const stride = name.endsWith('.sst') ? STRIDE : scaled(541, 29, 1);
      for (let step = 0; step < length * turns && (step < length || mayGoOn()); step += stride) {
        const at = step % length;
        const files = store.crash({ keepUnsynced: 1, random: () => 0 });
        files.contents(`${STORE}/${name}`)[at]! ^= 1 << Math.floor(random() * 8);
        flips++;
        const damaged = await outcome(files, expected, options);
        if (!damaged && !isSpare(name, at)) quiet.push({ name, at });
      }
    }
    expect(flips).toBeGreaterThan(scaled(30, 300, 300));
    expect(ranges(quiet)).toEqual([]);
    record('bit-flips', { flips });
  });
});

describe.each([
  ['a file', {}],
  ['an encrypted file', encryptedBy('k1')],
] as const)('a sector of %s', (_, options) => {
  it('is reported as damage when it is zeros, or that of another file', async () => {
    const store = await makeStore(true, options);
    const original = store.crash({ keepUnsynced: 1, random: () => 0 });
    const engine = await open(original, options);
    const expected = await readAll(engine);
    await engine.close();
    const names = store.readdir(STORE).filter((name) => name !== 'LOCK');
    for (const name of names) {
      const path = `${STORE}/${name}`;
      const other = store.contents(
        `${STORE}/${names.find((each) => each !== name && each.endsWith('.sst'))}`,
      );
      for (let at = 0; at < store.fileSize(path); at += 512) {
        for (const source of [new Uint8Array(512), other.slice(0, 512)]) {
          const files = store.crash({ keepUnsynced: 1, random: () => 0 });
          const bytes = files.contents(path);
          bytes.set(source.subarray(0, Math.min(source.length, bytes.length - at)), at);
          if (!(await outcome(files, expected, options))) throw new Error(`${name} at ${at}`);
        }
      }
    }
  });
});

/** Whether nobody reads a byte: it is of a log that no MANIFEST names any more, or of room that was prepared and not used. */
async function spareOf(
  disk: MemoryFileSystem,
  { encryption }: Partial<EmbeddedOptions>,
): Promise<(name: string, at: number) => boolean> {
  const files = withEncryption(disk, encryption);
  await loadKeys(files, STORE);
  const { state } = findStore(files, STORE);
  const segments = [...state.walSegments.values()];
  const { closed } = replayWal(files, STORE, segments, () => {}, { repair: false });
  return (name, at) => {
    const parsed = parseStoreFileName(name);
    if (parsed?.kind !== 'wal') return false;
    const open = closed.find(({ number }) => number === parsed.number);
    return !state.walSegments.has(parsed.number) || (open !== undefined && at >= open.length);
  };
}

/** Neighbours in one: `000004.sst 261-326`. */
function ranges(places: readonly { readonly name: string; readonly at: number }[]): string[] {
  const out: { name: string; from: number; to: number }[] = [];
  for (const { name, at } of places) {
    const last = out.at(-1);
    if (last?.name === name && at - last.to < 30) last.to = at;
    else out.push({ name, from: at, to: at });
  }
  return out.map(({ name, from, to }) => `${name} ${from}-${to}`);
}
