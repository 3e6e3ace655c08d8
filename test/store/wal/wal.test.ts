import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClosedSegment, Wal } from '../../../src/store/wal/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { append, bytesOf, OPEN_SEGMENT, openWal, replay, type SeenRecord } from './wal-fixture.js';

const nothingKept = () => ({ keepUnsynced: 0, random: seededRandom(1) });

describe('the write-ahead log', () => {
  it('gives back records of every size, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 80_000 }), { maxLength: 12 }), (lengths) => {
        const files = new MemoryFileSystem();
        const { wal } = openWal(files);
        const written = lengths.map((length, index) => append(wal, index + 1, length));
        const closed = wal.close();
        expect(replay(files, [{ number: 1, closed }]).seen).toEqual(written);
        expect(replay(files, OPEN_SEGMENT).seen).toEqual(written);
      }),
      { numRuns: 60 },
    );
  });

  it('gives back records that end at each place around the end of a block', () => {
    for (let length = 32_768 - 27 - 17 - 10 - 40; length < 32_768 - 27 - 17 - 10 + 20; length++) {
      const files = new MemoryFileSystem();
      const { wal } = openWal(files);
      const written = [append(wal, 1, length), append(wal, 2, 5), append(wal, 3, 40_000)];
      wal.close();
      expect(replay(files, OPEN_SEGMENT).seen).toEqual(written);
    }
  });

  it('copies what is appended', () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files);
    const buffer = Buffer.from('..abc..');
    wal.append(7, 3, buffer, 2, 3);
    buffer.fill(0);
    wal.close();
    expect(replay(files, OPEN_SEGMENT).seen).toEqual([{ firstSeq: 7, count: 3, payload: 'abc' }]);
  });

  it('refuses numbers that a record cannot have', () => {
    const { wal } = openWal(new MemoryFileSystem());
    for (const [firstSeq, count] of [
      [-1, 1],
      [2 ** 48, 1],
      [1, 0],
      [Number.NaN, 1],
    ] as const) {
      expect(() => wal.append(firstSeq, count, new Uint8Array(1), 0, 1)).toThrow(/cannot be numbered/);
    }
  });

  it('has on the disk what sync resolved for, and more only by luck', async () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files);
    const first = append(wal, 1, 100);
    await wal.sync();
    const second = append(wal, 2, 100);
    wal.flushToOs();
    append(wal, 3, 100);
    expect(replay(files.crash(nothingKept()), OPEN_SEGMENT).seen).toEqual([first]);
    expect(replay(files.crash({ keepUnsynced: 1, random: Math.random }), OPEN_SEGMENT).seen).toEqual([
      first,
      second,
    ]);
  });

  it('shares one sync among all of a turn, and gathers the next group while one is under way', async () => {
    const syncs: (() => void)[] = [];
    let count = 0;
    const files = new MemoryFileSystem({
      syncDelay: () => {
        count++;
        return new Promise((resolve) => syncs.push(resolve));
      },
    });
    const { wal } = openWal(files);
    let done = 0;
    const put = async (index: number): Promise<void> => {
      append(wal, index, 50);
      await wal.sync();
      done++;
    };
    const first = Array.from({ length: 20 }, (_, i) => put(1 + i));
    await Promise.resolve();
    expect(count).toBe(1);
    const second = Array.from({ length: 30 }, (_, i) => put(100 + i));
    await turns();
    expect([count, done]).toEqual([1, 0]);
    syncs[0]!();
    await Promise.all(first);
    await turns();
    expect([count, done]).toEqual([2, 20]);
    syncs[1]!();
    await Promise.all(second);
    expect(done).toBe(50);
    await wal.sync();
    expect(count).toBe(2);
  });

  it('begins a sync by itself when much is written, and writes by itself when much is staged', async () => {
    const files = new MemoryFileSystem();
    const wal = Wal.create(files, '/', 1, { stagingSize: 1000, bytesPerSync: 5000 });
    for (let index = 1; index <= 12; index++) append(wal, index, 500);
    await turns();
    expect(replay(files.crash(nothingKept()), OPEN_SEGMENT).records).toBeGreaterThanOrEqual(9);
    wal.abandon();
  });

  it('marks the synced offset once when idle', async () => {
    const files = new MemoryFileSystem();
    const { wal, idle } = openWal(files);
    append(wal, 1, 10);
    await wal.sync();
    const before = bytesOf(files).length;
    idle();
    idle();
    await wal.sync();
    idle();
    expect(bytesOf(files).length).toBe(before + 17);
    const next = append(wal, 2, 10);
    const closed = wal.close();
    expect(replay(files, [{ number: 1, closed }]).seen[1]).toEqual(next);
  });

  it('goes on in the next segment, with the old one recorded before anything is in the new one', () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files, 1000);
    const segments: { number: number; closed?: ClosedSegment }[] = [{ number: 1 }];
    const written: SeenRecord[] = [];
    for (let index = 1; index <= 18; index++) {
      written.push(append(wal, index, 300));
      if (wal.full) {
        wal.rotate(wal.number + 1, (closed, opened) => {
          const found = replay(files.crash(nothingKept()), [{ number: closed.number, closed }]);
          expect(found.seen.at(-1)).toEqual(written.at(-1));
          expect(bytesOf(files, opened).length).toBe(27);
          segments[segments.length - 1] = { number: closed.number, closed };
          segments.push({ number: opened });
        });
      }
    }
    expect(segments.length).toBe(7);
    expect(segments[0]!.closed).toMatchObject({ firstSeq: 1, lastSeq: 3 });
    const last = wal.close();
    expect(last).toMatchObject({ number: 7, length: 27, firstSeq: 0, lastSeq: -1 });
    expect(replay(files, segments).seen).toEqual(written);
    expect(files.openHandles).toBe(0);
  });

  it('rejects everything after close', async () => {
    const { wal } = openWal(new MemoryFileSystem());
    append(wal, 1, 10);
    const waiting = wal.sync();
    wal.close();
    await waiting;
    expect(() => append(wal, 2, 10)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }) as Error);
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await expect(wal.written()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    expect(() => wal.close()).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }) as Error);
    wal.abandon();
  });
});

