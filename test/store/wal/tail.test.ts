import { describe, expect, it } from 'vitest';
import { CorruptionError } from '../../../src/errors.js';
import { ChunkReader, judgeBreak, WAL_KIND } from '../../../src/store/logfile/index.js';
import { type ClosedSegment, Wal } from '../../../src/store/wal/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { scaled } from '../../proof/scale.js';
import {
  append,
  bytesOf,
  OPEN_SEGMENT,
  openWal,
  payloadOf,
  type Replayed,
  replay,
  type SeenRecord,
  segmentOf,
} from './wal-fixture.js';

/** What recovery makes of a damaged segment. */
type Outcome = { readonly kind: 'corrupt' } | { readonly kind: 'read'; readonly replayed: Replayed };

function outcomeOf(bytes: Uint8Array, closed?: ClosedSegment): Outcome {
  try {
    return { kind: 'read', replayed: replay(segmentOf(bytes), [{ number: 1, closed }]) };
  } catch (error) {
    if (!(error instanceof CorruptionError)) throw error;
    expect(error.details.file).toBe('/000001.wal');
    expect(error.details.offset).toBeGreaterThanOrEqual(0);
    expect(error.details.offset).toBeLessThanOrEqual(Math.max(bytes.length, closed?.length ?? 0));
    return { kind: 'corrupt' };
  }
}

/** A segment of 64 KiB, with small records and some that cross blocks, and where each record ends. */
function longSegment(): { bytes: Uint8Array; records: SeenRecord[]; ends: number[] } {
  const files = new MemoryFileSystem();
  const { wal } = openWal(files);
  const random = seededRandom(3);
  const records: SeenRecord[] = [];
  const ends: number[] = [];
  while (wal.size < 65_000) {
    const length = random() < 0.05 ? 9000 + Math.floor(random() * 20_000) : Math.floor(random() * 400);
    records.push(append(wal, records.length + 1, length));
    ends.push(wal.size);
  }
  wal.flushToOs();
  return { bytes: bytesOf(files), records, ends };
}

describe('a segment that ends too early', () => {
  const { bytes, records, ends } = longSegment();

  it('gives back every whole record and cuts the rest, at every length', () => {
    let whole = 0;
    for (let length = 27; length <= bytes.length; length += scaled(197, 5, 1)) {
      while (whole < ends.length && ends[whole]! <= length) whole++;
      const cut = bytes.subarray(0, length);
      const reader = new ChunkReader(cut, WAL_KIND, 1, '/log');
      let count = 0;
      while (reader.next()) count++;
      if (count !== whole) throw new Error(`${count} records in place of ${whole} at length ${length}`);
      const clean = length === ends[whole - 1] || length === 27;
      if (clean !== (reader.broken === undefined)) throw new Error(`not told at length ${length}`);
      if (!clean && !judgeBreak(cut, reader.broken!, WAL_KIND, 1, 27).torn)
        throw new Error(`length ${length} was called damage`);
      if (length % scaled(397, 97, 97) === 0 || length === bytes.length)
        expect(replay(segmentOf(cut), OPEN_SEGMENT).records).toBe(whole);
    }
    expect(whole).toBeGreaterThan(records.length - 2);
    expect(replay(segmentOf(bytes), OPEN_SEGMENT).seen).toEqual(records);
  });

  it('is damaged when not even its header is whole, which was synced before anything named it', () => {
    for (let length = 0; length < 27; length++) {
      expect(outcomeOf(bytes.subarray(0, length)).kind).toBe('corrupt');
    }
  });

  it('is damaged when a later chunk says that what is missing was synced', async () => {
    const files = new MemoryFileSystem();
    const { wal, idle } = openWal(files);
    append(wal, 1, 400);
    await wal.sync();
    idle();
    const whole = bytesOf(files);
    const hole = Uint8Array.from(whole).fill(0, 27, whole.length - 17);
    expect(outcomeOf(hole).kind).toBe('corrupt');
  });

  it('is damaged at any other length when it was closed', () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files);
    const written = [append(wal, 1, 100), append(wal, 2, 100)];
    const [closed] = wal.close();
    const whole = bytesOf(files);
    for (let length = 0; length < whole.length; length++) {
      expect(outcomeOf(whole.subarray(0, length), closed).kind).toBe('corrupt');
    }
    expect(outcomeOf(new Uint8Array([...whole, 0]), closed).kind).toBe('corrupt');
    expect(outcomeOf(whole, closed)).toMatchObject({ kind: 'read', replayed: { seen: written } });
  });

  it('is cut once: what was torn is gone for the next reader', () => {
    const files = segmentOf(bytes.subarray(0, ends[3]! + 20));
    const first = replay(files, OPEN_SEGMENT);
    expect(first.torn).toEqual({ file: '/000001.wal', offset: ends[3], bytes: 20 });
    const again = replay(files, [{ number: 1, closed: first.closed[0] }]);
    expect(again.seen).toEqual(records.slice(0, 4));
    expect(again.torn).toBeUndefined();
    expect(files.openHandles).toBe(0);
  });

  it('is left as it is when only looked at', () => {
    const files = segmentOf(bytes.subarray(0, ends[3]! + 20));
    expect(replay(files, OPEN_SEGMENT, false).torn).toBeDefined();
    expect(bytesOf(files).length).toBe(ends[3]! + 20);
  });
});

