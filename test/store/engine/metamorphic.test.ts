/** One script, many stores: how large memory is, how files are written, and what is merged when, changes no answer. */

import { expect, test } from 'vitest';
import { script } from './script.js';
import { ScriptRun, type Setting } from './script-run.js';
import { withFolder } from './support.js';

const BUSY = {
  automatic: true,
  memstoreFlushSize: 2000,
  memstoreLimit: 8000,
  walSegmentSize: 4000,
  maxWalSegments: 3,
  maxFileSize: 6000,
  compaction: { minFiles: 2, minSize: 4000 },
};

const SETTINGS: readonly Setting[] = [
  { name: 'everything in memory', options: { automatic: false }, family: {}, upkeep: 0 },
  {
    name: 'all by hand',
    options: { automatic: false },
    family: { bloomFilter: 'NONE', blockSize: 1024 },
    upkeep: 40,
  },
  {
    name: 'small blocks, each key after the one before',
    options: { ...BUSY, blockCacheSize: 4096 },
    family: { dataBlockEncoding: 'PREFIX', compression: 'GZ', blockSize: 1024, bloomFilter: 'ROWCOL' },
    upkeep: 10,
  },
  {
    name: 'split from the first, few open files',
    options: { ...BUSY, maxOpenFiles: 2 },
    family: { dataBlockEncoding: 'DIFF', compression: 'LZO', blockSize: 1024 },
    splitKeys: ['row-07', 'row-20', 'row-33'],
    upkeep: 15,
  },
  {
    name: 'no cache',
    options: { automatic: false, blockCacheSize: 0 },
    family: {
      dataBlockEncoding: 'FAST_DIFF',
      compression: 'BROTLI',
      bloomFilter: 'ROWCOL',
      blockCache: false,
    },
    upkeep: 25,
  },
  {
    name: 'rows with a table of their columns, held in memory',
    options: { ...BUSY, durability: 'SKIP_WAL', maxFileSize: 1e9 },
    family: { dataBlockEncoding: 'ROW_INDEX_V1', inMemory: true, blockSize: 2048 },
    // What is not logged does not outlive the store: nothing that closes it.
    upkeep: 0,
  },
  {
    name: 'on the disk, by workers',
    options: { ...BUSY, background: 'worker' },
    family: { dataBlockEncoding: 'ROW_INDEX_V1', compression: 'GZ', blockSize: 1024 },
    disk: true,
    upkeep: 5,
  },
  {
    name: 'on the disk, in this thread',
    options: { ...BUSY, background: 'inline', durability: 'FSYNC_WAL' },
    family: { bloomFilter: 'ROWCOL' },
    disk: true,
    upkeep: 5,
  },
];

const SEEDS = [1, 2];
const STEPS = 200;

for (const seed of SEEDS) {
  test(`script ${seed} has the same answers from every store`, async () => {
    const steps = script(seed, STEPS);
    let expected: string[] | undefined;
    for (const [index, setting] of SETTINGS.entries()) {
      await withFolder(async (folder) => {
        const run = new ScriptRun(setting, setting.disk ? folder : '', seed * 100 + index);
        const answers = await run.run(steps);
        expected ??= answers;
        const differing = answers.findIndex((answer, at) => answer !== expected![at]);
        const where = `script ${seed}, ${setting.name}, step ${differing}`;
        expect(answers[differing], where).toBe(expected[differing]);
      });
    }
  }, 60_000);
}
