import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { formatCurrent, Manifest, parseCurrent, readManifest } from '../../src/store/manifest/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../crash/seeded-random.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { BEGINNING, fileEntry } from '../store/manifest/manifest-fixture.js';
import { mutate } from './mutate.js';

const RUNS = scaled(300, 12_000, 1_000_000);

describe('a MANIFEST with random damage', () => {
  it('is the state at some edit after CURRENT was written, or is called damaged', () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    const states = [[...manifest.state.namespaces].join()];
    manifest.log(BEGINNING);
    states.push('shop');
    for (let i = 0; i < 8; i++) {
      manifest.log([
        { type: 'namespaceAdd', name: `n${i}` },
        { type: 'fileAdd', region: 4, family: 2, file: fileEntry(10 + i) },
      ]);
      states.push([...manifest.state.namespaces].join());
    }
    const whole = files.contents('/db/MANIFEST-000001').slice();
    const random = seededRandom(21);
    let damaged = 0;
    let run = 0;
    for (; run < RUNS && (run < 4000 || mayGoOn(1 / 2)); run++) {
      files.place('/db/MANIFEST-000001', mutate(whole, random));
      try {
        const { state } = readManifest(files, '/db');
        if (!states.includes([...state.namespaces].join()))
          throw new Error(`run ${run}: a state that never was`);
      } catch (error) {
        if (!(error instanceof RowanError) || error.code !== 'ERR_CORRUPTION') throw error;
        damaged++;
      }
    }
    expect(damaged).toBeGreaterThan(run / 2);
    record('log-and-manifest-fuzz', { 'states of a store': run });
  });

  it('a CURRENT with random damage is refused', () => {
    const content = Buffer.from(formatCurrent({ manifest: 77, length: 4096 }));
    const random = seededRandom(22);
    for (let run = 0; run < RUNS && (run < 4000 || mayGoOn()); run++) {
      const bad = Buffer.from(mutate(content, random));
      if (bad.equals(content)) continue;
      expect(() => parseCurrent(bad.toString('latin1'), '/CURRENT')).toThrow(RowanError);
    }
  });
});
