/** The state of a store by as much of its MANIFEST as can be read. For repairs only: opening takes all or nothing. */

import { CorruptionError, RowanError } from '../../errors.js';
import { ChunkReader, judgeBreak, MANIFEST_KIND, readLog } from '../chunk/index.js';
import {
  CURRENT_FILE,
  type FileSystem,
  joinPath,
  manifestFileName,
  parseStoreFileName,
} from '../fs/index.js';
import { readCurrent } from './current.js';
import { decodeEdits } from './edit-codec.js';
import { applyEdits, emptyState, type VersionState } from './version-state.js';

export interface SalvagedManifest {
  readonly state: VersionState;
  readonly number: number;
  /** What could not be read; undefined when the MANIFEST is whole. */
  readonly lost: string | undefined;
}

/** @throws CorruptionError when no MANIFEST can be read. */
export function salvageManifest(files: FileSystem, directory: string): SalvagedManifest {
  const candidates: { number: number; length: number; named: boolean }[] = [];
  try {
    const { manifest, length } = readCurrent(files, directory);
    candidates.push({ number: manifest, length, named: true });
  } catch (error) {
    if (!(error instanceof RowanError) || error.code === 'ERR_FORMAT_VERSION') throw error;
  }
  const others = files
    .readdir(directory)
    .map((name) => parseStoreFileName(name))
    .filter((parsed) => parsed?.kind === 'manifest')
    .sort((a, b) => b!.number - a!.number);
  for (const parsed of others) candidates.push({ number: parsed!.number, length: 0, named: false });
  for (const { number, length, named } of candidates) {
    const read = readPrefix(files, directory, number, length);
    if (read === undefined) continue;
    const lost = named
      ? read.lost
      : `${CURRENT_FILE}: ${manifestFileName(number)} was taken, the newest that can be read`;
    return { state: read.state, number, lost };
  }
  throw new CorruptionError(
    `No MANIFEST in "${directory}" can be read, so nobody knows which files are of which table. Nothing was changed. ` +
      'Restore the store from a copy.',
    { details: { file: joinPath(directory, CURRENT_FILE), offset: 0 } },
  );
}

/** Undefined when not even the first edit, the state that the MANIFEST began with, can be read. */
function readPrefix(
  files: FileSystem,
  directory: string,
  number: number,
  knownSynced: number,
): { state: VersionState; lost: string | undefined } | undefined {
  const name = manifestFileName(number);
  const path = joinPath(directory, name);
  let state: VersionState | undefined;
  let at = 0;
  try {
    const bytes = readLog(files, path);
    const reader = new ChunkReader(bytes, MANIFEST_KIND, number, path);
    while (reader.next()) {
      at = reader.recordStart;
      const record = reader.payload.subarray(reader.offset, reader.offset + reader.length);
      state = applyEdits(state ?? emptyState(), decodeEdits(record, path, at));
    }
    at = reader.goodEnd;
    const { broken } = reader;
    const torn = !broken || judgeBreak(bytes, broken, MANIFEST_KIND, number, knownSynced).torn;
    const whole = torn && bytes.length >= knownSynced;
    return state && { state, lost: whole ? undefined : `the changes of ${name} from byte ${at} on` };
  } catch (error) {
    if (!(error instanceof RowanError) || error.code === 'ERR_IO') throw error;
    return state && { state, lost: `the changes of ${name} from byte ${at} on` };
  }
}
