/** Torn writes, damage and missing ends in segments whose room was prepared. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CorruptionError } from '../../../src/errors.js';
import { PreparedSegment, Wal } from '../../../src/store/wal/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { append, bytesOf, OPEN_SEGMENT, replay, type SeenRecord, segmentOf } from './wal-fixture.js';

const ROOM = 8192;
const SECTOR = 512;

interface Written {
  /** The segment with its room. */
  readonly bytes: Uint8Array;
  /** The length of what is written. */
  readonly end: number;
  /** Where what is known to be synced ends. */
  readonly synced: number;
  readonly safe: readonly SeenRecord[];
  readonly all: readonly SeenRecord[];
}

/** A segment with room, of which the records of `synced` are on the disk and those of `loose` are only written. */
async function segment(synced: readonly number[], loose: readonly number[], mark = false): Promise<Written> {
  const files = new MemoryFileSystem();
  let idle = (): void => {};
  const wal = Wal.create(files, '/', 9, {
    whenIdle: (task) => {
      idle = task;
      return () => undefined;
    },
  });
  await wal.switchTo(await prepared(files, 1, ROOM));
  const records: SeenRecord[] = [];
  for (const length of synced) {
    records.push(append(wal, records.length + 1, length));
    await wal.sync();
    if (mark) idle();
  }
  const at = wal.size;
  for (const length of loose) records.push(append(wal, records.length + 1, length));
  wal.flushToOs();
  const bytes = bytesOf(files, 1);
  wal.abandon();
  return { bytes, end: wal.size, synced: at, safe: records.slice(0, synced.length), all: records };
}

function prepared(files: MemoryFileSystem, number: number, room: number): Promise<PreparedSegment> {
  return PreparedSegment.create(files, '/', number, { room, shouldContinue: () => true });
}

/** The records found; undefined when the segment is refused as damaged. */
function found(bytes: Uint8Array): readonly SeenRecord[] | undefined {
  try {
    return replay(segmentOf(bytes), OPEN_SEGMENT).seen;
  } catch (error) {
    expect(error).toBeInstanceOf(CorruptionError);
    return undefined;
  }
}

describe('a segment with prepared room', () => {
  it('ends where its records end, torn nowhere, and is as short as they are once it is repaired', async () => {
    const { bytes, end, all } = await segment([40, 900], [10]);
    expect(bytes.length).toBe(27 + ROOM);
    const files = segmentOf(bytes);
    const { seen, torn, closed } = replay(files, OPEN_SEGMENT);
    expect([seen, torn]).toEqual([all, undefined]);
    expect(closed).toMatchObject([{ length: end, firstSeq: 1, lastSeq: 3 }]);
    expect(bytesOf(files).length).toBe(end);
    expect(replay(files, [{ number: 1, closed: closed[0] }]).seen).toEqual(all);
  });

  it('grows beyond its room', async () => {
    const { bytes, end, all } = await segment([5000, 5000], [3000]);
    expect(bytes.length).toBe(end);
    expect(found(bytes)).toEqual(all);
  });

  it('with any of the unsynced sectors never written, has all that was synced and a prefix of the rest', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 4 }),
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        async (synced, loose, lost) => {
          const { bytes, end, synced: safeEnd, safe, all } = await segment(synced, loose);
          const disk = bytes.slice();
          const first = Math.floor(safeEnd / SECTOR);
          for (let sector = first; sector * SECTOR < end; sector++) {
            if (lost[sector % lost.length])
              disk.fill(0, Math.max(safeEnd, sector * SECTOR), (sector + 1) * SECTOR);
          }
          const seen = found(disk)!;
          expect(seen).toBeDefined();
          expect(seen.length).toBeGreaterThanOrEqual(safe.length);
          expect(seen).toEqual(all.slice(0, seen.length));
        },
      ),
      { numRuns: scaled(25, 200, 20_000) },
    );
  });

  it('stopped at any byte of a write, has all that came before', async () => {
    const { bytes, synced, end, safe } = await segment([40], [700]);
    for (let stop = synced; stop < end; stop++) {
      const disk = bytes.slice();
      disk.fill(0, stop);
      expect(found(disk), `stopped at ${stop} of ${synced} to ${end}`).toEqual(safe);
    }
  });

  it('with any bit changed in what was acknowledged is damaged', async () => {
    const { bytes, end, all } = await segment([40, 300], [], true);
    for (let at = 0; at < end; at += scaled(7, 1, 1)) {
      for (let bit = 0; bit < 8; bit++) {
        const disk = bytes.slice();
        disk[at] = disk[at]! ^ (1 << bit);
        const seen = found(disk);
        // The mark at the end is nobody's record.
        if (seen !== undefined) expect([at >= end - 17, seen]).toEqual([true, all]);
      }
    }
  });

  it('with a bit changed in room that nobody used is read whole or damaged', async () => {
    const { bytes, end, all } = await segment([40, 300], [20]);
    for (const at of [end, end + 1, end + 17, end + 600, bytes.length - 1]) {
      const disk = bytes.slice();
      disk[at] = 4;
      expect([undefined, all]).toContainEqual(found(disk));
    }
  });
});

