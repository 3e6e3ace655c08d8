import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toBytes } from '../../../src/bytes/index.js';
import { RowanError } from '../../../src/errors.js';
import { type FileHandle, type FileSystem, joinPath, NodeFileSystem } from '../../../src/store/fs/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from './fault-fs.js';

/** One suite that every file system passes. */

interface Subject {
  readonly files: FileSystem;
  readonly root: string;
  cleanUp(): void;
}

const subjects: Record<string, () => Subject> = {
  node: () => {
    const root = mkdtempSync(join(tmpdir(), 'rowan-fs-'));
    return { files: new NodeFileSystem(), root, cleanUp: () => rmSync(root, { recursive: true }) };
  },
  memory: () => {
    const files = new MemoryFileSystem();
    files.mkdir('/root');
    return { files, root: '/root', cleanUp: () => {} };
  },
  'faults over memory': () => {
    const inner = new MemoryFileSystem();
    inner.mkdir('/root');
    return { files: new FaultFileSystem(inner), root: '/root', cleanUp: () => {} };
  },
};

function append(file: FileHandle, text: string): void {
  const bytes = toBytes(text);
  file.write(bytes, 0, bytes.length);
}

function readAll(files: FileSystem, path: string): string {
  const file = files.openRead(path);
  const bytes = new Uint8Array(file.size);
  expect(file.read(bytes, 0, bytes.length, 0)).toBe(bytes.length);
  file.close();
  return Buffer.from(bytes).toString();
}

