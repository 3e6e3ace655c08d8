/** One script, many stores: how large memory is, how files are written, and what is merged when, changes no answer. */

import { expect, test } from 'vitest';
import { record } from '../../proof/evidence.js';
import { mayGoOn, scaled } from '../../proof/scale.js';
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
  {
    name: 'a block for each row, everything merged at once',
    options: { ...BUSY, compaction: { minFiles: 2, maxFiles: 20, minSize: 1e9 } },
    family: { blockSize: 1024, dataBlockEncoding: 'PREFIX', compression: 'SNAPPY' },
    upkeep: 30,
  },
  {
    name: 'a file for every few writes, merged seldom',
    options: { ...BUSY, memstoreFlushSize: 600, compaction: { minFiles: 9 } },
    family: { compression: 'LZ4', bloomFilter: 'NONE' },
    upkeep: 8,
  },
  {
    name: 'large blocks',
    options: { ...BUSY, durability: 'FSYNC_WAL' },
    family: { blockSize: 1 << 20, compression: 'ZSTD', dataBlockEncoding: 'FAST_DIFF' },
    upkeep: 20,
  },
  {
    name: 'many regions of few rows, one segment of the log each',
    options: { ...BUSY, maxFileSize: 1500, maxWalSegments: 1, walSegmentSize: 1000 },
    family: { dataBlockEncoding: 'DIFF', bloomFilter: 'ROWCOL' },
    upkeep: 10,
  },
];

const SEEDS = Array.from({ length: scaled(1, 4, 200) }, (_, i) => i + 1);
const STEPS = scaled(35, 200, 300);

for (const seed of SEEDS) {
  test(`script ${seed} has the same answers from every store`, async () => {
    if (!mayGoOn()) return;
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
    record('metamorphic', {
      seeds: 1,
      'stores with other options': SETTINGS.length,
      answers: SETTINGS.length * STEPS,
    });
  });
}
