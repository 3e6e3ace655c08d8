/** What the MANIFEST is told of flushes and compactions. */

import type { WrittenFile } from '../file/file-meta.js';
import type { Edit, FileEntry } from '../manifest/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { FamilyStore } from '../region/family-store.js';
import type { Region } from '../region/region.js';
import { fileEntry, type StoreFile } from '../region/store-file.js';

export function flushEdits(
  region: Region,
  store: FamilyStore,
  memstore: Memstore,
  written: WrittenFile | undefined,
): Edit[] {
  const at = { region: region.id, family: store.familyNumber };
  const edits: Edit[] = [{ type: 'flushed', ...at, seq: memstore.maxSeq }];
  if (written) edits.push({ type: 'fileAdd', ...at, file: entryOf(written) });
  return edits;
}

export function replacementEdits(
  region: Region,
  store: FamilyStore,
  removed: readonly StoreFile[],
  written: WrittenFile | undefined,
): Edit[] {
  const at = { region: region.id, family: store.familyNumber };
  const edits: Edit[] = removed.map((file) => ({ type: 'fileRemove', ...at, number: file.fileNo }));
  if (written) edits.push({ type: 'fileAdd', ...at, file: entryOf(written) });
  return edits;
}

function entryOf({ meta, size, footerCrc }: WrittenFile): FileEntry {
  return fileEntry(meta, size, footerCrc, undefined);
}
