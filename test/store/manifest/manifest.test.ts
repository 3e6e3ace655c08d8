import { describe, expect, it } from 'vitest';
import { crc32, toBytes, toHex } from '../../../src/bytes/index.js';
import { CorruptionError } from '../../../src/errors.js';
import { ChunkWriter, MANIFEST_KIND } from '../../../src/store/logfile/index.js';
import {
  applyEdits,
  type Edit,
  encodeEdits,
  formatCurrent,
  Manifest,
  parseCurrent,
  readManifest,
} from '../../../src/store/manifest/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { scaled } from '../../proof/scale.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { goldenBytes, goldenText } from '../golden.js';
import { BEGINNING, closedStore, fileEntry, NAMESPACE, reopened } from './manifest-fixture.js';

const nothingKept = () => ({ keepUnsynced: 0, random: seededRandom(1) });

describe('the bytes of the MANIFEST and of CURRENT', () => {
  it('are those that docs/formats.md shows', () => {
    const files = new MemoryFileSystem();
    const writer = new ChunkWriter(files.create('/MANIFEST-000003'), MANIFEST_KIND, 3);
    const record = encodeEdits([
      { type: 'counters', nextFile: 4 },
      { type: 'walAdd', number: 2 },
    ]);
    writer.append(new Uint8Array(0), record, 0, record.length);
    writer.sync();
    expect(toHex(files.contents('/MANIFEST-000003'))).toBe(toHex(goldenBytes('manifest')));
    expect(formatCurrent({ manifest: 3, length: writer.writtenLength })).toBe(goldenText('current'));
  });

  it('are read as docs/formats.md shows them', () => {
    const files = new MemoryFileSystem();
    files.mkdir('/db');
    files.place('/db/CURRENT', Buffer.from(goldenText('current')));
    files.place('/db/MANIFEST-000003', goldenBytes('manifest'));
    const { state, number } = readManifest(files, '/db');
    expect(number).toBe(3);
    expect(state).toMatchObject({
      nextFile: 4,
      walSegments: new Map([[2, { number: 2, closed: undefined }]]),
    });
  });

  it('of CURRENT are damaged by any changed bit and any missing byte', () => {
    const content = Buffer.from(formatCurrent({ manifest: 12, length: 3456 }));
    expect(parseCurrent(content.toString('latin1'), '/CURRENT')).toEqual({ manifest: 12, length: 3456 });
    for (let bit = 0; bit < 8 * content.length; bit++) {
      content[bit >> 3] = content[bit >> 3]! ^ (1 << (bit & 7));
      expect(() => parseCurrent(content.toString('latin1'), '/CURRENT')).toThrow(CorruptionError);
      content[bit >> 3] = content[bit >> 3]! ^ (1 << (bit & 7));
    }
    for (let length = 0; length < content.length; length++) {
      expect(() => parseCurrent(content.toString('latin1', 0, length), '/CURRENT')).toThrow(CorruptionError);
    }
  });

  it('of CURRENT say when they are newer, or of another program', () => {
    const lines = 'rowan 2\nsomething else\n';
    const newer = `${lines}${crc32(toBytes(lines), 0, lines.length).toString(16).padStart(8, '0')}\n`;
    expect(() => parseCurrent(newer, '/CURRENT')).toThrow(
      expect.objectContaining({ code: 'ERR_FORMAT_VERSION' }) as Error,
    );
    expect(() => parseCurrent('MANIFEST-000004\n', '/CURRENT')).toThrow(
      expect.objectContaining({ code: 'ERR_NOT_A_STORE' }) as Error,
    );
  });
});

