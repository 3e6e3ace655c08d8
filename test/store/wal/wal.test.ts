import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../../src/store/fs/index.js';
import { type ClosedSegment, PreparedSegment, Wal } from '../../../src/store/wal/index.js';
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
        const [closed] = wal.close();
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
    const [closed] = wal.close();
    expect(replay(files, [{ number: 1, closed }]).seen[1]).toEqual(next);
  });

  it.each([0, 700, 5000])(
    'goes on in the next segment when the old one is on the disk (%i bytes prepared)',
    async (room) => {
      const files = new MemoryFileSystem();
      const { wal } = openWal(files, 1000);
      const segments: { number: number; closed?: ClosedSegment }[] = [{ number: 1 }];
      const written: SeenRecord[] = [];
      for (let index = 1; index <= 18; index++) {
        written.push(append(wal, index, 300));
        if (!wal.full) continue;
        const next = await prepared(files, wal.number + 1, room);
        expect(next.room).toBe(room);
        segments.push({ number: next.number });
        const left = wal.switchTo(next);
        expect([wal.switching, wal.number, wal.size]).toEqual([true, next.number, 27]);
        // What comes meanwhile is staged, and in no file.
        written.push(append(wal, ++index, 40));
        wal.flushToOs();
        expect(chunksOf(files, next.number)).toEqual([]);
        const durable = wal.sync();
        const closed = (await left)!;
        expect(bytesOf(files, closed.number).length).toBe(closed.length);
        const found = replay(files.crash(nothingKept()), [{ number: closed.number, closed }]);
        expect(found.seen.at(-1)).toEqual(written.at(-2));
        await durable;
        expect(wal.switching).toBe(false);
        expect(replay(files.crash(nothingKept()), segments).seen).toEqual(written);
        segments[segments.length - 2] = { number: closed.number, closed };
      }
      expect(segments.length).toBeGreaterThan(4);
      expect(segments[0]!.closed).toMatchObject({ firstSeq: 1, lastSeq: 3 });
      const last = wal.close().at(-1)!;
      expect(bytesOf(files, last.number).length).toBe(last.length);
      expect(replay(files, segments).seen).toEqual(written);
      segments[segments.length - 1] = { number: last.number, closed: last };
      expect(replay(files, segments).seen).toEqual(written);
      expect(files.openHandles).toBe(0);
    },
  );

  it('closed while it leaves a segment, it has both on the disk', async () => {
    const files = new MemoryFileSystem();
    const { wal } = openWal(files, 1000);
    const first = append(wal, 1, 300);
    const left = wal.switchTo(await prepared(files, 2, 1000));
    const second = append(wal, 2, 300);
    const durable = wal.sync();
    const [before, last] = wal.close();
    expect(await left).toEqual(before);
    await durable;
    const closed = [before!, last!].map((segment) => ({ number: segment.number, closed: segment }));
    expect(replay(files.crash(nothingKept()), closed).seen).toEqual([first, second]);
    expect(files.openHandles).toBe(0);
  });

  it('knows from its syncs when room is worth its writing', async () => {
    const files = new MemoryFileSystem();
    const wal = Wal.create(files, '/', 1, { preparedSize: 2 ** 20, whenIdle: () => () => undefined });
    const wants: [boolean, boolean][] = [];
    const sync = async (index: number, length: number): Promise<void> => {
      append(wal, index, length);
      await wal.sync();
      wants.push([wal.wantsRoom, wal.wantsSwitch]);
    };
    await sync(1, 10);
    await sync(2, 10);
    await sync(3, 70_000);
    await sync(4, 10);
    await sync(5, 10);
    await wal.switchTo(await prepared(files, 2, 2 ** 20));
    for (let index = 6; index < 25; index++) await sync(index, 60_000);
    const found = wants.map(([room, now]) => (now ? 'now' : room ? 'soon' : 'no'));
    expect(found.slice(0, 5)).toEqual(['no', 'now', 'no', 'no', 'now']);
    expect(found.slice(5).join(' ')).toMatch(/^(no ){13}(soon ?){2,4}(now ?)+$/);
    wal.abandon();
  });

  it('rejects everything after close', async () => {
    const { wal } = openWal(new MemoryFileSystem());
    append(wal, 1, 10);
    const waiting = wal.sync();
    wal.close();
    await waiting;
    expect(() => append(wal, 2, 10)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }) as Error);
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
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
    const other = wal.sync();
    await expect(durable).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
    await expect(other).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
    const last = append(wal, 4, 100);
    await wal.sync();
    expect(wal.poisoned).toBeUndefined();
    expect(replay(disk.crash(nothingKept()), OPEN_SEGMENT).seen).toEqual([first, last]);
    const [closed] = wal.close();
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

  it('closes with the answers of writes that are in it, though others find no room', async () => {
    const { disk, files, wal } = faulty();
    const first = append(wal, 1, 100);
    wal.flushToOs();
    const safe = wal.sync();
    append(wal, 2, 100);
    const lost = expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_IO' });
    files.inject({ calls: ['write'], errno: 'ENOSPC' });
    expect(() => wal.close()).toThrow(expect.objectContaining({ code: 'ERR_IO' }) as Error);
    await Promise.all([safe, lost]);
    expect(replay(disk.crash(nothingKept()), OPEN_SEGMENT).seen).toEqual([first]);
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

  it('never syncs again after a failed sync', async () => {
    const { files, wal } = faulty();
    append(wal, 1, 100);
    const waiting = wal.sync();
    files.inject({ calls: ['sync'] });
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_READONLY', cause: { code: 'ERR_IO' } });
    const before = files.calls;
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(() => wal.flushToOs()).toThrow(/what is on the disk/);
    expect(() => wal.close()).toThrow(/what is on the disk/);
    expect(files.calls).toBe(before);
  });

  it('tells those who wait when the sync of its end fails', async () => {
    const { disk, files, wal } = faulty();
    append(wal, 1, 100);
    const waiting = wal.sync();
    files.inject({ calls: ['sync'] });
    expect(() => wal.close()).toThrow(/what is on the disk/);
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_READONLY', cause: { code: 'ERR_IO' } });
    await expect(wal.sync()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    expect(disk.openHandles).toBe(0);
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

  it.each(['create', 'write', 'prepare', 'sync', 'syncDirectory'] as const)(
    'leaves nothing of a next segment that cannot be made (%s)',
    async (call) => {
      const { disk, files, wal } = faulty();
      files.inject({ calls: [call], path: /000002|\/$/, errno: 'ENOSPC' });
      await expect(prepared(files, 2, 1000)).rejects.toMatchObject({ code: 'ERR_IO' });
      expect(disk.readdir('/')).toEqual(['000001.wal']);
      wal.abandon();
      expect(disk.openHandles).toBe(0);
    },
  );

  it.each(['write', 'truncate'] as const)('stays in a segment that cannot be ended (%s)', async (call) => {
    const { disk, files, wal } = faulty();
    await wal.switchTo(await prepared(files, 2, 1000));
    const first = append(wal, 1, 100);
    await wal.sync();
    const next = await prepared(files, 3, 0);
    files.inject({ calls: [call], path: /000002/, errno: 'ENOSPC' });
    expect(wal.switchTo(next)).toBeUndefined();
    const second = append(wal, 2, 100);
    await wal.sync();
    expect([wal.switching, wal.number]).toEqual([false, 2]);
    expect(replay(disk.crash(nothingKept()), [{ number: 2 }, { number: 3 }]).seen).toEqual([first, second]);
    const [closed] = wal.close();
    next.close();
    expect(replay(disk, [{ number: 2, closed: closed! }]).seen).toEqual([first, second]);
    expect(disk.openHandles).toBe(0);
  });

  it('takes nothing any more when the segment that it leaves cannot be synced', async () => {
    const { disk, files, wal } = faulty();
    const first = append(wal, 1, 100);
    await wal.sync();
    const next = await prepared(files, 2, 1000);
    append(wal, 2, 100);
    files.inject({ calls: ['sync'], path: /000001/ });
    const left = wal.switchTo(next);
    append(wal, 3, 100);
    const waiting = wal.sync();
    await expect(left).rejects.toMatchObject({ code: 'ERR_READONLY' });
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(wal.poisoned?.code).toBe('ERR_READONLY');
    wal.abandon();
    expect(disk.openHandles).toBe(0);
    expect(replay(disk.crash(nothingKept()), [{ number: 1 }, { number: 2 }]).seen).toEqual([first]);
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
    release();
    await first;
    const making = prepared(disk, 2, 0);
    for (let i = 0; i < 4; i++) {
      await turns();
      release();
    }
    const left = wal.switchTo(await making);
    append(wal, 2, 10);
    let done = false;
    const second = wal.sync().then(() => {
      done = true;
    });
    await turns();
    expect(done).toBe(false);
    release();
    await left;
    await turns();
    expect(done).toBe(false);
    release();
    await second;
  });
});

function prepared(files: FileSystem, number: number, room: number): Promise<PreparedSegment> {
  return PreparedSegment.create(files, '/', number, { room, shouldContinue: () => true });
}

/** What stands behind the header of a segment, but for room that was prepared. */
function chunksOf(files: MemoryFileSystem, number: number): number[] {
  return [...bytesOf(files, number).subarray(27)].filter((byte) => byte !== 0);
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
