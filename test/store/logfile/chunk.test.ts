import { describe, expect, it } from 'vitest';
import { toBytes } from '../../../src/bytes/index.js';
import { CorruptionError, RowanError } from '../../../src/errors.js';
import {
  ChunkReader,
  ChunkWriter,
  type LogKind,
  MANIFEST_KIND,
  readLog,
  WAL_KIND,
  writeChunkHeader,
} from '../../../src/store/logfile/index.js';
import { fileSeed } from '../../../src/store/logfile/writer.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

function written(kind: LogKind, number: number, ...records: readonly string[]): Uint8Array {
  const files = new MemoryFileSystem();
  const writer = new ChunkWriter(files.create('/log'), kind, number);
  for (const record of records) writer.append(new Uint8Array(0), toBytes(record), 0, toBytes(record).length);
  writer.sync();
  return files.contents('/log').slice();
}

function read(bytes: Uint8Array, kind = WAL_KIND, number = 1): ChunkReader {
  return new ChunkReader(bytes, kind, number, '/log');
}

/** `bytes` with a chunk at its end that has the right check and whatever else is asked for. */
function withChunk(bytes: Uint8Array, type: number, payload: string, synced = 0): Uint8Array {
  const body = toBytes(payload);
  const out = new Uint8Array(bytes.length + 17 + body.length);
  out.set(bytes);
  out.set(body, bytes.length + 17);
  writeChunkHeader(out, bytes.length, fileSeed(WAL_KIND, 1), bytes.length, type, body.length, synced);
  return out;
}

describe('chunks', () => {
  it('belong to one kind of file and one number', () => {
    const bytes = written(WAL_KIND, 1, 'one');
    expect(read(bytes).next()).toBe(true);
    expect(() => read(bytes, WAL_KIND, 2)).toThrow(CorruptionError);
    expect(() => read(bytes, MANIFEST_KIND, 1)).toThrow(CorruptionError);
  });

  it('of a newer format are refused by name', () => {
    const bytes = written({ ...WAL_KIND, version: 3 }, 1, 'one');
    expect(() => read(bytes)).toThrow(
      expect.objectContaining({ code: 'ERR_FORMAT_VERSION', details: { file: '/log', version: 3 } }) as Error,
    );
  });

  it.each([
    ['a second header of the file', 6, 'ROWANWAL\u0001\0', 0],
    ['the middle of a record that never began', 3, 'x', 0],
    ['the end of a record that never began', 4, 'x', 0],
    ['a type that is none', 7, 'x', 0],
    ['a record without bytes', 1, '', 0],
    ['a mark with bytes', 5, 'x', 0],
    ['a promise about bytes to come', 1, 'x', 9999],
  ])('throw for what no writer makes: %s', (_, type, payload, synced) => {
    const reader = read(withChunk(written(WAL_KIND, 1), type, payload, synced));
    expect(() => reader.next()).toThrow(CorruptionError);
  });

  it('throw for a record that begins inside another', () => {
    const bytes = withChunk(withChunk(written(WAL_KIND, 1), 2, 'begin'), 1, 'whole');
    expect(() => read(bytes).next()).toThrow(CorruptionError);
  });

  it('throw for a length that leaves the block', () => {
    const bytes = withChunk(written(WAL_KIND, 1), 1, 'x'.repeat(40_000));
    expect(() => read(bytes).next()).toThrow(/extends beyond its block/);
  });

  it('throw for anything but zeros in the unused end of a block', () => {
    const bytes = written(WAL_KIND, 1, 'x'.repeat(32_768 - 27 - 17 - 10), 'next');
    expect(bytes.length).toBe(32_768 + 17 + 4);
    bytes[32_765] = 1;
    const reader = read(bytes);
    expect(reader.next()).toBe(true);
    expect(() => reader.next()).toThrow(/not zero/);
  });

  it('a file that names itself but is not there, or is far too long, is damage', () => {
    const files = new MemoryFileSystem();
    expect(() => readLog(files, '/none')).toThrow(CorruptionError);
    const huge = Object.assign(Object.create(files) as MemoryFileSystem, {
      exists: () => true,
      openRead: () => ({ size: 2 ** 40, close: () => {} }),
    });
    expect(() => readLog(huge, '/huge')).toThrow(CorruptionError);
  });

  it('are written again after a flush that failed, where the file ended before', () => {
    const files = new MemoryFileSystem();
    const file = files.create('/log');
    const writer = new ChunkWriter(file, WAL_KIND, 1);
    writer.sync();
    const { length } = files.contents('/log');
    expect(writer).toMatchObject({ writtenLength: length, syncedOffset: length, staged: 0, end: length });
    const full = new RowanError('ERR_IO', 'full');
    const { write } = file;
    file.write = () => {
      throw full;
    };
    writer.append(new Uint8Array(0), toBytes('lost'), 0, 4);
    expect(() => writer.flush()).toThrow(full);
    file.write = write;
    expect(writer.recordsEnd).toBe(length);
    writer.append(toBytes('ke'), toBytes('..pt..'), 2, 2);
    writer.sync();
    const reader = read(files.contents('/log'));
    expect(reader.next()).toBe(true);
    expect(Buffer.from(reader.payload).toString('latin1', reader.offset, reader.offset + reader.length)).toBe(
      'kept',
    );
    expect(reader.next()).toBe(false);
    expect(reader.broken).toBeUndefined();
  });
});