describe('a segment with a changed bit', () => {
  /** Groups with and without zeros in their values; the last was synced and acknowledged. */
  async function groups(lastPayload: Uint8Array): Promise<{ files: MemoryFileSystem; idle: () => void }> {
    const files = new MemoryFileSystem();
    const { wal, idle } = openWal(files);
    append(wal, 1, 300);
    append(wal, 2, 700);
    await wal.sync();
    wal.append(3, 1, payloadOf(3, 90), 0, 90);
    wal.append(4, 1, lastPayload, 0, lastPayload.length);
    await wal.sync();
    return { files, idle };
  }

  it.each([
    ['plain values', payloadOf(4, 600)],
    ['a value that is mostly zeros', new Uint8Array(1500).fill(9, 0, 10)],
    ['a record over two blocks', payloadOf(4, 40_000)],
  ])('is damaged, whichever bit of the last acknowledged group it is (%s)', async (_, payload) => {
    for (const marked of [false, true]) {
      const { files, idle } = await groups(payload);
      if (marked) idle();
      const bytes = bytesOf(files);
      const step = payload.length > 10_000 ? scaled(17_003, 211, 1) : scaled(127, 3, 1);
      const quiet: number[] = [];
      for (let bit = 0; bit < 8 * bytes.length; bit += step) {
        bytes[bit >> 3] = bytes[bit >> 3]! ^ (1 << (bit & 7));
        if (outcomeOf(bytes).kind !== 'corrupt') quiet.push(bit);
        bytes[bit >> 3] = bytes[bit >> 3]! ^ (1 << (bit & 7));
      }
      expect(quiet).toEqual([]);
    }
  });

  it('is damaged in any sector or block that is zeroed or swapped before the last synced offset', async () => {
    const files = new MemoryFileSystem();
    const { wal, idle } = openWal(files);
    const random = seededRandom(5);
    for (let index = 1; wal.size < 130_000; index++) append(wal, index, 50 + Math.floor(random() * 3000));
    await wal.sync();
    idle();
    const whole = bytesOf(files);
    for (let sector = 0; sector + 512 < whole.length - 17; sector += scaled(6144, 512, 512)) {
      expect(outcomeOf(Uint8Array.from(whole).fill(0, sector, sector + 512)).kind).toBe('corrupt');
    }
    for (let a = 0; a < 3; a++) {
      for (let b = a + 1; b < 3; b++) {
        const swapped = Uint8Array.from(whole);
        swapped.set(whole.subarray(a * 32_768, (a + 1) * 32_768), b * 32_768);
        swapped.set(whole.subarray(b * 32_768, (b + 1) * 32_768), a * 32_768);
        expect(outcomeOf(swapped).kind).toBe('corrupt');
      }
    }
  });

  it('is damaged when it is another segment under this number', () => {
    const files = new MemoryFileSystem();
    const wal = Wal.create(files, '/', 2);
    append(wal, 1, 10);
    wal.close();
    expect(outcomeOf(bytesOf(files, 2)).kind).toBe('corrupt');
  });
});

