import { describe, expect, test } from 'vitest';
import { ioError } from '../../../src/errors.js';
import { FileHandleCache } from '../../../src/store/cache.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

function files(count: number): MemoryFileSystem {
  const fs = new MemoryFileSystem();
  for (let i = 0; i < count; i++) {
    const handle = fs.create(`/${i}`);
    handle.write(Uint8Array.of(i, i + 1), 0, 2);
    handle.close();
  }
  return fs;
}

function byteOf(file: {
  read(buffer: Uint8Array, offset: number, length: number, position: number): number;
}): number {
  const buffer = new Uint8Array(1);
  expect(file.read(buffer, 0, 1, 1)).toBe(1);
  return buffer[0]!;
}

describe('the cache of file handles', () => {
  test('never has more files open than its budget, and opens them again', () => {
    const fs = files(10);
    const cache = new FileHandleCache(fs, 3);
    const opened = Array.from({ length: 10 }, (_, i) => cache.file(`/${i}`));
    for (let round = 0; round < 3; round++) {
      opened.forEach((file, i) => {
        expect(byteOf(file)).toBe(i + 1);
        expect(fs.openHandles).toBeLessThanOrEqual(3);
      });
    }
    expect(cache.openFiles).toBe(3);
    expect(opened.map((file) => file.size)).toEqual(Array(10).fill(2));
  });

  test('closes the file that was not read for longest', () => {
    const cache = new FileHandleCache(files(4), 3);
    const [a, b, c] = [cache.file('/0'), cache.file('/1'), cache.file('/2')];
    byteOf(a);
    byteOf(b);
    byteOf(a);
    cache.file('/3');
    expect([a, b, c].map((file) => file.handle !== undefined)).toEqual([true, true, false]);
    expect(cache.opens).toBe(4);
    byteOf(c);
    expect(cache.opens).toBe(5);
    expect(b.handle).toBeUndefined();
  });

  test('does not read a closed file', () => {
    const fs = files(1);
    const cache = new FileHandleCache(fs, 3);
    const file = cache.file('/0');
    file.close();
    file.close();
    expect(fs.openHandles).toBe(0);
    expect(() => byteOf(file)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  });

  test('closes all handles and goes on', () => {
    const fs = files(2);
    const cache = new FileHandleCache(fs, 3);
    const file = cache.file('/1');
    cache.closeAll();
    expect(fs.openHandles).toBe(0);
    expect(byteOf(file)).toBe(2);
  });

  test('closes files when the process has no descriptor left, and gives up when it has none to close', () => {
    const fs = files(5);
    const open = fs.openRead.bind(fs);
    let free = 2;
    fs.openRead = (path) => {
      if (fs.openHandles >= free) throw ioError('open', path, 'EMFILE');
      return open(path);
    };
    const cache = new FileHandleCache(fs, 100);
    for (let i = 0; i < 5; i++) expect(byteOf(cache.file(`/${i}`))).toBe(i + 1);
    expect(cache.openFiles).toBe(2);
    free = 0;
    expect(() => cache.file('/0')).toThrow(expect.objectContaining({ code: 'ERR_IO' }));
    expect(fs.openHandles).toBe(0);
  });

  test('passes on that a file is not there', () => {
    const cache = new FileHandleCache(files(0), 3);
    expect(() => cache.file('/none')).toThrow(expect.objectContaining({ code: 'ERR_IO' }));
    expect(cache.openFiles).toBe(0);
  });
});
