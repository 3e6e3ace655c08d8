import { describe, expect, it } from 'vitest';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from './fault-fs.js';

const TEN = new Uint8Array(10).fill(7);

describe('failures on demand', () => {
  it('fail the Nth call of a kind, once', () => {
    const files = new FaultFileSystem(new MemoryFileSystem());
    files.inject({ calls: ['write'], after: 1, errno: 'ENOSPC' });
    const file = files.create('/a');
    file.write(TEN, 0, 10);
    expect(() => file.write(TEN, 0, 10)).toThrow(/ENOSPC.*free some space/);
    file.write(TEN, 0, 10);
    expect(file.size).toBe(20);
    expect(files.failures).toBe(1);
  });

  it('fail for ever until cleared', async () => {
    const files = new FaultFileSystem(new MemoryFileSystem());
    const file = files.create('/a');
    files.inject({ calls: ['sync'], times: Infinity });
    expect(() => file.sync()).toThrow(/EIO/);
    await expect(file.syncAsync()).rejects.toThrow(/EIO/);
    files.clear();
    file.sync();
    await file.syncAsync();
  });

  it('write short', () => {
    const files = new FaultFileSystem(new MemoryFileSystem());
    const file = files.create('/a');
    files.inject({ calls: ['write'], errno: 'ENOSPC', shortWrite: (length) => length - 3 });
    expect(() => file.write(TEN, 0, 10)).toThrow(/ENOSPC/);
    expect(file.size).toBe(7);
  });

  it('strike only the files that are meant, and count all calls', () => {
    const files = new FaultFileSystem(new MemoryFileSystem());
    files.inject({ path: /\.wal$/ });
    files.create('/a.sst');
    expect(() => files.create('/a.wal')).toThrow(/a\.wal/);
    expect(files.exists('/a.wal')).toBe(false);
    expect(files.calls).toBe(3);
  });
});
