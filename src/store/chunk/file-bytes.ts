import { CorruptionError } from '../../errors.js';
import type { FileSystem } from '../fs/index.js';

/** More than any log grows to: a longer file is not what was written, and is not read into memory. */
const MAX_LOG_SIZE = 2 ** 31;

/** All bytes of a log. @throws CorruptionError when there is no such file: whoever names it says it is there. */
export function readLog(files: FileSystem, path: string): Uint8Array {
  if (!files.exists(path)) {
    throw new CorruptionError(
      `The file "${path}" is missing, and the store needs it. Put it back, or restore the store from a copy.`,
      { details: { file: path, offset: 0 } },
    );
  }
  const file = files.openRead(path);
  try {
    const size = file.size;
    if (size > MAX_LOG_SIZE) {
      throw new CorruptionError(
        `The file "${path}" has ${size} bytes, more than any file of its kind. Restore it from a copy.`,
        { details: { file: path, offset: MAX_LOG_SIZE } },
      );
    }
    // No Buffer: parts of it that are views of their own kind take several times as long to make, and replay makes millions.
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
    const count = file.read(bytes, 0, size, 0);
    return count === size ? bytes : bytes.subarray(0, count);
  } finally {
    file.close();
  }
}
