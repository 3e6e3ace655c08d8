import { RowanError } from '../../errors.js';
import { type FileHandle, type FileSystem, parentPath } from '../fs/index.js';
import type { LogKind } from './format.js';
import { ChunkWriter } from './writer.js';

/**
 * A new log with its header, and `firstRecord` if there is one, on the disk and its name safe. Where that fails, there
 * is no such file (or a leftover that the next opener removes), and the error is an `ERR_IO`: nothing has happened.
 */
export function createLog(
  files: FileSystem,
  path: string,
  kind: LogKind,
  fileNumber: number,
  stagingSize: number,
  firstRecord?: Uint8Array,
): ChunkWriter {
  const file = files.create(path);
  try {
    const writer = new ChunkWriter(file, kind, fileNumber, stagingSize);
    if (firstRecord !== undefined) writer.append(new Uint8Array(0), firstRecord, 0, firstRecord.length);
    writer.sync();
    files.syncDirectory(parentPath(path));
    return writer;
  } catch (error) {
    discardLog(files, file);
    throw failureOf(error);
  }
}

/** As {@link createLog}, with the disk's work off the thread. */
export async function createLogAsync(
  files: FileSystem,
  path: string,
  kind: LogKind,
  fileNumber: number,
  stagingSize: number,
): Promise<ChunkWriter> {
  const file = files.create(path);
  try {
    const writer = new ChunkWriter(file, kind, fileNumber, stagingSize);
    await writer.syncAsync();
    await files.syncDirectoryAsync(parentPath(path));
    return writer;
  } catch (error) {
    discardLog(files, file);
    throw failureOf(error);
  }
}

/** What is to be told of a new log: its writer calls a failed sync ERR_READONLY, for what it may have lost; here there was nothing to lose. */
export function failureOf(error: unknown): unknown {
  return error instanceof RowanError && error.code === 'ERR_READONLY' ? error.cause : error;
}

/** Closes and removes a file that nothing names. Where that fails, the next opener removes it. */
export function discardLog(files: FileSystem, file: FileHandle): void {
  file.close();
  try {
    files.unlink(file.path);
  } catch {
    // Whatever led here is what is to be reported.
  }
}
