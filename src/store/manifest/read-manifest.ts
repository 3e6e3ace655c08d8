import { CorruptionError, RowanError } from '../../errors.js';
import {
  CHECKPOINT_FILE,
  CURRENT_FILE,
  type FileSystem,
  joinPath,
  manifestFileName,
  parseStoreFileName,
} from '../fs/index.js';
import { ChunkReader, judgeBreak, logCorruption, MANIFEST_KIND, readLog } from '../logfile/index.js';
import { readCurrent } from './current.js';
import { checkNamedFiles, checkUnnamedLogs, inspectDirectory, obsoleteFiles } from './directory.js';
import { decodeEdits, type Edit } from './edit.js';
import { applyEdits, emptyState, type VersionState } from './version-state.js';

interface ReadManifest {
  readonly state: VersionState;
  /** The number of the MANIFEST. */
  readonly number: number;
  /** Bytes of a torn end, which belong to an edit that never took effect; 0 for none. */
  readonly tornBytes: number;
  /** The length of the MANIFEST when CURRENT gives all of it as synced, as a close leaves it; else undefined. */
  readonly closedLength: number | undefined;
}

/**
 * Reads the state of the store in a folder from its CURRENT and MANIFEST. Changes nothing, so tools may use it.
 * @throws CorruptionError when they are damaged; RowanError `ERR_FORMAT_VERSION` when they are newer than this release.
 */
export function readManifest(files: FileSystem, directory: string): ReadManifest {
  const { manifest: number, length: knownSynced } = readCurrent(files, directory);
  const path = joinPath(directory, manifestFileName(number));
  const bytes = readLog(files, path);
  if (bytes.length < knownSynced) {
    const what = `it has ${bytes.length} bytes, and ${knownSynced} were known to be on the disk`;
    throw logCorruption(MANIFEST_KIND, path, what, bytes.length);
  }
  const reader = new ChunkReader(bytes, MANIFEST_KIND, number, path, files.encryption);
  const state = stateOf(reader, path);
  const { broken } = reader;
  const closedLength = bytes.length === knownSynced ? knownSynced : undefined;
  if (broken === undefined) return { state, number, tornBytes: 0, closedLength };
  const verdict = judgeBreak(bytes, broken, MANIFEST_KIND, number, knownSynced);
  if (!verdict.torn) throw reader.corruption(`${broken.reason}; ${verdict.why}`, broken.offset);
  return { state, number, tornBytes: bytes.length - reader.goodEnd, closedLength: undefined };
}

/**
 * Reads the state from the first `length` bytes of a MANIFEST, which the process that writes it reports as valid.
 * @throws CorruptionError when they are damaged, or the file was replaced.
 */
export function readManifestTo(
  files: FileSystem,
  directory: string,
  { number, length }: { readonly number: number; readonly length: number },
): VersionState {
  const path = joinPath(directory, manifestFileName(number));
  const bytes = readLog(files, path);
  if (bytes.length < length)
    throw logCorruption(MANIFEST_KIND, path, `it has ${bytes.length} bytes of ${length}`, bytes.length);
  const reader = new ChunkReader(bytes.subarray(0, length), MANIFEST_KIND, number, path, files.encryption);
  const state = stateOf(reader, path);
  const { broken } = reader;
  if (broken !== undefined) throw reader.corruption(broken.reason, broken.offset);
  return state;
}

function stateOf(reader: ChunkReader, path: string): VersionState {
  let state = emptyState();
  while (reader.next()) {
    const record = reader.payload.subarray(reader.offset, reader.offset + reader.length);
    const edits = decodeEdits(record, path, reader.recordStart);
    state = applyRead(state, edits, path, reader.recordStart);
  }
  return state;
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

/** The contents of a store's folder, read without changes to it. */
export interface FoundStore {
  readonly state: VersionState;
  /** The number of the MANIFEST; 0 where a store can be created. */
  readonly manifest: number;
  /** A number that no file uses, not even a leftover that could not be removed. */
  readonly nextNumber: number;
  /**
   * The length of the MANIFEST if the store was closed completely: CURRENT gives this length as synced, no segment of the log is
   * open, and nothing is left over in the folder. Then the store is opened without a write.
   */
  readonly cleanLength?: number | undefined;
}

export type CleanStore = FoundStore & { readonly cleanLength: number };

export function isClean(found: FoundStore): found is CleanStore {
  return found.cleanLength !== undefined;
}

/**
 * Finds the store in `directory`; an empty one where none exists and one can be created.
 * @throws RowanError `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`; CorruptionError for damage, for missing files, and for writes that
 *   the MANIFEST does not name.
 */
export function findStore(files: FileSystem, directory: string): FoundStore {
  if (inspectDirectory(files, directory) === 'new')
    return { state: emptyState(), manifest: 0, nextNumber: 1 };
  const { state, number, closedLength } = readManifest(files, directory);
  const names = files.readdir(directory);
  checkNamedFiles(files, directory, state, names);
  checkUnnamedLogs(files, directory, state, names);
  let nextNumber = Math.max(state.nextFile, number + 1);
  for (const name of names) nextNumber = Math.max(nextNumber, (parseStoreFileName(name)?.number ?? 0) + 1);
  const nothingToDo =
    [...state.walSegments.values()].every(({ closed }) => closed !== undefined) &&
    !names.includes(CHECKPOINT_FILE) &&
    obsoleteFiles(names, state, number).length === 0;
  return { state, manifest: number, nextNumber, cleanLength: nothingToDo ? closedLength : undefined };
}

/** The state of a store by the readable part of its MANIFEST. Only for repair: opening requires all of it. */
interface SalvagedManifest {
  readonly state: VersionState;
  readonly number: number;
  /** The loss, as a sentence; undefined when the MANIFEST is intact. */
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
      : `${CURRENT_FILE}: ${manifestFileName(number)} was used instead, the newest readable one`;
    return { state: read.state, number, lost };
  }
  throw new CorruptionError(
    `No MANIFEST in "${directory}" can be read, so it is unknown which file belongs to which table. Nothing was changed. ` +
      'Restore the store from a copy.',
    { details: { file: joinPath(directory, CURRENT_FILE), offset: 0 } },
  );
}

/** Undefined when not even the first edit, the initial state of the MANIFEST, can be read. */
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
    const reader = new ChunkReader(bytes, MANIFEST_KIND, number, path, files.encryption);
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
    if (!(error instanceof RowanError) || error.code === 'ERR_IO' || error.code === 'ERR_ENCRYPTION')
      throw error;
    return state && { state, lost: `the changes of ${name} from byte ${at} on` };
  }
}
