/** What a folder holds, found out without changing anything in it. */

import { type FileSystem, parseStoreFileName } from '../fs/index.js';
import { checkNamedFiles, checkUnnamedLogs, inspectDirectory } from './directory.js';
import { readManifest } from './read-manifest.js';
import { emptyState, type VersionState } from './version-state.js';

export interface FoundStore {
  readonly state: VersionState;
  /** The number of the MANIFEST; 0 where a store can be made. */
  readonly manifest: number;
  /** A number that no file has, be it a leftover that could not be removed. */
  readonly nextNumber: number;
}

/**
 * The store in `directory`; an empty one where there is none yet and one can be made.
 * @throws RowanError `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`; CorruptionError for damage, for missing files, and for
 *   writes that the MANIFEST does not know of.
 */
export function findStore(files: FileSystem, directory: string): FoundStore {
  if (inspectDirectory(files, directory) === 'new')
    return { state: emptyState(), manifest: 0, nextNumber: 1 };
  const { state, number } = readManifest(files, directory);
  checkNamedFiles(files, directory, state);
  checkUnnamedLogs(files, directory, state);
  let nextNumber = Math.max(state.nextFile, number + 1);
  for (const name of files.readdir(directory)) {
    nextNumber = Math.max(nextNumber, (parseStoreFileName(name)?.number ?? 0) + 1);
  }
  return { state, manifest: number, nextNumber };
}
