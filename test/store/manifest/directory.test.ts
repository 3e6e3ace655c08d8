import { describe, expect, it } from 'vitest';
import { Manifest } from '../../../src/store/manifest/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { BEGINNING, closedStore, fileEntry, reopened } from './manifest-fixture.js';

describe('a folder', () => {
  const open = (files: MemoryFileSystem) => () => Manifest.open(files, '/db');
  const withFiles = (...names: readonly string[]): MemoryFileSystem => {
    const files = new MemoryFileSystem();
    files.mkdir('/db');
    for (const name of names) files.place(`/db/${name}`, Uint8Array.of(1, 2, 3));
    return files;
  };
  const code = (expected: string) => expect.objectContaining({ code: expected }) as Error;

  it.each([['notes.txt'], ['000001.txt'], ['000004.log'], ['MANIFEST-1']])(
    'with %s and no CURRENT is no store, and is left as it is',
    (name) => {
      const files = withFiles(name, 'LOCK');
      expect(open(files)).toThrow(code('ERR_NOT_A_STORE'));
      expect(files.readdir('/db')).toEqual(['LOCK', name].sort());
    },
  );

  it('that is a file is no store', () => {
    const files = new MemoryFileSystem();
    files.place('/db', Uint8Array.of(1));
    expect(open(files)).toThrow(/is a file/);
  });

  it.each([['000007.wal'], ['000007.sst'], ['MANIFEST-000009']])(
    'with %s and no CURRENT is a damaged store',
    (name) => {
      expect(open(withFiles(name))).toThrow(code('ERR_CORRUPTION'));
    },
  );

  it('whose CURRENT was lost is a damaged store, not a new one', () => {
    const files = closedStore();
    files.unlink('/db/CURRENT');
    expect(open(files)).toThrow(code('ERR_CORRUPTION'));
    expect(open(files)).toThrow('Put it back. Restore the store from a backup, or run "rowan store repair"');
  });

  it('in which the making of a store was cut short is a new one, as is one with only what systems put there', () => {
    for (const names of [
      ['MANIFEST-000001'],
      ['MANIFEST-000001', 'CURRENT.tmp', 'LOCK'],
      ['.DS_Store', 'lost+found'],
    ]) {
      const files = withFiles(...names);
      Manifest.open(files, '/db').close();
      expect(reopened(files).tables.size).toBe(0);
    }
  });

  it('loses what a crash left over, and nothing else', () => {
    const files = closedStore();
    for (const name of ['000090.sst', '000091.wal', 'MANIFEST-000092', 'CURRENT.tmp', 'readme', '000093.bak'])
      files.place(`/db/${name}`, Uint8Array.of(1));
    const manifest = Manifest.open(files, '/db');
    expect(manifest.newFileNumber()).toBeGreaterThan(92);
    expect(files.readdir('/db')).toEqual(['000093.bak', 'CURRENT', 'MANIFEST-000093', 'readme']);
  });

  it.each([
    ['a sorted file', '000007.sst', 107],
    ['a WAL segment', '000008.wal', 50],
  ])('that has lost %s, or part of it, is a damaged store', (_, name, size) => {
    const files = new MemoryFileSystem();
    const manifest = Manifest.open(files, '/db');
    files.place('/db/000007.sst', new Uint8Array(107));
    files.place('/db/000008.wal', new Uint8Array(50));
    manifest.log([
      ...BEGINNING,
      { type: 'fileAdd', region: 4, family: 2, file: fileEntry(7) },
      { type: 'walAdd', number: 8 },
      { type: 'walClosed', number: 8, length: 50, crc: 1, firstSeq: 1, lastSeq: 1 },
    ]);
    manifest.close();
    reopened(files);
    files.place(`/db/${name}`, new Uint8Array(size - 1));
    expect(open(files)).toThrow(
      expect.objectContaining({
        code: 'ERR_CORRUPTION',
        details: { file: `/db/${name}`, offset: size - 1 },
      }) as Error,
    );
    files.unlink(`/db/${name}`);
    expect(open(files)).toThrow(/missing/);
    files.place(`/db/${name}`, new Uint8Array(size));
    reopened(files);
  });
});
