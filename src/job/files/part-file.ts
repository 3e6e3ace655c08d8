import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { atFile, CorruptionError } from '../../errors.js';
import { makeFolder } from '../../folders.js';

/** The file that a folder has until the export into it has ended. */
export const UNFINISHED_EXPORT = 'export.unfinished';

/** The name of a split's file. */
export function partName(split: number, extension: string): string {
  return `part-${String(split).padStart(5, '0')}.${extension}`;
}

/** Removes the files of splits that are not these: an earlier job has left them, and they would be read as part of this one. */
export async function removeOtherParts(
  folder: string,
  extension: string,
  splits: Iterable<number>,
): Promise<void> {
  const written = new Set([...splits].map((split) => partName(split, extension)));
  await atFile(folder, async () => {
    for (const name of await readdir(folder)) {
      const [, number = ''] = /^part-(\d+)\./.exec(name) ?? [];
      if (name === `part-${number}.${extension}` && !written.has(name)) await rm(join(folder, name));
    }
  });
}

/**
 * The output file of a job's split. It is written from its beginning to its end. Where the split is resumed, it is cut at the checkpoint,
 * so that each item is written exactly once. What the system refuses is `ERR_IO` with the path.
 */
export class PartFile {
  private constructor(
    readonly path: string,
    private readonly file: FileHandle,
    private end: number,
  ) {}

  /**
   * Opens the file, in a folder that is created if missing: empty, or with its first `resumed` bytes, the size at the last checkpoint.
   * @throws CorruptionError when the file is missing or shorter than that, since the output would have a gap; RowanError `ERR_IO`.
   */
  static async open(path: string, resumed: number | undefined): Promise<PartFile> {
    return atFile(path, async () => {
      makeFolder(dirname(path));
      const file = resumed === undefined ? await open(path, 'w+') : await openAt(path, resumed);
      return new PartFile(path, file, resumed ?? 0);
    });
  }

  /** How many bytes it has. */
  get bytes(): number {
    return this.end;
  }

  append(bytes: Uint8Array): Promise<void> {
    return atFile(this.path, async () => {
      // A disk that is nearly full takes a part of them, without an error.
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await this.file.write(bytes, at, bytes.length - at, this.end);
        at += bytesWritten;
        this.end += bytesWritten;
      }
    });
  }

  /** Resolves when what was appended is on the disk. */
  sync(): Promise<void> {
    return atFile(this.path, () => this.file.datasync());
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

async function openAt(path: string, size: number): Promise<FileHandle> {
  let file: FileHandle;
  try {
    file = await open(path, 'r+');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw changed(path, 'it is not there', size, cause);
  }
  try {
    const { size: found } = await file.stat();
    if (found < size) throw changed(path, `it has ${found}`, size);
    await file.truncate(size);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function changed(path: string, found: string, resumed: number, cause?: unknown): CorruptionError {
  return new CorruptionError(
    `${path} had ${resumed} bytes at the job's last checkpoint, but now ${found}: it was removed or truncated. Restore it, or start ` +
      'the job anew ({ restart: true }, --restart).',
    { cause, details: { file: path, offset: resumed } },
  );
}