describe('a segment whose end the disk wrote only in part', () => {
  it('ends before the first chunk that has a sector of zeros', async () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files);
    const synced = append(wal, 1, 200);
    await wal.sync();
    for (let index = 2; index < 40; index++) append(wal, index, 150 + 37 * index);
    wal.flushToOs();
    const whole = bytesOf(files);
    const from = Math.ceil((27 + 27 + 200) / 512) * 512;
    for (let sector = from; sector < whole.length; sector += 512) {
      const torn = Uint8Array.from(whole).fill(0, sector, sector + 512);
      const outcome = outcomeOf(torn);
      if (outcome.kind === 'corrupt') throw new Error(`the hole at ${sector} was called damage`);
      expect(outcome.replayed.seen[0]).toEqual(synced);
      expect(outcome.replayed.records).toBeLessThan(39);
      for (const [index, record] of outcome.replayed.seen.entries()) expect(record.firstSeq).toBe(index + 1);
    }
  });

  it('is torn, not damaged, when the one bit that is missing lies in a sector that was never written', () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files);
    const payload = new Uint8Array(512 - 27 - 27 + 1);
    payload.fill(7);
    payload[payload.length - 1] = 1;
    wal.append(1, 1, payload, 0, payload.length);
    wal.flushToOs();
    const bytes = bytesOf(files);
    expect(bytes.length).toBe(513);
    bytes[512] = 0;
    expect(outcomeOf(bytes)).toMatchObject({ kind: 'read', replayed: { records: 0, torn: { offset: 27 } } });
    bytes[511] = bytes[511]! ^ 1;
    bytes[512] = 1;
    expect(outcomeOf(bytes).kind).toBe('corrupt');
  });

  it('recovers a prefix after any loss of power, and the next recovery finds the same', async () => {
    for (let seed = 0; seed < scaled(40, 300, 3000); seed++) {
      const random = seededRandom(seed);
      const files = new MemoryFileSystem();
      const { wal, idle } = openWal(files);
      const written: SeenRecord[] = [];
      let acknowledged = 0;
      const steps = 1 + Math.floor(random() * 12);
      for (let step = 0; step < steps; step++) {
        const count = 1 + Math.floor(random() * 4);
        for (let i = 0; i < count; i++) {
          const zeros = random() < 0.3;
          const length = Math.floor(random() ** 3 * 20_000);
          const payload = zeros ? new Uint8Array(length) : payloadOf(written.length + 1, length);
          wal.append(written.length + 1, 1, payload, 0, length);
          written.push({
            firstSeq: written.length + 1,
            count: 1,
            payload: Buffer.from(payload).toString('latin1'),
          });
        }
        if (random() < 0.4) {
          await wal.sync();
          acknowledged = written.length;
          if (random() < 0.5) idle();
        } else {
          wal.flushToOs();
        }
      }
      for (const keepUnsynced of [0, 0.3, 0.7, 1]) {
        const found = files.crash({ keepUnsynced, random, unit: random() < 0.5 ? 512 : 4096 });
        const {
          seen,
          closed: [closed],
        } = replay(found, OPEN_SEGMENT);
        expect(seen.length).toBeGreaterThanOrEqual(acknowledged);
        expect(seen).toEqual(written.slice(0, seen.length));
        expect(replay(found, [{ number: 1, closed }]).seen).toEqual(seen);
      }
    }
  });
});

describe('segments together', () => {
  it('a missing one is damage', () => {
    expect(() => replay(new MemoryFileSystem(), OPEN_SEGMENT)).toThrow(
      expect.objectContaining({
        code: 'ERR_CORRUPTION',
        details: { file: '/000001.wal', offset: 0 },
      }) as Error,
    );
  });
});
