import { type Edit, type FileEntry, Manifest, type VersionState } from '../../../src/store/manifest/index.js';
import { tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

export const TABLE = tableDescriptor(
  'shop:crm',
  { d: { compression: 'GZ', ttl: 60 }, p: {} },
  { maxFileSize: 1000, metadata: { layout: '1' } },
);

export const NO_KEY = new Uint8Array(0);

export function fileEntry(number: number, more: Partial<FileEntry> = {}): FileEntry {
  return {
    number,
    size: 100 + number,
    footerCrc: 0xffffffff,
    cells: 3,
    deletes: 1,
    firstKey: Uint8Array.of(0, 255),
    lastKey: Uint8Array.of(255, 0, number & 255),
    minTimestamp: 0,
    maxTimestamp: Number.MAX_SAFE_INTEGER,
    minSeq: 1,
    maxSeq: 10 * number,
    ...more,
  };
}

/** A table of two families (numbers 2 and 3) with one region, 4. */
export const BEGINNING: readonly Edit[] = [
  { type: 'namespaceAdd', name: 'shop' },
  {
    type: 'tableAdd',
    id: 1,
    descriptor: TABLE,
    familyNumbers: new Map([
      ['d', 2],
      ['p', 3],
    ]),
    enabled: true,
  },
  { type: 'regionAdd', id: 4, table: 1, startKey: NO_KEY, endKey: NO_KEY },
];

/** Opens and closes, as a process that does nothing. */
export function reopened(files: MemoryFileSystem, directory = '/db'): VersionState {
  const manifest = Manifest.open(files, directory);
  const { state } = manifest;
  manifest.close();
  return state;
}

export const NAMESPACE = (name: string): Edit => ({ type: 'namespaceAdd', name });

/** A store that was made, written to and closed. */
export function closedStore(): MemoryFileSystem {
  const files = new MemoryFileSystem();
  const manifest = Manifest.open(files, '/db');
  manifest.log(BEGINNING);
  manifest.log([NAMESPACE('last')]);
  manifest.close();
  return files;
}