describe('the segment that the log came from', () => {
  /** Two segments: one that was ended, and one with a record. */
  async function two(): Promise<{ files: MemoryFileSystem; end: number; all: SeenRecord[] }> {
    const files = new MemoryFileSystem();
    const wal = Wal.create(files, '/', 1);
    const all = [append(wal, 1, 100), append(wal, 2, 600)];
    const end = wal.size;
    await wal.switchTo(await prepared(files, 2, ROOM));
    all.push(append(wal, 3, 50));
    await wal.sync();
    wal.abandon();
    return { files, end, all };
  }

  const BOTH = [{ number: 1 }, { number: 2 }];

  it('is read with what came after, also before the MANIFEST says that it is closed', async () => {
    const { files, all } = await two();
    expect(replay(files, BOTH, false)).toMatchObject({ seen: all, torn: undefined });
    const { closed } = replay(files, BOTH);
    expect(
      replay(
        files,
        closed.map((each) => ({ number: each.number, closed: each })),
      ).seen,
    ).toEqual(all);
  });

  it('that lost its end, however much of it, is damaged where the next one has anything', async () => {
    const { files, end } = await two();
    const bytes = bytesOf(files, 1);
    expect(bytes.length).toBe(end + 17);
    for (let length = 27; length < bytes.length; length += scaled(29, 1, 1)) {
      for (const rest of [0, 600]) {
        const cut = new Uint8Array(length + rest);
        cut.set(bytes.subarray(0, length));
        // The END itself ends in zeros.
        if (Buffer.compare(cut.subarray(0, bytes.length), bytes) === 0) continue;
        files.place('/000001.wal', cut);
        expect(() => replay(files, BOTH, false), `cut at ${length}, ${rest} zeros`).toThrow(CorruptionError);
      }
    }
  });

  it('may have a torn end where nothing is in the next', async () => {
    const { files, all } = await two();
    const bytes = bytesOf(files, 1);
    files.place(
      '/000002.wal',
      new Uint8Array([...bytesOf(files, 2).subarray(0, 27), ...new Uint8Array(ROOM)]),
    );
    files.place('/000001.wal', bytes.subarray(0, bytes.length - 100));
    const { seen, torn, closed } = replay(files, BOTH);
    expect(seen).toEqual(all.slice(0, 1));
    expect(torn).toMatchObject({ file: '/000001.wal' });
    expect(closed.map(({ number, lastSeq }) => [number, lastSeq])).toEqual([
      [1, 1],
      [2, -1],
    ]);
    expect(bytesOf(files, 2).length).toBe(27);
  });

  it('has nothing behind its end', async () => {
    const { files } = await two();
    const bytes = bytesOf(files, 1);
    files.place('/000001.wal', new Uint8Array([...bytes, ...new Uint8Array(40), 1]));
    expect(() => replay(files, BOTH, false)).toThrow(/bytes after its END/);
  });
});
