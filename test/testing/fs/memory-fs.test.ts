import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { scaled } from '../../proof/scale.js';

const keep = (keepUnsynced: number, seed = 1) => ({ keepUnsynced, random: seededRandom(seed) });

function bytesOf(files: MemoryFileSystem, path: string): Uint8Array {
  return files.contents(path);
}

function filled(length: number, byte: number): Uint8Array {
  return new Uint8Array(length).fill(byte);
}

describe('the disk in memory after a loss of power', () => {
  it('has what was synced, and nothing else when nothing unsynced is kept', () => {
    const files = new MemoryFileSystem();
    const file = files.create('/a');
    file.write(filled(10, 1), 0, 10);
    file.sync();
    file.write(filled(10, 2), 0, 10);
    expect(keptNames(files.crash(keep(0)))).toEqual([]);
    files.syncDirectory('/');
    const after = files.crash(keep(0));
    expect([...bytesOf(after, '/a')]).toEqual([...filled(10, 1)]);
    expect([...bytesOf(files.crash(keep(1)), '/a')]).toEqual([...filled(10, 1), ...filled(10, 2)]);
    expect(files.contents('/a').length).toBe(20);
  });

  it('brings back a name, a renamed file and an unlinked one when the folder was not synced', () => {
    const files = new MemoryFileSystem();
    for (const name of ['old', 'gone']) {
      const file = files.create(`/${name}`);
      file.write(filled(1, name.length), 0, 1);
      file.sync();
    }
    files.syncDirectory('/');
    const file = files.create('/new');
    file.write(filled(1, 9), 0, 1);
    file.sync();
    files.rename('/new', '/old');
    files.unlink('/gone');
    const before = files.crash(keep(0));
    expect(keptNames(before)).toEqual(['gone', 'old']);
    expect(bytesOf(before, '/old')[0]).toBe(3);
    files.syncDirectory('/');
    const after = files.crash(keep(0));
    expect(keptNames(after)).toEqual(['old']);
    expect(bytesOf(after, '/old')[0]).toBe(9);
  });

  it('may undo an unsynced truncation', () => {
    const files = new MemoryFileSystem();
    const file = files.create('/a');
    file.write(filled(100, 1), 0, 100);
    file.sync();
    files.syncDirectory('/');
    file.truncate(40);
    file.write(filled(10, 2), 0, 10);
    expect([...bytesOf(files.crash(keep(0)), '/a')]).toEqual([...filled(100, 1)]);
    file.sync();
    expect([...bytesOf(files.crash(keep(0)), '/a')]).toEqual([...filled(40, 1), ...filled(10, 2)]);
  });

  it('covers by an asynchronous sync only what was written before the call', async () => {
    const files = new MemoryFileSystem();
    const file = files.create('/a');
    files.syncDirectory('/');
    file.write(filled(5, 1), 0, 5);
    const synced = file.syncAsync();
    file.write(filled(5, 2), 0, 5);
    await synced;
    expect(bytesOf(files.crash(keep(0)), '/a').length).toBe(5);
  });

  it('keeps every synced byte and invents none, whatever is lost', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.boolean()), { maxLength: 12 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer(),
        (writes, probability, seed) => {
          const files = new MemoryFileSystem();
          const file = files.create('/a');
          files.syncDirectory('/');
          let synced = 0;
          for (const [index, [length, sync]] of writes.entries()) {
            file.write(filled(length, index + 1), 0, length);
            if (sync) {
              file.sync();
              synced = file.size;
            }
          }
          const now = files.contents('/a');
          const found = bytesOf(
            files.crash({ keepUnsynced: probability, random: seededRandom(seed), unit: 512 }),
            '/a',
          );
          expect(found.length).toBeGreaterThanOrEqual(synced);
          expect(found.length).toBeLessThanOrEqual(now.length);
          const invented = found.findIndex((byte, at) => byte !== now[at] && (at < synced || byte !== 0));
          expect(invented).toBe(-1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('has the bytes of a plain array, read and after a loss of power, also where space was preallocated', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('prepare' as const), length: fc.integer({ min: 0, max: 900 }) }),
      fc.record({ kind: fc.constant('write' as const), length: fc.integer({ min: 1, max: 300 }) }),
      fc.record({ kind: fc.constant('truncate' as const), length: fc.nat(1000) }),
      fc.record({
        kind: fc.constantFrom('sync' as const, 'sync' as const, 'open' as const),
        length: fc.constant(0),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, fc.boolean()), { minLength: 1, maxLength: 20 }),
        async (steps) => {
          const files = new MemoryFileSystem();
          let file = files.create('/a');
          file.sync();
          files.syncDirectory('/');
          let now: number[] = [];
          let safe: number[] = [];
          let position = 0;
          for (const [i, [{ kind, length }, looks]] of steps.entries()) {
            if (kind === 'prepare') {
              await file.prepare(length);
              now.push(...filled(length, 0));
            } else if (kind === 'write') {
              file.write(filled(length, i + 1), 0, length);
              now.splice(position, length, ...filled(length, i + 1));
              position += length;
            } else if (kind === 'truncate') {
              const left = length % (now.length + 1);
              file.truncate(left);
              now = now.slice(0, left);
              position = Math.min(position, left);
            } else if (kind === 'sync') {
              file.sync();
              safe = [...now];
            } else {
              file.close();
              file = files.openAppend('/a');
              position = now.length;
            }
            // To look at preallocated space gives it memory.
            if (!looks) continue;
            const read = filled(now.length + 1, 99);
            expect(file.read(read, 0, read.length, 0)).toBe(now.length);
            expect([...read]).toEqual([...now, 99]);
            expect([...files.contents('/a')]).toEqual(now);
            expect([...bytesOf(files.crash(keep(0)), '/a')]).toEqual(safe);
            expect([...bytesOf(files.crash(keep(1)), '/a')]).toEqual(now);
          }
        },
      ),
      {
        numRuns: scaled(60, 600, 6000),
        examples: [
          [
            [
              [{ kind: 'prepare', length: 300 }, false],
              [{ kind: 'sync', length: 0 }, false],
              [{ kind: 'truncate', length: 50 }, true],
            ],
          ],
        ],
      },
    );
  });

  it('repeats itself with the same seed', () => {
    const files = new MemoryFileSystem();
    files.syncDirectory('/');
    for (let i = 0; i < 20; i++) {
      const file = files.create(`/f${i}`);
      file.write(filled(20_000, i + 1), 0, 20_000);
    }
    const list = (seed: number) => {
      const found = files.crash(keep(0.5, seed));
      return keptNames(found).map((name) => `${name}:${bytesOf(found, `/${name}`).length}`);
    };
    expect(list(7)).toEqual(list(7));
    expect(list(7)).not.toEqual(list(8));
  });

  it('counts the handles that are open', () => {
    const files = new MemoryFileSystem();
    const file = files.create('/a');
    const reader = files.openRead('/a');
    expect(files.openHandles).toBe(2);
    file.close();
    reader.close();
    reader.close();
    expect(files.openHandles).toBe(0);
  });
});

function keptNames(files: MemoryFileSystem): string[] {
  return files.readdir('/');
}
