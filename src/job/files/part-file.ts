/** The file that a split of a job writes, and goes on with at its checkpoint. */

import { type FileHandle, open } from 'node:fs/promises';
import { CorruptionError } from '../../errors.js';

/**
 * Opens the file to be written from its beginning, or, `resumed` being the bytes that it had at the checkpoint, from there: what an
 * attempt wrote behind it is cut away.
 * @throws CorruptionError when it is gone or has fewer bytes than that: what is missing would be a hole.
 */
export async function openPart(path: string, resumed: number | undefined): Promise<FileHandle> {
  if (resumed === undefined) return open(path, 'w+');
  let file: FileHandle;
  try {
    file = await open(path, 'r+');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw changed(path, 'it is not there', resumed, cause);
  }
  try {
    const { size } = await file.stat();
    if (size < resumed) throw changed(path, `it has ${size}`, resumed);
    await file.truncate(resumed);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function changed(path: string, found: string, resumed: number, cause?: unknown): CorruptionError {
  return new CorruptionError(
    `${path} had ${resumed} bytes when its job was checkpointed, and ${found}: it was removed or cut since. Put it back, or begin ` +
      'the job anew ({ restart: true }, --restart).',
    { cause, details: { file: path, offset: resumed } },
  );
}