describe('the MANIFEST', () => {
  it('makes a store, keeps what is logged, and finds it again', async () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/a/db');
    expect(manifest.log(BEGINNING)).toBe(manifest.state);
    await manifest.logAsync([NAMESPACE('x'), { type: 'counters', lastSeq: 9 }]);
    const { state } = manifest;
    expect([...state.namespaces]).toEqual(['shop', 'x']);
    const afterCrash = files.crash(nothingKept());
    expect(reopened(afterCrash, '/a/db')).toEqual({ ...state, nextFile: 3 });
    manifest.close();
    expect(reopened(files, '/a/db')).toEqual({ ...state, nextFile: 3 });
    expect(files.openHandles).toBe(0);
  });

  it('shows a state only when it is on the disk', async () => {
    let release = (): void => {};
    const files = new MemoryFileSystem({
      syncDelay: () =>
        new Promise((resolve) => {
          release = resolve;
        }),
    });
    const manifest = Manifest.open(files, '/db');
    const before = manifest.state;
    const first = manifest.logAsync([NAMESPACE('a')]);
    expect(manifest.state).toBe(before);
    manifest.log([NAMESPACE('b')]);
    expect([...manifest.state.namespaces]).toEqual(['a', 'b']);
    release();
    expect([...(await first).namespaces]).toEqual(['a', 'b']);
  });

  it('syncs the edits of calls at one time together', async () => {
    let syncs = 0;
    const files = new MemoryFileSystem({
      onOperation: ({ call, path }) => {
        if (call === 'sync' && path.includes('MANIFEST')) syncs++;
      },
      syncDelay: () => new Promise((resolve) => setImmediate(resolve)),
    });
    const manifest = Manifest.open(files, '/db');
    syncs = 0;
    await Promise.all(Array.from({ length: 40 }, (_, i) => manifest.logAsync([NAMESPACE(`n${i}`)])));
    expect(syncs).toBe(2);
    expect(reopened(files.crash(nothingKept())).namespaces.size).toBe(40);
  });

  it('takes all edits of a call or none', () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    const before = manifest.state;
    expect(() => manifest.log([NAMESPACE('a'), { type: 'tableDrop', id: 99 }])).toThrow(/no table 99/);
    expect(manifest.state).toBe(before);
    expect(reopened(files.crash({ keepUnsynced: 1, random: Math.random })).namespaces.size).toBe(0);
  });

  it('gives each number once', () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    expect([manifest.newFileNumber(), manifest.newFileNumber()]).toEqual([2, 3]);
    expect([manifest.newId(), manifest.newId()]).toEqual([1, 2]);
    manifest.log([{ type: 'counters', nextFile: 10, nextId: 20 }]);
    expect([manifest.newFileNumber(), manifest.newId()]).toEqual([10, 20]);
    manifest.roll();
    expect(manifest.number).toBe(11);
    expect(manifest.newFileNumber()).toBe(12);
  });

  it('is written anew when it has grown long, and removes the old one', () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db', { rollSize: 2000 });
    for (let i = 0; i < 40; i++) {
      manifest.log([NAMESPACE(`n${i}`)]);
      if (i % 2 === 1) manifest.log([{ type: 'namespaceRemove', name: `n${i - 1}` }]);
    }
    expect(manifest.number).toBeGreaterThan(2);
    expect(files.readdir('/db')).toEqual(['CURRENT', `MANIFEST-00000${manifest.number}`]);
    expect(files.fileSize(`/db/MANIFEST-00000${manifest.number}`)).toBeLessThan(4000);
    expect(reopened(files.crash(nothingKept())).namespaces).toEqual(manifest.state.namespaces);
  });

  it('rolls while an edit is on its way, and loses neither', async () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    const logged = manifest.logAsync([NAMESPACE('a')]);
    manifest.roll();
    expect([...manifest.state.namespaces]).toEqual(['a']);
    await logged;
    manifest.log([NAMESPACE('b')]);
    expect([...reopened(files.crash(nothingKept())).namespaces]).toEqual(['a', 'b']);
  });

  it('refuses edits after close', async () => {
    const manifest = Manifest.open(new MemoryFileSystem(), '/db');
    manifest.close();
    manifest.close();
    expect(() => manifest.log([NAMESPACE('a')])).toThrow(
      expect.objectContaining({ code: 'ERR_CLOSED' }) as Error,
    );
    await expect(manifest.logAsync([NAMESPACE('a')])).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });
});

describe('a damaged MANIFEST', () => {
  it('is damaged at every bit and every length after the store was closed', () => {
    const files = closedStore();
    const path = '/db/MANIFEST-000001';
    const whole = files.contents(path).slice();
    const read = (bytes: Uint8Array) => () => {
      files.place(path, bytes);
      readManifest(files, '/db');
    };
    read(whole)();
    for (let bit = 0; bit < 8 * whole.length; bit += scaled(23, 1, 1)) {
      const bad = whole.slice();
      bad[bit >> 3] = bad[bit >> 3]! ^ (1 << (bit & 7));
      expect(read(bad)).toThrow(CorruptionError);
    }
    for (let length = 0; length < whole.length; length++)
      expect(read(whole.subarray(0, length))).toThrow(CorruptionError);
  });

  it('is damaged at every bit of the last edit of a store that was not closed', () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    const before = files.fileSize('/db/MANIFEST-000001');
    manifest.log([NAMESPACE('last')]);
    const whole = files.contents('/db/MANIFEST-000001').slice();
    for (const bytes of [whole, whole.subarray(0, whole.length - 17)]) {
      for (let bit = 8 * before; bit < 8 * bytes.length; bit++) {
        const bad = bytes.slice();
        bad[bit >> 3] = bad[bit >> 3]! ^ (1 << (bit & 7));
        files.place('/db/MANIFEST-000001', bad);
        expect(() => readManifest(files, '/db')).toThrow(CorruptionError);
      }
    }
  });

  it('is damaged when a sector of what CURRENT vouches for is zeros', () => {
    const files = new MemoryFileSystem();
    let manifest = Manifest.open(files, '/db');
    manifest.log(BEGINNING);
    manifest.close();
    manifest = Manifest.open(files, '/db');
    const path = `/db/MANIFEST-00000${manifest.number}`;
    const whole = files.contents(path).slice();
    expect(whole.length).toBeGreaterThan(600);
    files.place(path, Uint8Array.from(whole).fill(0, 512));
    expect(() => readManifest(files, '/db')).toThrow(CorruptionError);
  });

  it('loses only an edit that never took effect when its end is torn', () => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    const before = files.fileSize('/db/MANIFEST-000001');
    manifest.log([NAMESPACE('last')]);
    const whole = files.contents('/db/MANIFEST-000001').slice(0, -17);
    for (let length = before; length < whole.length; length++) {
      files.place('/db/MANIFEST-000001', whole.subarray(0, length));
      expect(readManifest(files, '/db')).toMatchObject({
        tornBytes: length - before,
        state: { nextFile: 2 },
      });
    }
  });

  it('is damaged when an edit does not fit those before it', () => {
    const files = new MemoryFileSystem();
    files.mkdir('/db');
    const writer = new ChunkWriter(files.create('/db/MANIFEST-000001'), MANIFEST_KIND, 1);
    const record = encodeEdits([{ type: 'tableDrop', id: 1 }]);
    writer.append(new Uint8Array(0), record, 0, record.length);
    writer.sync();
    files.place('/db/CURRENT', Buffer.from(formatCurrent({ manifest: 1, length: writer.writtenLength })));
    expect(() => readManifest(files, '/db')).toThrow(/does not fit/);
  });

  it('is gone: damage too', () => {
    const files = closedStore();
    files.unlink('/db/MANIFEST-000001');
    expect(() => Manifest.open(files, '/db')).toThrow(CorruptionError);
  });
});

