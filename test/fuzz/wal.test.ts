import { describe, expect, it } from 'vitest';
import { CorruptionError } from '../../src/errors.js';
import { fileSeed, LAST_CHUNK_TYPE, WAL_KIND, writeChunkHeader } from '../../src/store/logfile/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../crash/seeded-random.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import {
  append,
  bytesOf,
  OPEN_SEGMENT,
  openWal,
  replay,
  type SeenRecord,
  segmentOf,
} from '../store/wal/wal-fixture.js';
import { mutate } from './mutate.js';

const RUNS = scaled(3000, 12_000, 1_000_000);

async function segment(): Promise<{ bytes: Uint8Array; records: SeenRecord[] }> {
  const files = new MemoryFileSystem();
  const { wal, idle } = openWal(files);
  const records: SeenRecord[] = [];
  for (let index = 1; index <= 12; index++) {
    records.push(append(wal, index, index === 5 ? 3000 : 20 * index));
    if (index % 4 === 0) {
      await wal.sync();
      idle();
    }
  }
  return { bytes: bytesOf(files), records };
}

describe('a WAL segment with random damage', () => {
  it('gives back records that were written, in order, or is called damaged', async () => {
    const { bytes, records } = await segment();
    const random = seededRandom(11);
    let damaged = 0;
    let run = 0;
    for (; run < RUNS && (run < 4000 || mayGoOn(0.7)); run++) {
      const bad = mutate(bytes, random);
      try {
        const { seen } = replay(segmentOf(bad), OPEN_SEGMENT);
        for (let i = 0; i < seen.length; i++) {
          if (seen[i]!.payload !== records[i]?.payload || seen[i]!.firstSeq !== records[i]!.firstSeq)
            throw new Error(`run ${run}: wrong data`);
        }
      } catch (error) {
        if (!(error instanceof CorruptionError)) throw error;
        damaged++;
      }
    }
    expect(damaged).toBeGreaterThan(run / 2);
    record('log-and-manifest-fuzz', { logs: run });
  });

  it('is read to some end, without any other error, even when the checks fit the damage', async () => {
    const { bytes } = await segment();
    const random = seededRandom(12);
    let read = 0;
    for (let run = 0; run < RUNS / 4 && (run < 1000 || mayGoOn()); run++) {
      const bad = mutate(bytes, random);
      for (let at = 27; at + 17 < bad.length; ) {
        const length = Math.min(Math.floor(random() * 700), bad.length - at - 17);
        const type = 1 + Math.floor(random() * LAST_CHUNK_TYPE);
        writeChunkHeader(bad, at, fileSeed(WAL_KIND, 1), at, type, length, random() < 0.9 ? 0 : at);
        at += 17 + length;
      }
      try {
        read += replay(segmentOf(bad), OPEN_SEGMENT).records;
      } catch (error) {
        if (!(error instanceof CorruptionError)) throw error;
      }
    }
    expect(read).toBeGreaterThan(0);
  });
});
