import { type FileSystem, joinPath, walFileName } from '../../../src/store/fs/index.js';
import { type ReplayResult, replayWal, type SegmentToRead, Wal } from '../../../src/store/wal/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

/** What a test sees of a record. */
export interface SeenRecord {
  readonly firstSeq: number;
  readonly count: number;
  readonly payload: string;
}

export interface Replayed extends ReplayResult {
  readonly seen: readonly SeenRecord[];
}

/** `length` bytes that only record `index` has. */
export function payloadOf(index: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = 1 + ((index * 31 + i * 7) % 250);
  return bytes;
}

export function append(wal: Wal, index: number, length: number): SeenRecord {
  const payload = payloadOf(index, length);
  wal.append(index, 1, payload, 0, length);
  return { firstSeq: index, count: 1, payload: Buffer.from(payload).toString('latin1') };
}

export function replay(files: FileSystem, segments: readonly SegmentToRead[], repair = true): Replayed {
  const seen: SeenRecord[] = [];
  const result = replayWal(
    files,
    '/',
    segments,
    (record) => {
      seen.push({
        firstSeq: record.firstSeq,
        count: record.count,
        payload: Buffer.from(record.payload.slice(record.offset, record.offset + record.length)).toString(
          'latin1',
        ),
      });
    },
    { repair },
  );
  return { ...result, seen };
}

/** A disk with one open segment, number 1, of these bytes. */
export function segmentOf(bytes: Uint8Array): MemoryFileSystem {
  const files = new MemoryFileSystem();
  files.place(joinPath('/', walFileName(1)), bytes);
  return files;
}

export const OPEN_SEGMENT: readonly SegmentToRead[] = [{ number: 1 }];

/** A log whose marks are written only when the test calls the returned `idle`. */
export function openWal(files: FileSystem, segmentSize?: number): { wal: Wal; idle: () => void } {
  let task: (() => void) | undefined;
  const wal = Wal.create(files, '/', 1, {
    ...(segmentSize === undefined ? {} : { segmentSize }),
    whenIdle: (next) => {
      task = next;
      return () => undefined;
    },
  });
  return {
    wal,
    idle: () => {
      const next = task;
      task = undefined;
      next?.();
    },
  };
}

export function bytesOf(files: MemoryFileSystem, number = 1): Uint8Array {
  return files.contents(joinPath('/', walFileName(number))).slice();
}