describe('the MANIFEST when the disk fails', () => {
  function faulty() {
    const disk = new MemoryFileSystem();
    const files = new FaultFileSystem(disk);
    return { disk, files, manifest: Manifest.open(files, '/db') };
  }

  it('changes nothing when an edit cannot be written, and goes on', async () => {
    const { disk, files, manifest } = faulty();
    for (const how of ['sync', 'async'] as const) {
      files.inject({ calls: ['write'], errno: 'ENOSPC', shortWrite: () => 25 });
      const log = async () =>
        how === 'sync' ? manifest.log([NAMESPACE(how)]) : manifest.logAsync([NAMESPACE(how)]);
      await expect(log()).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
      expect(manifest.state.namespaces.has(how)).toBe(false);
      await log();
      expect(manifest.state.namespaces.has(how)).toBe(true);
    }
    expect(reopened(disk.crash(nothingKept())).namespaces).toEqual(manifest.state.namespaces);
  });

  it('takes no edit any more after a failed sync', async () => {
    for (const how of ['sync', 'async'] as const) {
      const { files, manifest } = faulty();
      const { state } = manifest;
      files.inject({ calls: ['sync'] });
      const log = async () =>
        how === 'sync' ? manifest.log([NAMESPACE(how)]) : manifest.logAsync([NAMESPACE(how)]);
      await expect(log()).rejects.toMatchObject({ code: 'ERR_READONLY' });
      await expect(log()).rejects.toMatchObject({ code: 'ERR_READONLY' });
      expect(manifest.poisoned?.code).toBe('ERR_READONLY');
      expect(manifest.state).toBe(state);
      manifest.close();
    }
  });

  it('survives every failure of a roll: the old one is used on, or none', () => {
    for (let after = 0; after < 40; after++) {
      const { disk, files, manifest } = faulty();
      manifest.log([NAMESPACE('a')]);
      files.inject({ after });
      let failed = false;
      try {
        manifest.roll();
      } catch {
        failed = true;
      }
      files.clear();
      let logged = ['a'];
      try {
        manifest.log([NAMESPACE('b')]);
        logged = ['a', 'b'];
      } catch (error) {
        expect(failed).toBe(true);
        expect(error).toMatchObject({ code: 'ERR_READONLY' });
      }
      for (const keepUnsynced of [0, 1]) {
        const found = reopened(disk.crash({ keepUnsynced, random: seededRandom(after) }));
        expect([...found.namespaces]).toEqual(logged);
      }
      manifest.close();
      expect([...reopened(disk).namespaces]).toEqual(logged);
      expect(disk.openHandles).toBe(0);
    }
  });

  it('closes its files when it cannot be opened', () => {
    for (let after = 0; after < 40; after++) {
      const disk = closedStore();
      const files = new FaultFileSystem(disk);
      files.inject({ after });
      try {
        Manifest.open(files, '/db').close();
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_IO' });
      }
      expect(disk.openHandles).toBe(0);
      expect([...reopened(disk).namespaces]).toEqual(['shop', 'last']);
    }
  });

  it('logs nothing when the folder with a new file cannot be synced', () => {
    const { files, manifest } = faulty();
    manifest.log(BEGINNING);
    files.inject({ calls: ['syncDirectory'] });
    const add: Edit = { type: 'fileAdd', region: 4, family: 2, file: fileEntry(7) };
    expect(() => manifest.log([add])).toThrow(expect.objectContaining({ code: 'ERR_IO' }) as Error);
    expect(manifest.log([add])).toEqual(applyEdits(manifest.state, []));
  });
});