function errorOf(action: () => unknown): RowanError {
  try {
    action();
  } catch (error) {
    if (error instanceof RowanError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe.each(Object.keys(subjects))('file system: %s', (name) => {
  let subject: Subject;
  let files: FileSystem;
  let at: (file: string) => string;

  beforeEach(() => {
    subject = subjects[name]!();
    files = subject.files;
    at = (file) => joinPath(subject.root, file);
  });

  afterEach(() => subject.cleanUp());

  it('appends, reads at any position and knows the size', () => {
    const file = files.create(at('a'));
    expect(file.size).toBe(0);
    append(file, 'hello ');
    const world = toBytes('xxworldxx');
    file.write(world, 2, 5);
    expect(file.size).toBe(11);
    const buffer = new Uint8Array(8).fill(0x2e);
    expect(file.read(buffer, 2, 5, 6)).toBe(5);
    expect(Buffer.from(buffer).toString()).toBe('..world.');
    expect(file.read(buffer, 0, 8, 9)).toBe(2);
    expect(file.read(buffer, 0, 8, 11)).toBe(0);
    expect(file.read(buffer, 0, 8, 99)).toBe(0);
    file.close();
    expect(readAll(files, at('a'))).toBe('hello world');
    expect(files.fileSize(at('a'))).toBe(11);
  });

  it('reads ahead anywhere in a file, also while it is closed', async () => {
    const file = files.create(at('a'));
    append(file, 'x'.repeat(100_000));
    const ahead = [0, 50_000, 99_999, 200_000].map((position) => file.readAhead?.(position, 80_000));
    expect(file.read(new Uint8Array(4), 0, 4, 50_000)).toBe(4);
    file.close();
    await Promise.all(ahead);
    if (file.readAhead) await expect(file.readAhead(0, 1)).rejects.toMatchObject({ code: 'ERR_IO' });
  });

  it('reads into shared memory', () => {
    const file = files.create(at('a'));
    append(file, 'shared');
    const shared = new Uint8Array(new SharedArrayBuffer(6));
    expect(file.read(shared, 0, 6, 0)).toBe(6);
    expect(Buffer.from(shared).toString()).toBe('shared');
    file.close();
  });

  it('appends to a file that is there, and truncates', () => {
    const first = files.create(at('a'));
    append(first, '0123456789');
    first.close();
    const file = files.openAppend(at('a'));
    expect(file.size).toBe(10);
    file.truncate(4);
    expect(file.size).toBe(4);
    append(file, 'AB');
    file.sync();
    file.close();
    expect(readAll(files, at('a'))).toBe('0123AB');
    const again = files.openAppend(at('a'));
    expect(errorOf(() => again.truncate(7)).code).toBe('ERR_INVALID_ARGUMENT');
    again.close();
  });

  it('syncs both ways, also when the handle is closed meanwhile', async () => {
    const file = files.create(at('a'));
    append(file, 'x');
    file.sync();
    append(file, 'y');
    const synced = file.syncAsync();
    file.close();
    await synced;
    expect(readAll(files, at('a'))).toBe('xy');
  });

  it('refuses every use of a closed handle, and closes twice', async () => {
    const file = files.create(at('a'));
    expect(file.closed).toBe(false);
    file.close();
    file.close();
    expect(file.closed).toBe(true);
    for (const use of [
      () => append(file, 'x'),
      () => file.read(new Uint8Array(1), 0, 1, 0),
      () => file.sync(),
      () => file.truncate(0),
    ]) {
      expect(errorOf(use)).toMatchObject({ code: 'ERR_IO', details: { errno: 'EBADF' } });
    }
    await expect(file.syncAsync()).rejects.toMatchObject({ code: 'ERR_IO' });
  });

  it('refuses to write through a handle for reading', () => {
    files.create(at('a')).close();
    const file = files.openRead(at('a'));
    expect(errorOf(() => append(file, 'x')).code).toBe('ERR_IO');
    file.close();
    expect(files.fileSize(at('a'))).toBe(0);
  });

  it('never overwrites a file by create or link', () => {
    files.create(at('a')).close();
    files.create(at('b')).close();
    expect(errorOf(() => files.create(at('a'))).details).toMatchObject({ file: at('a'), errno: 'EEXIST' });
    expect(errorOf(() => files.link(at('a'), at('b'))).details['errno']).toBe('EEXIST');
  });

  it('names the file and the reason when there is none', () => {
    const nowhere = at('nowhere');
    for (const call of [
      () => files.openRead(nowhere),
      () => files.openAppend(nowhere),
      () => files.unlink(nowhere),
      () => files.fileSize(nowhere),
      () => files.readdir(nowhere),
      () => files.rename(nowhere, at('b')),
      () => files.link(nowhere, at('b')),
      () => files.syncDirectory(nowhere),
      () => files.rmdir(nowhere),
    ]) {
      const error = errorOf(call);
      expect(error.code).toBe('ERR_IO');
      expect(error.message).toContain('nowhere');
      expect(error.details['errno']).toBe('ENOENT');
    }
    expect(files.exists(nowhere)).toBe(false);
    expect(files.isDirectory(nowhere)).toBe(false);
  });

  it('opens no folder as a file', () => {
    files.mkdir(at('folder'));
    expect(errorOf(() => files.openRead(at('folder'))).details['errno']).toBe('EISDIR');
    expect(errorOf(() => files.openAppend(at('folder'))).details['errno']).toBe('EISDIR');
    expect(errorOf(() => files.unlink(at('folder'))).code).toBe('ERR_IO');
  });

  it('makes, lists and removes folders', () => {
    files.mkdir(at('x/y'));
    files.mkdir(at('x/y'));
    files.create(at('x/b')).close();
    files.create(at('x/a')).close();
    expect(files.readdir(at('x'))).toEqual(['a', 'b', 'y']);
    expect(files.isDirectory(at('x/y'))).toBe(true);
    expect(files.isDirectory(at('x/a'))).toBe(false);
    expect(errorOf(() => files.rmdir(at('x'))).details['errno']).toBe('ENOTEMPTY');
    files.rmdir(at('x/y'));
    expect(files.readdir(at('x'))).toEqual(['a', 'b']);
    files.syncDirectory(at('x'));
  });

  it('renames over a file', () => {
    const a = files.create(at('a'));
    append(a, 'new');
    a.close();
    files.create(at('b')).close();
    files.rename(at('a'), at('b'));
    expect(files.readdir(subject.root)).toEqual(['b']);
    expect(readAll(files, at('b'))).toBe('new');
  });

  it('links: two names, one file that lives until the last is removed', () => {
    const a = files.create(at('a'));
    append(a, 'one');
    files.link(at('a'), at('b'));
    append(a, 'two');
    a.close();
    files.unlink(at('a'));
    expect(readAll(files, at('b'))).toBe('onetwo');
  });

  it('reads a file that was removed while it was open', () => {
    const file = files.create(at('a'));
    append(file, 'still');
    files.unlink(at('a'));
    const buffer = new Uint8Array(5);
    expect(file.read(buffer, 0, 5, 0)).toBe(5);
    file.close();
    expect(files.exists(at('a'))).toBe(false);
  });

  it('locks a folder once, also by another path to it', async () => {
    const lock = await files.lock(subject.root);
    await expect(files.lock(subject.root)).rejects.toMatchObject({
      code: 'ERR_LOCKED',
      details: { pid: process.pid },
    });
    await expect(files.lock(`${subject.root}/./`)).rejects.toMatchObject({ code: 'ERR_LOCKED' });
    await lock.release();
    await lock.release();
    const again = await files.lock(subject.root);
    await again.release();
  });

  it('locks two folders side by side', async () => {
    files.mkdir(at('x'));
    files.mkdir(at('y'));
    const x = await files.lock(at('x'));
    const y = await files.lock(at('y'));
    await x.release();
    await y.release();
    await expect(files.lock(at('none'))).rejects.toMatchObject({ code: 'ERR_IO' });
  });
});

it('file system of Node: the space of a removed file is freed, by no descriptor left', async () => {
  const descriptors = '/proc/self/fd';
  if (!existsSync(descriptors)) return;
  const root = mkdtempSync(join(tmpdir(), 'rowan-fs-'));
  const path = join(root, 'a');
  const files = new NodeFileSystem();
  const file = files.create(path);
  append(file, 'content');
  file.close();
  files.unlink(path);
  expect(files.exists(path)).toBe(false);
  const held = (): string[] =>
    readdirSync(descriptors).filter((fd) => {
      try {
        return readlinkSync(join(descriptors, fd)).startsWith(path);
      } catch {
        return false;
      }
    });
  // The descriptor is closed in another thread.
  for (let turn = 0; held().length > 0 && turn < 10_000; turn++)
    await new Promise((resolve) => setImmediate(resolve));
  expect(held()).toEqual([]);
  rmSync(root, { recursive: true });
});
