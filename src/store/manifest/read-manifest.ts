import { CorruptionError, type RowanError } from '../../errors.js';
import { ChunkReader, judgeBreak, logCorruption, MANIFEST_KIND, readLog } from '../chunk/index.js';
import { type FileSystem, joinPath, manifestFileName } from '../fs/index.js';
import { readCurrent } from './current.js';
import type { Edit } from './edit.js';
import { decodeEdits } from './edit-codec.js';
import { applyEdits, emptyState, type VersionState } from './version-state.js';

export interface ReadManifest {
  readonly state: VersionState;
  /** The number of the MANIFEST. */
  readonly number: number;
  /** Bytes of a torn end, of an edit that never took effect; 0 for none. */
  readonly tornBytes: number;
}

/**
 * The state of the store in a folder, by its CURRENT and MANIFEST. Changes nothing, so that tools may use it.
 * @throws CorruptionError when they are damaged; RowanError `ERR_FORMAT_VERSION` when they are newer than this release.
 */
export function readManifest(
  files: FileSystem,
  directory: string,
  onRecord?: (edits: readonly Edit[], offset: number) => void,
): ReadManifest {
  const { manifest: number, length: knownSynced } = readCurrent(files, directory);
  const path = joinPath(directory, manifestFileName(number));
  const bytes = readLog(files, path);
  if (bytes.length < knownSynced) {
    const what = `it has ${bytes.length} bytes, and ${knownSynced} were known to be on the disk`;
    throw logCorruption(MANIFEST_KIND, path, what, bytes.length);
  }
  const reader = new ChunkReader(bytes, MANIFEST_KIND, number, path);
  let state = emptyState();
  while (reader.next()) {
    const record = reader.payload.subarray(reader.offset, reader.offset + reader.length);
    const edits = decodeEdits(record, path, reader.recordStart);
    onRecord?.(edits, reader.recordStart);
    state = applyRead(state, edits, path, reader.recordStart);
  }
  const { broken } = reader;
  if (broken === undefined) return { state, number, tornBytes: 0 };
  const verdict = judgeBreak(bytes, broken, MANIFEST_KIND, number, knownSynced);
  if (!verdict.torn) throw reader.corruption(`${broken.reason}; ${verdict.why}`, broken.offset);
  return { state, number, tornBytes: bytes.length - reader.goodEnd };
}

function applyRead(state: VersionState, edits: readonly Edit[], file: string, offset: number): VersionState {
  try {
    return applyEdits(state, edits);
  } catch (error) {
    throw new CorruptionError(
      `The MANIFEST "${file}" has an edit at byte ${offset} that does not fit those before it. ` +
        `${(error as RowanError).message} Restore the store from a copy.`,
      { cause: error, details: { file, offset } },
    );
  }
}
