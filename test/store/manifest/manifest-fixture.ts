import type { MemoryFileSystem } from '../../../src/store/fs/index.js';
import { type Edit, type FileEntry, Manifest, type VersionState } from '../../../src/store/manifest/index.js';
import { tableDescriptor } from '../../../src/table/index.js';

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

/** Puts the files that the state names on the disk, so that it can be opened. */
export function placeNamedFiles(files: MemoryFileSystem, directory: string, state: VersionState): void {
  for (const region of state.regions.values()) {
    for (const store of region.stores.values()) {
      for (const { number, size } of store.files.values())
        files.place(`${directory}/${String(number).padStart(6, '0')}.sst`, new Uint8Array(size));
    }
  }
  for (const { number, closed } of state.walSegments.values())
    files.place(`${directory}/${String(number).padStart(6, '0')}.wal`, new Uint8Array(closed?.length ?? 0));
}

/** Opens and closes, as a process that does nothing. */
export function reopened(files: MemoryFileSystem, directory = '/db'): VersionState {
  const manifest = Manifest.open(files, directory);
  const { state } = manifest;
  manifest.close();
  return state;
}