describe('the write-ahead log when the disk fails', () => {
  function faulty() {
    const disk = new MemoryFileSystem();
    const files = new FaultFileSystem(disk);
    return { disk, files, ...openWal(files) };
  }

  it('takes back what a full disk took half of, tells all who wait for it, and goes on', async () => {
    const { disk, files, wal } = faulty();
    const first = append(wal, 1, 100);
    await wal.sync();
    files.inject({ calls: ['write'], errno: 'ENOSPC', shortWrite: (length) => length - 20 });
    append(wal, 2, 100);
    const durable = wal.sync();
    append(wal, 3, 100);
    const handedOver = wal.written();
    await expect(durable).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
    await expect(handedOver).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
    const last = append(wal, 4, 100);
    await wal.sync();
    expect(wal.poisoned).toBeUndefined();
    expect(replay(disk.crash(nothingKept()), OPEN_SEGMENT).seen).toEqual([first, last]);
    const closed = wal.close();
    expect(replay(disk, [{ number: 1, closed }]).seen).toEqual([first, last]);
  });

  it('keeps those out of it whose records were written before', async () => {
    const { files, wal } = faulty();
    append(wal, 1, 100);
    wal.flushToOs();
    const safe = wal.sync();
    append(wal, 2, 100);
    files.inject({ calls: ['write'], errno: 'ENOSPC' });
    const lost = wal.sync();
    await expect(lost).rejects.toMatchObject({ code: 'ERR_IO' });
    await safe;
  });

  it('tells the caller of flushToOs, and the others too', async () => {
    const { files, wal } = faulty();
    append(wal, 1, 100);
    const other = wal.sync();
    files.inject({ calls: ['write'], errno: 'EDQUOT' });
    expect(() => wal.flushToOs()).toThrow(expect.objectContaining({ code: 'ERR_IO' }) as Error);
    await expect(other).rejects.toMatchObject({ code: 'ERR_IO' });
    wal.flushToOs();
  });

  it('takes nothing any more when the half-written cannot be taken back', async () => {
    const { disk, files, wal } = faulty();
    const first = append(wal, 1, 100);
    await wal.sync();
    files.inject({ calls: ['write'], errno: 'ENOSPC', shortWrite: () => 60 });
    files.inject({ calls: ['truncate'] });
    append(wal, 2, 100);
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(() => append(wal, 3, 100)).toThrow(expect.objectContaining({ code: 'ERR_READONLY' }) as Error);
    expect(wal.poisoned?.code).toBe('ERR_READONLY');
    wal.abandon();
    expect(replay(disk, OPEN_SEGMENT)).toMatchObject({ seen: [first], torn: { bytes: 60 } });
  });

  it.each(['async', 'sync'] as const)('never syncs again after a failed sync (%s)', async (how) => {
    const { files, wal } = faulty();
    append(wal, 1, 100);
    const waiting = wal.sync();
    files.inject({ calls: ['sync'] });
    if (how === 'sync') expect(() => wal.rotate(2, () => {})).toThrow(/what is on the disk/);
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_READONLY', cause: { code: 'ERR_IO' } });
    const before = files.calls;
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_READONLY' });
    await expect(wal.written()).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(() => wal.flushToOs()).toThrow(/what is on the disk/);
    expect(() => wal.close()).toThrow(/what is on the disk/);
    expect(files.calls).toBe(before);
  });

  it('lets no mark that cannot be written harm anybody', async () => {
    const { disk, files, wal, idle } = faulty();
    const first = append(wal, 1, 100);
    await wal.sync();
    files.inject({ calls: ['write'], errno: 'ENOSPC', shortWrite: () => 9 });
    idle();
    const second = append(wal, 2, 100);
    await wal.sync();
    wal.abandon();
    expect(replay(disk, OPEN_SEGMENT).seen).toEqual([first, second]);
  });

  it('stays in the old segment when the new one cannot be made or recorded', async () => {
    for (const fault of ['create', 'write', 'sync', 'syncDirectory', 'journal'] as const) {
      const { disk, files, wal } = faulty();
      const first = append(wal, 1, 100);
      await wal.sync();
      const onlyNew = { path: /000002|\/$/, errno: 'ENOSPC' };
      if (fault !== 'journal') files.inject({ calls: [fault], ...onlyNew });
      const full = Object.assign(new Error('full'), { code: 'ERR_IO' });
      expect(() =>
        wal.rotate(2, () => {
          throw full;
        }),
      ).toThrow();
      expect(disk.readdir('/')).toEqual(['000001.wal']);
      const second = append(wal, 2, 100);
      await wal.sync();
      const closed = wal.close();
      expect(replay(disk, [{ number: 1, closed }]).seen).toEqual([first, second]);
      expect(disk.openHandles).toBe(0);
    }
  });

  it('takes nothing any more when it is unknown which segment is recorded', async () => {
    const { disk, files, wal } = faulty();
    append(wal, 1, 100);
    const unknown = Object.assign(new Error('unknown'), { code: 'ERR_READONLY' });
    expect(() =>
      wal.rotate(2, () => {
        throw unknown;
      }),
    ).toThrow('unknown');
    expect(disk.readdir('/')).toEqual(['000001.wal', '000002.wal']);
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(files.failures).toBe(0);
  });

  it('does not close a file under a sync that is under way', async () => {
    let release = (): void => {};
    const disk = new MemoryFileSystem({
      syncDelay: () =>
        new Promise((resolve) => {
          release = resolve;
        }),
    });
    const { wal } = openWal(disk);
    append(wal, 1, 10);
    const first = wal.sync();
    await turns();
    wal.rotate(2, () => {});
    await first;
    append(wal, 2, 10);
    let done = false;
    const second = wal.sync().then(() => {
      done = true;
    });
    await turns();
    expect(done).toBe(false);
    release();
    await turns();
    release();
    await second;
  });
});

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
